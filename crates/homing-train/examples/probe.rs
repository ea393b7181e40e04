//! Accuracy of a linear probe on the last hidden layer of a frozen EfficientNet.
//!
//!     cargo run --release -p homing-train --example probe -- cifar100_webp.tar efficientnet_lite0.safetensors
//!
//! The probe uses the first 25 images per class of the training set and the first 10 of the test set. It is ridge
//! regression on centred features; leave-one-out validation on the training images chooses its strength.
#![allow(clippy::disallowed_methods, reason = "the speed of this example does not matter")]

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use homing_data::{Dataset, OpenOptions, open};
use homing_train::models::efficientnet::{EfficientNet, cache_folder, feature_maps};
use homing_train::models::{NetworkName, last_block};
use homing_train::{Examples, device};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TRAIN: usize = 25;
const TEST: usize = 10;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, weights, rest @ ..] = &arguments[..] else {
        return Err("usage: probe DATA WEIGHTS [efficientnet-lite0 | efficientnet-b0] [DEVICE]".into());
    };
    let name: NetworkName = rest.first().map_or("efficientnet-lite0", String::as_str).parse()?;
    let design = name.design().ok_or_else(|| format!("{name} has no weights"))?;
    let device = device(rest.get(1).map_or("cpu", String::as_str))?;
    let net = EfficientNet::open(Path::new(weights), design.clone())?;
    let data = open(Path::new(data), &OpenOptions::default())?;
    let test = data.test.ok_or("the data set has no test images")?;

    let trunk = net.trunk(&device);
    let last = last_block(&net, 1, &device);
    let features = |set: &Dataset, each: usize| -> Result<(Mat<f64>, Vec<u32>)> {
        let (rows, labels) = first(set, each);
        let (start, images) = (Instant::now(), Examples { inputs: &set.inputs, rows: &rows });
        let progress = |done: usize| {
            eprint!(
                "\r{done} of {} images, {:.1} per second ",
                rows.len(),
                done as f64 / start.elapsed().as_secs_f64()
            );
            ControlFlow::Continue(())
        };
        let maps = feature_maps(&trunk, images, &cache_folder()?, progress)?
            .expect("the progress function never stops the work");
        eprintln!();
        let all: Vec<usize> = (0..maps.len()).collect();
        let prediction = last.predict(Examples { inputs: &maps, rows: &all })?;
        let number = |row: usize, column: usize| f64::from(prediction.hidden[row * prediction.width + column]);
        Ok((Mat::from_fn(all.len(), prediction.width, number), labels))
    };
    let (mut x, labels) = features(&data.train, TRAIN)?;
    let (mut x_test, labels_test) = features(&test, TEST)?;
    let means: Vec<f64> = (0..x.ncols()).map(|j| x.col(j).sum() / x.nrows() as f64).collect();
    for matrix in [&mut x, &mut x_test] {
        *matrix = Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)] - means[j]);
    }
    let y =
        Mat::from_fn(x.nrows(), data.train.classes.len(), |i, class| f64::from(u8::from(labels[i] as usize == class)));
    let ridge = |strength: f64| Ridge::new(&x, &y, strength);
    let strengths: Vec<f64> = (-4..=2).map(|exponent| 10f64.powf(f64::from(exponent) / 2.0)).collect();
    let mut best: Option<Ridge> = None;
    for &strength in &strengths {
        let fit = ridge(strength);
        println!("ridge {strength:.3} × mean ‖x‖²: accuracy {:.4}, leaving one out", share(&fit.left_out, &labels));
        if best.as_ref().is_none_or(|best| share(&fit.left_out, &labels) > share(&best.left_out, &labels)) {
            best = Some(fit);
        }
    }
    let best = best.expect("there is at least one strength");
    let accuracy = share(&(&x_test * &best.weights), &labels_test);
    println!("{} train, {} test images, {} classes: accuracy {accuracy:.4}", x.nrows(), x_test.nrows(), y.ncols());
    Ok(())
}

/// Returns the first `each` examples of every class.
fn first(set: &Dataset, each: usize) -> (Vec<usize>, Vec<u32>) {
    let mut counts = vec![0; set.classes.len()];
    let labelled = set.labels.iter().enumerate().filter_map(|(row, &label)| Some((row, label?)));
    let mut is_taken = |label: u32| {
        counts[label as usize] += 1;
        counts[label as usize] <= each
    };
    labelled.filter(|&(_, label)| is_taken(label)).unzip()
}

/// Ridge regression: W = (XᵀX + λI)⁻¹XᵀY, with λ a multiple of the mean squared norm of a row.
struct Ridge {
    weights: Mat<f64>,
    /// Prediction for each training row from all others: (Hy − diag(H)·y)/(1 − diag(H)) with H = X(XᵀX + λI)⁻¹Xᵀ.
    left_out: Mat<f64>,
}

impl Ridge {
    fn new(x: &Mat<f64>, y: &Mat<f64>, strength: f64) -> Self {
        let lambda = strength * x.squared_norm_l2() / x.nrows() as f64;
        let mut gram = x.transpose() * x;
        (0..gram.ncols()).for_each(|j| gram[(j, j)] += lambda);
        let factor = gram.llt(Side::Lower).expect("λ is positive");
        let weights = factor.solve(x.transpose() * y);
        let smoothed = factor.solve(x.transpose());
        let fitted = x * &weights;
        let own: Vec<f64> =
            (0..x.nrows()).map(|i| (0..x.ncols()).map(|j| x[(i, j)] * smoothed[(j, i)]).sum()).collect();
        let left_out =
            Mat::from_fn(y.nrows(), y.ncols(), |i, j| (fitted[(i, j)] - own[i] * y[(i, j)]) / (1.0 - own[i]));
        Self { weights, left_out }
    }
}

/// Returns the share of rows whose largest score is that of their label.
fn share(scores: &Mat<f64>, labels: &[u32]) -> f64 {
    let best =
        |i: usize| (1..scores.ncols()).fold(0, |best, j| if scores[(i, j)] > scores[(i, best)] { j } else { best });
    let correct = labels.iter().enumerate().filter(|&(i, &label)| best(i) == label as usize).count();
    correct as f64 / labels.len() as f64
}
