//! Data sets of images in folders.

use std::fs;

use homing_data::{OpenOptions, open};
use image::{GrayImage, ImageFormat, Luma, Rgb, RgbImage};

use crate::sample::*;

fn sized(size: usize) -> OpenOptions {
    OpenOptions { size: Some(size), ..OpenOptions::default() }
}

#[test]
fn mnist_compressed_or_not() {
    for packed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in mnist() {
            if packed {
                write(folder.path(), &format!("raw/{name}.gz"), gzip(&bytes));
            } else {
                write(folder.path(), name, bytes);
            }
        }
        let data = opened(folder.path());
        assert_eq!(data.train.inputs.shape(), [1, 1, 2]);
        assert_eq!(data.train.inputs.read(&[2, 0]).unwrap(), [5.0, 6.0, 1.0, 2.0]);
        assert_eq!(data.train.labels, [Some(1), Some(0), Some(2)]);
        assert_eq!(
            (data.train.classes, data.train.ids),
            (["0", "1", "2"].map(str::to_owned).to_vec(), ["0", "1", "2"].map(str::to_owned).to_vec())
        );
        let test = data.test.unwrap();
        assert_eq!((test.len(), &test.labels[..]), (2, &[Some(2), Some(1)][..]));
    }
}

#[test]
fn one_idx_file_uses_the_given_labels_or_those_next_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let [(images, pixels), (_, labels), ..] = mnist();
    write(folder.path(), images, pixels);
    let path = folder.path().join(images);
    assert_eq!(opened(&path).train.labels, [None, None, None]);
    write(folder.path(), "mine.txt", "b\na\n\n");
    let mine = OpenOptions { labels: Some(folder.path().join("mine.txt")), ..OpenOptions::default() };
    let train = open(&path, &mine).unwrap().train;
    assert_eq!((train.classes, train.labels), (vec!["a".to_owned(), "b".to_owned()], vec![Some(1), Some(0), None]));
    write(folder.path(), "train-labels-idx1-ubyte", labels);
    assert_eq!(opened(&path).train.labels, [Some(1), Some(0), Some(2)]);
}

#[test]
fn broken_mnist() {
    let with = |broken: &str, bytes: Option<Vec<u8>>| {
        let folder = tempfile::tempdir().unwrap();
        for (name, good) in mnist() {
            match (&bytes, name == broken) {
                (Some(bytes), true) => write(folder.path(), name, bytes),
                (None, true) => {}
                (_, false) => write(folder.path(), name, good),
            }
        }
        refusal(folder.path())
    };
    let labels = "train-labels-idx1-ubyte";
    assert_says(
        &with("train-images-idx3-ubyte", Some(idx(&[3, 1, 2], &[1; 5]))),
        &["train-images", "cut short", "22 bytes"],
    );
    assert_says(&with("train-images-idx3-ubyte", Some(idx(&[6], &[1; 6]))), &["1 dimensions but images have 3"]);
    assert_says(&with("train-images-idx3-ubyte", Some(b"<html>not here</html>".to_vec())), &["two zeros", "download"]);
    assert_says(&with(labels, Some(idx(&[2], &[1, 0]))), &[labels, "2 labels for 3 examples"]);
    assert_says(&with(labels, None), &["train-images", "has no labels next to it", labels]);
    assert_says(
        &with("t10k-labels-idx1-ubyte", Some(idx(&[2], &[0, 3]))),
        &["row 1 of", "t10k-labels", "label 3, but there are 3 classes"],
    );
    assert_says(&with("t10k-images-idx3-ubyte", Some(idx(&[2, 2, 2], &[0; 8]))), &["[1, 2, 2]", "[1, 1, 2]"]);
    assert_says(&with("t10k-images-idx3-ubyte", Some(gzip(&[0; 99])[..15].to_vec())), &["t10k-images", "gzip"]);
}

#[test]
fn cifar_10_and_cifar_100() {
    let folder = tempfile::tempdir().unwrap();
    let ten = folder.path().join("ten");
    write(&ten, "data_batch_2.bin", record(&[9], 2));
    write(&ten, "data_batch_1.bin", [record(&[3], 0), record(&[0], 1)].concat());
    write(&ten, "test_batch.bin", record(&[1], 3));
    let names: Vec<String> = (0..10).map(|i| format!("thing{i}")).collect();
    write(&ten, "batches.meta.txt", names.join("\n") + "\n\n");
    let data = opened(&ten);
    assert_eq!((data.train.inputs.shape(), data.train.len()), (&[3, 32, 32][..], 3));
    assert_eq!((data.train.labels, &data.train.classes), (vec![Some(3), Some(0), Some(9)], &names));
    assert_eq!(data.train.inputs.read(&[2]).unwrap(), [2.0; 3072]);
    assert_eq!(data.test.unwrap().labels, [Some(1)]);

    let hundred = folder.path().join("hundred");
    let mut image = record(&[4, 77], 0);
    image[2..5].copy_from_slice(&[10, 20, 30]);
    write(&hundred, "cifar-100-binary/train.bin", &image);
    let data = opened(&hundred);
    assert_eq!((data.train.labels, data.train.classes.len()), (vec![Some(77)], 100));
    assert_eq!(data.train.inputs.read(&[0]).unwrap()[..4], [10.0, 20.0, 30.0, 0.0]);
    assert!(data.test.is_none());
    assert_eq!(opened(&hundred.join("cifar-100-binary/train.bin")).train.labels, [Some(77)]);
}

#[test]
fn broken_cifar() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.bin");
    fs::write(&path, &record(&[0, 1], 0)[..3000]).unwrap();
    assert_says(&refusal(folder.path()), &["train.bin is cut short", "3074 bytes but has 3000"]);
    assert_says(&refusal(&path), &["not a whole number of CIFAR records"]);
    fs::write(&path, [record(&[0, 1], 0), record(&[0, 100], 0)].concat()).unwrap();
    assert_says(&refusal(folder.path()), &["row 1 of", "label 100, but there are 100 classes"]);
    fs::write(&path, record(&[0, 1], 0)).unwrap();
    write(folder.path(), "fine_label_names.txt", "apple\n");
    assert_says(&refusal(folder.path()), &["fine_label_names.txt", "1 names for 100 classes"]);
    write(folder.path(), "data_batch_1.bin", record(&[0], 0));
    assert_says(&refusal(folder.path()), &["several data sets", "data_batch_1.bin", "train.bin"]);
}

/// Tile number t of class c is filled with (c, t mod 256, t div 256).
fn sheet(class: u8) -> Vec<u8> {
    let tile = |x: u32, y: u32| y / 32 * 30 + x / 32;
    let colour = |x, y| Rgb([class, (tile(x, y) % 256) as u8, (tile(x, y) / 256) as u8]);
    image(RgbImage::from_fn(960, 640, colour), ImageFormat::WebP)
}

#[test]
fn tiles_are_cut_row_by_row() {
    let folder = tempfile::tempdir().unwrap();
    for class in [0, 1] {
        write(folder.path(), &format!("webp/class_0{class}.webp"), sheet(class));
    }
    write(folder.path(), "fine_label_names.txt", "apple\nbear\n");
    let data = opened(folder.path());
    let test = data.test.unwrap();
    assert_eq!((data.train.len(), test.len()), (1000, 200));
    for (set, row, class, tile) in [
        (&data.train, 0, 0u8, 0usize),
        (&data.train, 31, 0, 31),
        (&data.train, 999, 1, 499),
        (&test, 0, 0, 500),
        (&test, 199, 1, 599),
    ] {
        let pixels = set.inputs.read(&[row]).unwrap();
        let expected = [f32::from(class), (tile % 256) as f32, (tile / 256) as f32];
        for (plane, expected) in pixels.chunks(1024).zip(expected) {
            assert!(plane.iter().all(|&pixel| pixel == expected), "row {row}");
        }
        assert_eq!(set.labels[row], Some(u32::from(class)));
        assert_eq!(set.ids[row], format!("0{class}/{tile}"));
    }
    write(folder.path(), "fine_label_names.txt", "apple\n");
    assert_says(&refusal(folder.path()), &["class_01.webp", "label 1, but there are 1 classes"]);
    write(folder.path(), "fine_label_names.txt", "apple\nbear\n");
    write(folder.path(), "webp/class_01.webp", image(RgbImage::new(64, 64), ImageFormat::WebP));
    assert_says(&refusal(folder.path()), &["class_01.webp", "64 × 64 pixels but a file of tiles has 960 × 640"]);
    write(folder.path(), "webp/class_01.webp", &sheet(1)[..500]);
    assert_says(&refusal(folder.path()), &["class_01.webp", "cannot be read as an image"]);
}

#[test]
fn images_in_folders_of_their_class() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "cat/b.png", plain(4, 4, [1, 2, 3]));
    write(folder.path(), "cat/a.PNG", plain(4, 4, [4, 5, 6]));
    write(folder.path(), "ant/x.webp", image(RgbImage::from_pixel(4, 4, Rgb([7, 8, 9])), ImageFormat::WebP));
    write(folder.path(), "stray.png", plain(4, 4, [0, 0, 0]));
    write(folder.path(), "cat/notes.txt", "no image");
    write(folder.path(), ".cache/z.png", "hidden");
    let train = opened(folder.path()).train;
    assert_eq!(train.ids, ["ant/x.webp", "cat/a.PNG", "cat/b.png", "stray.png"]);
    assert_eq!(train.classes, ["ant", "cat"]);
    assert_eq!(train.labels, [Some(0), Some(1), Some(1), None]);
    assert_eq!(train.inputs.shape(), [3, 4, 4]);
    let pixels = train.inputs.read(&[2]).unwrap();
    assert_eq!((pixels[0], pixels[16], pixels[32]), (1.0, 2.0, 3.0));
    assert_ne!(train.inputs.fingerprint(&[0]).unwrap(), train.inputs.fingerprint(&[1]).unwrap());
    assert!(train.inputs.thumbnail(1).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn train_and_test_folders() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "set/train/cat/1.png", plain(2, 2, [1, 1, 1]));
    write(folder.path(), "set/train/dog/1.png", plain(2, 2, [2, 2, 2]));
    write(folder.path(), "set/val/dog/2.png", plain(2, 2, [3, 3, 3]));
    let data = opened(folder.path());
    let test = data.test.unwrap();
    assert_eq!(
        (data.train.ids, &test.ids[..]),
        (vec!["cat/1.png".to_owned(), "dog/1.png".to_owned()], &["dog/2.png".to_owned()][..])
    );
    assert_eq!((&test.labels[..], &test.classes), (&[Some(1)][..], &data.train.classes));
    write(folder.path(), "set/val/eel/2.png", plain(2, 2, [3, 3, 3]));
    assert_says(&refusal(folder.path()), &["class 'eel', which the training set lacks"]);
}

#[test]
fn images_of_different_sizes_need_a_common_size() {
    let folder = tempfile::tempdir().unwrap();
    // The image is black, with white in the middle square.
    let wide = RgbImage::from_fn(12, 4, |x, _| Rgb([if (4..8).contains(&x) { 255 } else { 0 }; 3]));
    write(folder.path(), "a/1.png", plain(4, 4, [10, 20, 30]));
    write(folder.path(), "a/2.jpg", image(RgbImage::from_pixel(16, 24, Rgb([200; 3])), ImageFormat::Jpeg));
    write(folder.path(), "b/3.png", image(wide, ImageFormat::Png));
    assert_says(
        &refusal(folder.path()),
        &["2.jpg has 16 × 24 pixels but", "1.png has 4 × 4", "set `OpenOptions::size`"],
    );
    let train = open(folder.path(), &sized(4)).unwrap().train;
    assert_eq!(train.inputs.shape(), [3, 4, 4]);
    let pixels = train.inputs.read(&[0, 1, 2]).unwrap();
    assert_eq!((pixels[0], pixels[16], pixels[32]), (10.0, 20.0, 30.0));
    assert!(pixels[48..96].iter().all(|pixel| (pixel - 200.0).abs() < 3.0));
    assert_eq!(pixels[96..], [255.0; 48]);
    assert_eq!(train.inputs.resized(&[2], 4).unwrap(), [255.0; 48]);
    assert_says(&refusal_with(folder.path(), &sized(0)), &["0 pixels", "size from 1"]);
}

#[test]
fn grey_images_have_one_channel_unless_some_are_coloured() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/1.png", image(GrayImage::from_pixel(3, 2, Luma([9])), ImageFormat::Png));
    let train = opened(folder.path()).train;
    assert_eq!((train.inputs.shape(), train.inputs.read(&[0]).unwrap()), (&[1, 2, 3][..], vec![9.0; 6]));
    assert_eq!(train.inputs.resized_rgb(&[0], 2).unwrap(), [9.0; 12]);
    write(folder.path(), "a/2.png", plain(3, 2, [1, 2, 3]));
    let train = opened(folder.path()).train;
    assert_eq!((train.inputs.shape(), train.inputs.read(&[0]).unwrap()), (&[3, 2, 3][..], vec![9.0; 18]));
}

#[test]
fn broken_images_are_named() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/1.png", "not an image");
    assert_says(&refusal(folder.path()), &["1.png cannot be read as an image", "neither PNG, JPEG nor WebP"]);
    write(folder.path(), "a/1.png", "");
    assert_says(&refusal(folder.path()), &["1.png is empty"]);
    let good = image(RgbImage::from_fn(64, 64, |x, y| Rgb([x as u8, y as u8, (x * y) as u8])), ImageFormat::Png);
    write(folder.path(), "a/1.png", &good[..20]);
    assert_says(&refusal(folder.path()), &["1.png cannot be read as an image"]);
    // A valid header and end say nothing about the data between them, which is checked when it is read.
    let mut damaged = good.clone();
    let middle = good.len() / 2;
    damaged[middle..middle + 9].fill(0);
    write(folder.path(), "a/1.png", damaged);
    let message = opened(folder.path()).train.inputs.read(&[0]).unwrap_err().to_string();
    assert_says(&message, &["1.png cannot be read as an image", "replace or remove it"]);
}

#[test]
fn options_of_tables_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/1.png", plain(2, 2, [0; 3]));
    let options = OpenOptions { label_column: Some("label".into()), ..OpenOptions::default() };
    assert_says(&refusal_with(folder.path(), &options), &["holds images, which have no column of labels"]);
    let options = OpenOptions { labels: Some("labels.txt".into()), ..OpenOptions::default() };
    assert_says(&refusal_with(folder.path(), &options), &["no file of labels"]);
}
