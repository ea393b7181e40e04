//! A last layer with its labelled examples, and the dense Hessian of its cross-entropy by finite differences.

use homing::Embeddings;
use homing::last_layer::{Approximation, LastLayer, Mode};
use rand::RngExt;

use crate::oracle::{Matrix, rng, uniform_rows, view};

pub const ALL: [Approximation; 4] =
    [Approximation::Diagonal, Approximation::Kronecker, Approximation::Damped, Approximation::Full];

pub struct Network {
    /// Hidden layer h, without the 1 of the bias.
    pub hidden: Matrix,
    pub p: Matrix,
    /// Weights W: one row per input, the bias last.
    pub weights: Matrix,
    pub labels: Vec<usize>,
    pub bias: bool,
    /// Weights wᵢ of the examples.
    pub shares: Option<Vec<f64>>,
    flat: [Vec<f64>; 3],
}

/// Returns ln Σ eᶠ and the probabilities of some logits.
fn softmax(logits: &[f64]) -> (f64, Vec<f64>) {
    let sum: f64 = logits.iter().map(|f| f.exp()).sum();
    (sum.ln(), logits.iter().map(|f| f.exp() / sum).collect())
}

impl Network {
    pub fn new(seed: u64, (examples, width, classes): (usize, usize, usize), bias: bool) -> Self {
        let mut rng = rng(seed);
        let hidden = uniform_rows(&mut rng, examples, width);
        let weights: Matrix = uniform_rows(&mut rng, width + usize::from(bias), classes)
            .iter()
            .map(|row| row.iter().map(|w| 1.5 * w).collect())
            .collect();
        let labels = (0..examples).map(|_| rng.random_range(0..classes)).collect();
        Self::of(hidden, weights, labels, bias)
    }

    pub fn of(hidden: Matrix, weights: Matrix, labels: Vec<usize>, bias: bool) -> Self {
        let mut network = Self { hidden, p: Vec::new(), weights, labels, bias, shares: None, flat: Default::default() };
        network.p = (0..network.labels.len()).map(|i| softmax(&network.logits(&network.weights, i)).1).collect();
        network.flat = [&network.hidden, &network.p, &network.weights].map(|rows| view(rows));
        network
    }

    pub fn classes(&self) -> usize {
        self.weights[0].len()
    }

    /// Returns the number of inputs, including the 1 of the bias.
    pub fn width(&self) -> usize {
        self.weights.len()
    }

    /// Returns [h, 1].
    pub fn input(&self, i: usize) -> Vec<f64> {
        extended(&self.hidden[i], self.bias)
    }

    fn logits(&self, weights: &Matrix, i: usize) -> Vec<f64> {
        let input = self.input(i);
        (0..weights[0].len()).map(|c| input.iter().zip(weights).map(|(h, row)| h * row[c]).sum()).collect()
    }

    pub fn layer(&self) -> LastLayer<'_> {
        let layer = LastLayer::new(self.hidden(), self.probabilities(), self.bias).unwrap();
        self.shares.as_ref().map_or(layer, |shares| layer.weighted(shares).unwrap())
    }

    pub fn hidden(&self) -> Embeddings<'_> {
        Embeddings::new(&self.flat[0][..], self.hidden[0].len()).unwrap()
    }

    pub fn probabilities(&self) -> Embeddings<'_> {
        Embeddings::new(&self.flat[1][..], self.classes()).unwrap()
    }

    pub fn mode(&self) -> Mode {
        let weights = Embeddings::new(&self.flat[2][..], self.classes()).unwrap();
        Mode::new(&self.layer(), weights, &self.labels).unwrap()
    }

    fn share(&self, i: usize) -> f64 {
        self.shares.as_ref().map_or(1.0, |shares| shares[i])
    }

    /// Returns −Σ wᵢ ln p(yᵢ | W).
    pub fn cross_entropy(&self, weights: &Matrix) -> f64 {
        let of = |i: usize| {
            let logits = self.logits(weights, i);
            self.share(i) * (softmax(&logits).0 - logits[self.labels[i]])
        };
        (0..self.labels.len()).map(of).sum()
    }

    /// Computes second derivatives by extrapolated central differences at two step sizes. Weight (c, j) has the index c·w +
    /// j.
    pub fn hessian(&self) -> Matrix {
        let weights = self.width() * self.classes();
        let second = |a: usize, b: usize, step: f64| {
            let at = |x: f64, y: f64| {
                let mut moved = self.weights.clone();
                moved[a % self.width()][a / self.width()] += x;
                moved[b % self.width()][b / self.width()] += y;
                self.cross_entropy(&moved)
            };
            (at(step, step) - at(step, -step) - at(-step, step) + at(-step, -step)) / (4.0 * step * step)
        };
        let entry = |a, b| (4.0 * second(a, b, 2e-3) - second(a, b, 4e-3)) / 3.0;
        (0..weights).map(|a| (0..weights).map(|b| entry(a, b)).collect()).collect()
    }

    /// Computes the approximated H + τI from the definitions.
    pub fn precision(&self, approximation: Approximation, tau: f64) -> Matrix {
        let (examples, classes, width) = (self.labels.len(), self.classes(), self.width());
        let residual = |i: usize, c: usize, d: usize| self.p[i][c] * (f64::from(u8::from(c == d)) - self.p[i][d]);
        let inputs: Matrix = (0..examples).map(|i| self.input(i)).collect();
        let sum = |f: &dyn Fn(usize) -> f64| (0..examples).map(|i| self.share(i) * f(i)).sum::<f64>();
        let all = sum(&|_| 1.0);
        let outer = square(classes, |c, d| sum(&|i| residual(i, c, d)));
        let inner = square(width, |j, k| sum(&|i| inputs[i][j] * inputs[i][k]) / all);
        let trace = |m: &Matrix| (0..m.len()).map(|i| m[i][i]).sum::<f64>() / m.len() as f64;
        let balance = (trace(&inner) / trace(&outer)).sqrt();
        let one = |same: bool, value: f64| if same { value } else { 0.0 };
        square(classes * width, |a, b| {
            let ((c, j), (d, k)) = ((a / width, a % width), (b / width, b % width));
            let exact = || sum(&|i| residual(i, c, d) * inputs[i][j] * inputs[i][k]);
            match approximation {
                Approximation::Diagonal => one(a == b, exact() + tau),
                Approximation::Kronecker => outer[c][d] * inner[j][k] + one(a == b, tau),
                Approximation::Damped => {
                    (outer[c][d] + one(c == d, tau.sqrt() / balance))
                        * (inner[j][k] + one(j == k, tau.sqrt() * balance))
                }
                _ => exact() + one(a == b, tau),
            }
        })
    }

    /// Computes the loss gradients (p − e_ŷ) ⊗ [h, 1] as dense vectors.
    pub fn gradients(&self) -> Matrix {
        let of = |i: usize| {
            let p = &self.p[i];
            let most_likely = (0..p.len()).fold(0, |best, c| if p[c] > p[best] { c } else { best });
            let input = self.input(i);
            let residual = |c: usize| p[c] - f64::from(u8::from(c == most_likely));
            (0..p.len()).flat_map(|c| input.iter().map(move |h| residual(c) * h)).collect()
        };
        (0..self.labels.len()).map(of).collect()
    }
}

pub fn extended(hidden: &[f64], bias: bool) -> Vec<f64> {
    hidden.iter().copied().chain(bias.then_some(1.0)).collect()
}

pub fn square(size: usize, entry: impl Fn(usize, usize) -> f64) -> Matrix {
    (0..size).map(|i| (0..size).map(|j| entry(i, j)).collect()).collect()
}

/// Computes M⁻¹ by elimination.
pub fn inverse(matrix: &Matrix) -> Matrix {
    let n = matrix.len();
    let mut work: Matrix = (0..n)
        .map(|i| matrix[i].iter().copied().chain((0..n).map(|j| f64::from(u8::from(i == j)))).collect())
        .collect();
    for p in 0..n {
        let pivot = work[p][p];
        work[p].iter_mut().for_each(|x| *x /= pivot);
        let row = work[p].clone();
        for (i, other) in work.iter_mut().enumerate().filter(|(i, _)| *i != p) {
            let factor = other[p];
            assert!(i != p);
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    work.into_iter().map(|row| row[n..].to_vec()).collect()
}

/// Computes xᵀMy.
pub fn form(x: &[f64], matrix: &Matrix, y: &[f64]) -> f64 {
    x.iter().zip(matrix).map(|(x, row)| x * row.iter().zip(y).map(|(m, y)| m * y).sum::<f64>()).sum()
}

/// Returns the largest difference of two matrices, relative to the largest entry.
pub fn apart(got: &Matrix, want: &Matrix) -> f64 {
    let largest = view(want).into_iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    view(got).iter().zip(view(want)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest
}
