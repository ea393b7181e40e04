//! Data sets from tables of numbers and their labels.

use homing_data::{OpenOptions, open};

use crate::sample::*;

/// Builds a .npy file of two rows, or of labels.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn a_column_of_labels_is_found_or_named() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.csv", "id,x,y,class,mood\nr,1,2,10,sad\ns,3,4,9,\n");
    let path = folder.path().join("a.csv");
    let train = opened(&path).train;
    assert_eq!((train.classes, train.labels), (vec!["9".to_owned(), "10".to_owned()], vec![Some(1), Some(0)]));
    assert_eq!(train.ids, ["r", "s"]);
    assert_eq!(train.inputs.shape(), [2]);
    assert_eq!(train.inputs.read(&[1, 0]).unwrap(), [3.0, 4.0, 1.0, 2.0]);
    let named = OpenOptions { label_column: Some("mood".into()), ..OpenOptions::default() };
    assert_eq!(open(&path, &named).unwrap().train.labels, [Some(0), None]);
    let wrong = OpenOptions { label_column: Some("nope".into()), ..OpenOptions::default() };
    assert_says(&refusal_with(&path, &wrong), &["no column 'nope'; it has 'id', 'x'"]);
    let sized = OpenOptions { size: Some(8), ..OpenOptions::default() };
    assert_says(&refusal_with(&path, &sized), &["rows of numbers, which have no size"]);
}

#[test]
fn embeddings_take_their_labels_from_another_file() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x.npy", npy("<f4", "(2, 3)", &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    write(folder.path(), "y.npy", npy("<i8", "(2,)", &[7i64, 3].map(i64::to_le_bytes).concat()));
    write(folder.path(), "y.csv", "name,label\nb,cat\na,ant\n");
    write(folder.path(), "y.txt", "one\n");
    write(folder.path(), "y.idx", gzip(&idx(&[2], &[4, 4])));
    let path = folder.path().join("x.npy");
    assert_eq!(opened(&path).train.labels, [None, None]);
    let with = |file: &str, column: Option<&str>| OpenOptions {
        labels: Some(folder.path().join(file)),
        label_column: column.map(str::to_owned),
        ..OpenOptions::default()
    };
    let labelled = |file: &str, column| {
        let train = open(&path, &with(file, column)).unwrap().train;
        (train.classes.join(" "), train.labels)
    };
    assert_eq!(labelled("y.npy", None), ("3 7".to_owned(), vec![Some(1), Some(0)]));
    assert_eq!(labelled("y.csv", None), ("ant cat".to_owned(), vec![Some(1), Some(0)]));
    assert_eq!(labelled("y.csv", Some("name")), ("a b".to_owned(), vec![Some(1), Some(0)]));
    assert_eq!(labelled("y.idx", None), ("4".to_owned(), vec![Some(0), Some(0)]));
    assert_says(&refusal_with(&path, &with("y.txt", None)), &["y.txt holds 1 labels for 2 examples"]);
    assert_says(&refusal_with(&path, &with("z.txt", None)), &["z.txt does not exist"]);
    let train = open(&path, &with("y.npy", None)).unwrap().train;
    assert_eq!(train.inputs.read(&[1]).unwrap(), [4.0, 5.0, 6.0]);
    let same = homing_data::Inputs::rows(3, vec![4.0, 5.0, 6.0]);
    assert_eq!(train.inputs.fingerprint(&[1]).unwrap(), same.fingerprint(&[0]).unwrap());
}

#[test]
fn training_and_test_tables() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "train.csv", "x,y,label\n1,2,a\n3,4,b\n");
    write(folder.path(), "test.csv", "x,y,label\n5,6,b\n");
    let data = opened(folder.path());
    assert_eq!(data.train.labels, [Some(0), Some(1)]);
    let test = data.test.unwrap();
    assert_eq!((&test.labels[..], test.inputs.read(&[0]).unwrap()), (&[Some(1)][..], vec![5.0, 6.0]));
    write(folder.path(), "test.csv", "x,y,label\n5,6,c\n");
    assert_says(&refusal(folder.path()), &["test.csv has the class 'c', which the training set lacks"]);
    write(folder.path(), "test.csv", "x,y,z,label\n5,6,7,b\n");
    assert_says(&refusal(folder.path()), &["test.csv holds examples of shape [3]", "[2]"]);
}

#[test]
fn values_that_are_not_finite_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x.npy", npy("<f4", "(2, 1)", &floats(&[1.0, f32::NAN])));
    assert_says(&refusal(&folder.path().join("x.npy")), &["x.npy cannot be used for training: row 1", "not finite"]);
}
