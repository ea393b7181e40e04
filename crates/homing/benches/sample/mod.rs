//! Rows that resemble embeddings of real data, and measurements of time and memory in a separate process.
#![allow(dead_code, reason = "each bench uses only a part of it")]

use std::ops::Range;
use std::process::Command;

use homing::{Embeddings, Points};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Runs this program with the given arguments, and returns the numbers that it prints.
pub fn child(arguments: &[&str]) -> Vec<f64> {
    let program = std::env::current_exe().expect("a program has a path");
    let output = Command::new(program).args(arguments).output().expect("the program can be run");
    let text = String::from_utf8(output.stdout).expect("the program prints numbers");
    text.split_whitespace().map(|number| number.parse().expect("the program prints numbers")).collect()
}

/// Returns a figure of this process in kB; zero if the system does not report it.
pub fn status(name: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

/// Returns the processor time of all threads; `None` if the system does not report it.
pub fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks: Vec<f64> = text.rsplit(')').next()?.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
    Some(ticks.iter().sum::<f64>() / 100.0)
}

/// Clustered unit vectors with a decaying spectrum, like embeddings of real data, and class probabilities.
pub struct Data {
    dim: usize,
    classes: usize,
    embeddings: Vec<f32>,
    probabilities: Vec<f32>,
    /// The weights that determine the probabilities, one row per class.
    heads: Vec<f32>,
}

impl Data {
    /// Creates a pool of `rows` rows, and targets from three of its clusters.
    pub fn new(rows: usize, targets: usize, dim: usize, classes: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut normal = || (0..6).map(|_| rng.random_range(-1.0f32..1.0)).sum::<f32>() * 0.7;
        let scale: Vec<f32> = (1..=dim).map(|i| (i as f32).powf(-0.7)).collect();
        let centres: Vec<f32> = (0..200 * dim).map(|i| normal() * scale[i % dim]).collect();
        let heads: Vec<f32> = (0..classes * dim).map(|_| 3.0 * normal()).collect();
        let mut embeddings = Vec::with_capacity((rows + targets) * dim);
        let mut probabilities = Vec::with_capacity((rows + targets) * classes);
        for row in 0..rows + targets {
            let cluster = if row < rows { (row * 7919) % 200 } else { [3, 17, 42][row % 3] };
            let x: Vec<f32> = (0..dim).map(|j| centres[cluster * dim + j] + 0.7 * normal() * scale[j]).collect();
            let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt();
            let logits = heads.chunks_exact(dim).map(|w| w.iter().zip(&x).map(|(w, x)| w * x / norm).sum::<f32>());
            let weights: Vec<f32> = logits.map(f32::exp).collect();
            let sum: f32 = weights.iter().sum();
            probabilities.extend(weights.iter().map(|w| w / sum));
            embeddings.extend(x.iter().map(|x| x / norm));
        }
        Self { dim, classes, embeddings, probabilities, heads }
    }

    pub fn embeddings(&self, range: Range<usize>) -> Embeddings<'_> {
        let values = &self.embeddings[range.start * self.dim..range.end * self.dim];
        Embeddings::new(values, self.dim).expect("rows are whole")
    }

    pub fn probabilities(&self, range: Range<usize>) -> Embeddings<'_> {
        let values = &self.probabilities[range.start * self.classes..range.end * self.classes];
        Embeddings::new(values, self.classes).expect("rows are whole")
    }

    /// Returns the weights that determine the probabilities, one row per input.
    pub fn weights(&self) -> Vec<f32> {
        let at = |i: usize| self.heads[(i % self.classes) * self.dim + i / self.classes];
        (0..self.heads.len()).map(at).collect()
    }

    pub fn gradients(&self, range: Range<usize>) -> Points<'_> {
        Points::loss_gradient(self.embeddings(range.clone()), self.probabilities(range))
            .expect("both have as many rows")
    }
}
