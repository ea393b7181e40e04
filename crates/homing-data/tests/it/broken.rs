//! Incomplete images, and folders with links to themselves.

use std::fs;

use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgb, RgbImage};

use crate::sample::*;

fn photo() -> RgbImage {
    RgbImage::from_fn(12, 10, |x, y| Rgb([(x * 20) as u8, (y * 25) as u8, (x * y) as u8]))
}

/// A decoder may make up the missing part of an image, which a network would then learn.
#[test]
fn an_image_that_is_cut_short_anywhere_is_refused() {
    let grey = GrayImage::from_fn(12, 10, |x, y| Luma([(x * y) as u8]));
    let files = [
        ("1.jpg", image(photo(), ImageFormat::Jpeg)),
        ("2.jpg", image(grey, ImageFormat::Jpeg)),
        ("3.jpg", progressive()),
        ("4.png", image(photo(), ImageFormat::Png)),
        ("5.png", image(DynamicImage::from(photo()).into_rgba16(), ImageFormat::Png)),
        ("6.webp", image(photo(), ImageFormat::WebP)),
    ];
    for (name, whole) in files {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("a/{name}");
        for length in 1..whole.len() {
            write(folder.path(), &name, &whole[..length]);
            assert_says(&refusal(folder.path()), &["cannot be read as an image"]);
        }
        // An interrupted download that had reserved its space leaves zeros. WebP has neither an end marker nor a checksum.
        let mut hollow = whole.clone();
        hollow[whole.len() / 2..].fill(0);
        write(folder.path(), &name, &hollow);
        let read = homing_data::open(folder.path(), &homing_data::OpenOptions::default());
        let refused = read.is_err() || read.unwrap().train.inputs.read(&[0]).is_err();
        assert!(refused || name.ends_with("webp"), "{name}");
        // Bytes after the end of an image are ignored.
        write(folder.path(), &name, [&whole[..], b"more"].concat());
        opened(folder.path()).train.inputs.read(&[0]).unwrap();
    }
}

/// Builds a progressive JPEG of 8 × 8 equal grey pixels with two scans.
fn progressive() -> Vec<u8> {
    let segment = |mark: u8, body: &[u8]| [&[0xff, mark], &(body.len() as u16 + 2).to_be_bytes()[..], body].concat();
    // The table has one code of one bit for the only symbol.
    let codes = |class: u8| segment(0xc4, &[&[class, 1][..], &[0; 15], &[0]].concat());
    let scan = |first: u8, last: u8| [segment(0xda, &[1, 1, 0, first, last, 0]), vec![0x7f]].concat();
    [
        vec![0xff, 0xd8],
        segment(0xdb, &[&[0][..], &[1; 64]].concat()),
        segment(0xc2, &[8, 0, 8, 0, 8, 1, 1, 0x11, 0]),
        codes(0x00),
        scan(0, 0),
        codes(0x10),
        scan(1, 63),
        vec![0xff, 0xd9],
    ]
    .concat()
}

#[test]
fn an_image_that_does_not_fit_into_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = plain(4, 4, [1; 3]);
    // Width and height follow the signature and the length and name of the first chunk; a checksum comes after them.
    bytes[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    let mut checksum = flate2::Crc::new();
    checksum.update(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.sum().to_be_bytes());
    write(folder.path(), "a/1.png", bytes);
    assert_says(&refusal(folder.path()), &["1.png cannot be read as an image"]);
}

#[test]
fn a_small_image_that_claims_more_pixels_than_anybody_has_time_for_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let picture = image::RgbImage::from_pixel(4, 4, image::Rgb([1; 3]));
    let mut bytes = crate::sample::image(picture, image::ImageFormat::Jpeg);
    // Height and width are five bytes after the marker of the frame.
    let frame = bytes.windows(2).position(|mark| mark == [0xff, 0xc0]).unwrap();
    bytes[frame + 5..frame + 9].copy_from_slice(&[0x89, 0x50, 0x4e, 0x47]);
    write(folder.path(), "a/1.jpg", &bytes);
    assert_says(
        &refusal(folder.path()),
        &["1.jpg", "20039 × 35152 pixels, but at most 268435456 in total are decoded"],
    );
}

#[test]
fn an_archive_that_ends_after_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.tar");
    let images = [("cat/1.png", plain(2, 2, [1; 3])), ("dog/1.png", plain(2, 2, [2; 3]))];
    let whole = tar(&images);
    fs::write(&path, &whole).unwrap();
    assert_eq!(opened(&path).train.len(), 2);
    // Each file has a header and a block of data, and two blocks of zeros end the archive.
    assert_eq!(whole.len(), 2 * 1024 + 1024);
    for length in [1024, 2048] {
        fs::write(&path, &whole[..length]).unwrap();
        assert_says(&refusal(&path), &["set.tar is cut short"]);
    }
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, "cat/2.png", "1.png").unwrap();
    fs::write(&path, builder.into_inner().unwrap()).unwrap();
    assert_says(&refusal(&path), &["holds cat/2.png as a link", "unpack it"]);
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_to_a_parent_folder_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("set");
        write(&root, "cat/1.png", plain(2, 2, [1; 3]));
        write(&root, "dog/1.png", plain(2, 2, [2; 3]));
        for (link, to) in
            [("cat/again", "."), ("dog/up", ".."), ("root", "."), ("far", "../.."), ("cat/itself", "itself")]
        {
            symlink(to, root.join(link)).unwrap();
        }
        symlink(&root, root.join("dog/whole")).unwrap();
        let train = opened(&root).train;
        assert_eq!(train.ids, ["cat/1.png", "dog/1.png"]);
        assert_eq!(train.classes, ["cat", "dog"]);
    }

    #[test]
    fn an_image_under_two_names_is_refused() {
        for (link, to) in [("cat/x.png", "../dog/1.png"), ("dog/x.png", "1.png")] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), "cat/1.png", plain(2, 2, [1; 3]));
            write(folder.path(), "dog/1.png", plain(2, 2, [2; 3]));
            symlink(to, folder.path().join(link)).unwrap();
            assert_says(
                &refusal(folder.path()),
                &["dog/1.png and", link, "are the same file", "remove one of the links"],
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let (set, store) = (folder.path().join("set"), folder.path().join("store"));
        write(&store, "1.png", plain(2, 2, [1; 3]));
        write(&store, "2.png", plain(2, 2, [2; 3]));
        write(&set, "cat/0.png", plain(2, 2, [3; 3]));
        symlink(store.join("1.png"), set.join("cat/1.png")).unwrap();
        symlink(store.join("2.png"), set.join("cat/2.png")).unwrap();
        assert_eq!(opened(&set).train.ids.len(), 3);
        fs::create_dir(set.join("dog")).unwrap();
        symlink(store.join("2.png"), set.join("dog/2.png")).unwrap();
        assert_says(&refusal(&set), &["cat/2.png and", "dog/2.png are the same file"]);
    }

    #[test]
    fn a_folder_under_two_names_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "cat/1.png", plain(2, 2, [1; 3]));
        write(folder.path(), "dog/1.png", plain(2, 2, [2; 3]));
        symlink("cat", folder.path().join("kitten")).unwrap();
        assert_says(&refusal(folder.path()), &["cat and", "kitten are the same folder", "remove one of the links"]);
    }

    #[test]
    fn a_link_to_a_file_or_to_a_folder_elsewhere_is_followed() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(folder.path(), "cat/1.png", plain(2, 2, [1; 3]));
        write(elsewhere.path(), "dogs/1.png", plain(2, 2, [2; 3]));
        write(elsewhere.path(), "2.png", plain(2, 2, [3; 3]));
        symlink(elsewhere.path().join("dogs"), folder.path().join("dog")).unwrap();
        symlink(elsewhere.path().join("2.png"), folder.path().join("cat/2.png")).unwrap();
        assert_eq!(opened(folder.path()).train.ids, ["cat/1.png", "cat/2.png", "dog/1.png"]);
    }

    #[test]
    fn a_broken_link_to_an_image_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "cat/1.png", plain(2, 2, [1; 3]));
        symlink("nowhere", folder.path().join("notes")).unwrap();
        opened(folder.path());
        symlink("nowhere.png", folder.path().join("cat/2.png")).unwrap();
        assert_says(&refusal(folder.path()), &["2.png does not exist"]);
    }
}
