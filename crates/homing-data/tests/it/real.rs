//! The real MNIST and CIFAR-100 data sets, if `../shared/data` next to the repository holds them.

use std::path::PathBuf;

use homing_data::{OpenOptions, open};

use crate::sample::opened;

/// Returns the path of a file of shared data, or prints that it is missing and returns `None`.
fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")).join(name);
    let path = path.is_file().then_some(path);
    if path.is_none() {
        println!("skipped: there is no ../shared/data/{name}");
    }
    path
}

/// Returns the mean and the standard deviation of pixels scaled to 0 to 1.
fn moments(pixels: &[f32]) -> (f64, f64) {
    let mean = |value: &dyn Fn(f64) -> f64| {
        pixels.iter().map(|&pixel| value(f64::from(pixel) / 255.0)).sum::<f64>() / pixels.len() as f64
    };
    let first = mean(&|x| x);
    (first, (mean(&|x| x * x) - first * first).sqrt())
}

#[test]
fn mnist() {
    let Some(path) = shared("mnist.tar.xz") else { return };
    let data = opened(&path);
    let test = data.test.unwrap();
    assert_eq!((data.train.len(), test.len()), (60_000, 10_000));
    assert_eq!(data.train.inputs.shape(), [1, 28, 28]);
    assert_eq!(data.train.labels[..6], [5, 0, 4, 1, 9, 2].map(Some));
    assert_eq!(test.labels[..5], [7, 2, 1, 0, 4].map(Some));
    assert_eq!(data.train.classes.len(), 10);
    // These are the usual constants for normalising MNIST.
    let rows: Vec<usize> = (0..60_000).collect();
    let (mean, deviation) = moments(&data.train.inputs.read(&rows).unwrap());
    assert!((mean - 0.1307).abs() < 5e-5 && (deviation - 0.3081).abs() < 5e-5, "{mean} {deviation}");
    let counts = |class| data.train.labels.iter().filter(|&&label| label == Some(class)).count();
    assert_eq!((counts(1), counts(5)), (6742, 5421));
}

#[test]
fn cifar_100_in_tiles() {
    let Some(path) = shared("cifar100_webp.tar") else { return };
    let data = open(&path, &OpenOptions { size: Some(64), ..OpenOptions::default() }).unwrap();
    let test = data.test.unwrap();
    assert_eq!((data.train.len(), test.len()), (50_000, 10_000));
    assert_eq!(data.train.inputs.shape(), [3, 64, 64]);
    assert_eq!((data.train.classes[0].as_str(), data.train.classes[99].as_str()), ("apple", "worm"));
    for class in 0..100 {
        let count = |labels: &[Option<u32>]| labels.iter().filter(|&&label| label == Some(class)).count();
        assert_eq!((count(&data.train.labels), count(&test.labels)), (500, 100));
    }
    // These are the means of the official training set, of which ours contains five sixths.
    let rows: Vec<usize> = (0..50_000).step_by(10).collect();
    let pixels = data.train.inputs.resized(&rows, 32).unwrap();
    for (channel, expected) in [0.5071, 0.4866, 0.4409].into_iter().enumerate() {
        let plane: Vec<f32> = pixels.chunks(1024).skip(channel).step_by(3).flatten().copied().collect();
        let (mean, _) = moments(&plane);
        assert!((mean - expected).abs() < 0.01, "channel {channel}: {mean}");
    }
    assert_eq!(data.train.inputs.read(&[0]).unwrap().len(), 3 * 64 * 64);
}
