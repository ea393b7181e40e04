//! Data sets in archives, and archives without a data set.

use std::fs;
use std::io::Write;

use crate::sample::*;

#[test]
fn every_kind_of_images_in_a_tar() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.tar");
    fs::write(&path, tar(&mnist())).unwrap();
    assert_eq!(opened(&path).train.labels, [Some(1), Some(0), Some(2)]);
    // This is the layout that `fetch` produces.
    assert_eq!(opened(folder.path()).test.unwrap().len(), 2);

    let cifar = [("cifar-100-binary/train.bin", record(&[0, 5], 1)), ("cifar-100-binary/test.bin", record(&[0, 6], 1))];
    fs::remove_file(&path).unwrap();
    let path = folder.path().join("cifar-100-binary.tar.gz");
    fs::write(&path, gzip(&tar(&cifar))).unwrap();
    assert_eq!(opened(folder.path()).train.labels, [Some(5)]);

    let images = [("animals/cat/1.png", plain(2, 2, [1; 3])), ("animals/dog/1.png", plain(2, 2, [2; 3]))];
    let path = folder.path().join("images.tar");
    fs::write(&path, tar(&images)).unwrap();
    let train = opened(&path).train;
    assert_eq!((train.classes, train.ids[0].as_str()), (vec!["cat".to_owned(), "dog".to_owned()], "cat/1.png"));
    assert_eq!(train.inputs.read(&[1]).unwrap(), [2.0; 12]);
    assert_says(&refusal(folder.path()), &["several data sets", "images.tar"]);
}

#[test]
fn broken_archives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.tar");
    let good = tar(&[("train.bin", record(&[0, 5], 1))]);
    fs::write(&path, &good[..2000]).unwrap();
    assert_says(&refusal(&path), &["set.tar is cut short"]);
    fs::write(&path, &good[..100]).unwrap();
    assert_says(&refusal(&path), &["set.tar is not a valid tar file"]);
    fs::write(&path, tar(&[("notes.md", b"hello".to_vec())])).unwrap();
    assert_says(&refusal(&path), &["is not a data set that can be read", "class/name.png"]);
    let path = folder.path().join("set.tar.gz");
    let packed = gzip(&good);
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    assert_says(&refusal(&path), &["set.tar.gz is not a valid gzip file"]);
    fs::write(&path, b"\xfd7zXZ\0 no more").unwrap();
    assert_says(&refusal(&path), &["set.tar.gz is not a valid xz file"]);
}

#[test]
fn a_name_that_occurs_twice_in_an_archive_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.tar");
    let files =
        [("cat/1.png", plain(2, 2, [1; 3])), ("dog/1.png", plain(2, 2, [2; 3])), ("./cat/1.png", plain(2, 2, [3; 3]))];
    fs::write(&path, tar(&files[..2])).unwrap();
    assert_eq!(opened(&path).train.ids.len(), 2);
    fs::write(&path, tar(&files)).unwrap();
    assert_says(&refusal(&path), &["set.tar holds cat/1.png twice", "create it again"]);
}

#[test]
fn an_archive_of_zeros_is_refused_long_before_it_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros.tar.gz");
    // The archive is compressed as much as possible.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0; 200 << 20]).unwrap();
    let packed = encoder.finish().unwrap();
    let most = (64 << 20) + 100 * packed.len();
    assert!(most < 100 << 20, "{} bytes", packed.len());
    fs::write(&path, packed).unwrap();
    assert_says(&refusal(&path), &["zeros.tar.gz takes more than", &most.to_string(), "unpack it first"]);
}

#[test]
fn files_that_are_not_a_data_set() {
    let folder = tempfile::tempdir().unwrap();
    assert_says(&refusal(folder.path()), &["is not a data set that can be read"]);
    assert_says(&refusal(&folder.path().join("missing")), &["does not exist; check the path"]);
    write(folder.path(), "a.dat", "what");
    assert_says(&refusal(&folder.path().join("a.dat")), &["is not a data set that can be read"]);
}
