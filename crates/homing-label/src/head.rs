//! A classifier on the embeddings: ridge regression on the classes, with exact leave-one-out predictions.
//!
//! With the kernel matrix K + c of the labelled rows (c stands for a bias), its eigenvectors U and eigenvalues Λ, the fitted values
//! are H·Y with H = U·Λ/(Λ + λ)·Uᵀ. The prediction for row i by a classifier that never saw its label is ŷᵢ − (yᵢ − ŷᵢ)·Hᵢᵢ/(1 −
//! Hᵢᵢ), so cross-validation with one row left out at a time costs nothing beyond the fit.
//!
//! With the linear kernel K + c = X̃X̃ᵀ, whose eigenvectors for eigenvalues above zero are X̃V/√Λ with the eigenvectors V of X̃ᵀX̃. So the
//! cost grows with the cube of the number of labels or of the dimension, whichever is smaller.

use faer::{MatRef, Side};
use homing::Kernel;
use rayon::prelude::*;

/// Ridge penalties that are tried, as shares of the mean squared norm.
const PENALTIES: [f64; 5] = [1e-3, 1e-2, 1e-1, 1.0, 10.0];

/// Largest number of labels that a classifier is trained on. If there are more, the latest are used, because the cost grows with
/// the cube of their number.
pub(crate) const MOST: usize = 2000;

/// A trained classifier.
pub(crate) struct Head {
    /// Points of the labelled rows, or the weights of each class if the kernel is linear.
    points: Vec<f64>,
    dim: usize,
    classes: usize,
    /// Coefficients, labelled rows × classes.
    coefficients: Vec<f64>,
    bias: f64,
    /// Weights, classes × dimensions, and offsets, if the kernel is linear.
    weights: Option<(Vec<f64>, Vec<f64>)>,
    /// Share of the labelled rows whose class is predicted correctly by a classifier that was trained without their label.
    pub accuracy: f64,
}

/// A predicted class and its share of the prediction, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prediction {
    pub class: u32,
    pub share: f64,
}

/// Whether there are enough labels for a classifier: at least two classes with two labels each.
pub(crate) fn suffices(labels: &[u32]) -> bool {
    let mut counts = std::collections::HashMap::new();
    labels.iter().for_each(|&label| *counts.entry(label).or_insert(0) += 1);
    counts.values().filter(|&&count| count >= 2).count() >= 2
}

/// Eigenvectors (column-major) and eigenvalues of the kernel matrix of the labelled rows; those with the eigenvalue 0 may be missing.
struct Spectrum {
    vectors: Vec<f64>,
    values: Vec<f64>,
    count: usize,
}

impl Head {
    /// Trains on points (row-major) and their classes; `None` if there are too few labels.
    pub fn train(kernel: &dyn Kernel, points: Vec<f64>, dim: usize, labels: &[u32], classes: usize) -> Option<Self> {
        if !suffices(labels) {
            return None;
        }
        let n = labels.len();
        let bias = points.chunks_exact(dim).map(|x| kernel.var(x)).sum::<f64>() / n as f64;
        let spectrum = Spectrum::of(kernel, &points, dim, bias)?;
        let mean = 1.0 / classes as f64;
        let y = |row: usize, class: usize| f64::from(u8::from(labels[row] as usize == class)) - mean;
        let (mut best, mut best_error) = (None, f64::INFINITY);
        for penalty in PENALTIES.map(|share| share * 2.0 * bias) {
            let left_out = spectrum.leave_one_out(penalty, classes, y);
            let error: f64 =
                left_out.iter().enumerate().map(|(at, value)| (value - y(at / classes, at % classes)).powi(2)).sum();
            if error < best_error {
                let right = |row: &usize| most(&left_out[row * classes..(row + 1) * classes]) == labels[*row] as usize;
                let accuracy = (0..n).filter(right).count() as f64 / n as f64;
                (best, best_error) = (Some((penalty, accuracy)), error);
            }
        }
        let (penalty, accuracy) = best?;
        let coefficients = spectrum.coefficients(penalty, classes, y);
        let mut head = Self { points, dim, classes, coefficients, bias, weights: None, accuracy };
        if kernel.is_linear() {
            let mut weights = vec![0.0; classes * dim];
            let mut offsets = vec![0.0; classes];
            for (x, coefficients) in head.points.chunks_exact(dim).zip(head.coefficients.chunks_exact(classes)) {
                for (class, &c) in coefficients.iter().enumerate() {
                    offsets[class] += c * bias;
                    weights[class * dim..(class + 1) * dim].iter_mut().zip(x).for_each(|(w, x)| *w += c * x);
                }
            }
            head.weights = Some((weights, offsets));
        }
        Some(head)
    }

    /// Returns the number of multiplications that one prediction takes.
    pub fn cost(&self) -> usize {
        if self.weights.is_some() { self.classes * self.dim } else { self.points.len() }
    }

    /// Predicts the class of a point.
    pub fn predict(&self, kernel: &dyn Kernel, x: &[f64]) -> Prediction {
        let mut scores = vec![1.0 / self.classes as f64; self.classes];
        if let Some((weights, offsets)) = &self.weights {
            for ((score, weights), offset) in scores.iter_mut().zip(weights.chunks_exact(self.dim)).zip(offsets) {
                *score += offset + weights.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
            }
        } else {
            let points = self.points.chunks_exact(self.dim).zip(self.coefficients.chunks_exact(self.classes));
            for (point, coefficients) in points {
                let similarity = kernel.eval(point, x) + self.bias;
                scores.iter_mut().zip(coefficients).for_each(|(score, c)| *score += c * similarity);
            }
        }
        let class = most(&scores);
        let sum: f64 = scores.iter().map(|score| score.max(0.0)).sum();
        Prediction { class: class as u32, share: if sum > 0.0 { scores[class].max(0.0) / sum } else { 0.0 } }
    }
}

fn most(scores: &[f64]) -> usize {
    (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
}

impl Spectrum {
    fn of(kernel: &dyn Kernel, points: &[f64], dim: usize, bias: f64) -> Option<Self> {
        let n = points.len() / dim;
        if kernel.is_linear() && n > dim + 1 {
            return Self::of_few_dimensions(points, dim, bias);
        }
        let at = |row: usize| &points[row * dim..(row + 1) * dim];
        let rows: Vec<Vec<f64>> =
            (0..n).into_par_iter().map(|i| (0..=i).map(|j| kernel.eval(at(i), at(j)) + bias).collect()).collect();
        let mut matrix = vec![0.0; n * n];
        for (i, row) in rows.iter().enumerate() {
            for (j, &value) in row.iter().enumerate() {
                matrix[i * n + j] = value;
                matrix[j * n + i] = value;
            }
        }
        let eigen = MatRef::from_column_major_slice(&matrix, n, n).self_adjoint_eigen(Side::Lower).ok()?;
        let vectors = (0..n).flat_map(|column| (0..n).map(move |row| (row, column)));
        let vectors = vectors.map(|(row, column)| eigen.U()[(row, column)]).collect();
        let values = (0..n).map(|at| eigen.S().column_vector()[at].max(0.0)).collect();
        Some(Self { vectors, values, count: n })
    }

    /// The same for the linear kernel, by the eigenvectors of X̃ᵀX̃, where X̃ are the points with √bias as a further coordinate.
    fn of_few_dimensions(points: &[f64], dim: usize, bias: f64) -> Option<Self> {
        let n = points.len() / dim;
        let extended: Vec<f64> =
            points.chunks_exact(dim).flat_map(|x| x.iter().copied().chain([bias.sqrt()])).collect();
        let x = MatRef::from_row_major_slice(&extended, n, dim + 1);
        let eigen = (x.transpose() * x).self_adjoint_eigen(Side::Lower).ok()?;
        let along = x * eigen.U();
        let all = eigen.S().column_vector();
        let least = 1e-12 * (0..=dim).map(|at| all[at]).fold(0.0, f64::max);
        let kept: Vec<usize> = (0..=dim).filter(|&at| all[at] > least).collect();
        let entries = kept.iter().flat_map(|&at| (0..n).map(move |row| (row, at)));
        let vectors = entries.map(|(row, at)| along[(row, at)] / all[at].sqrt()).collect();
        Some(Self { vectors, values: kept.iter().map(|&at| all[at]).collect(), count: n })
    }

    /// Returns U·diag(shrink(Λ))·UᵀY, rows × classes.
    fn filtered(&self, shrink: impl Fn(f64) -> f64, classes: usize, y: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let n = self.count;
        let mut out = vec![0.0; n * classes];
        for (vector, &value) in self.vectors.chunks_exact(n).zip(&self.values) {
            let factor = shrink(value);
            for class in 0..classes {
                let along: f64 = vector.iter().enumerate().map(|(row, u)| u * y(row, class)).sum();
                let along = along * factor;
                vector.iter().enumerate().for_each(|(row, u)| out[row * classes + class] += along * u);
            }
        }
        out
    }

    fn coefficients(&self, penalty: f64, classes: usize, y: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        self.filtered(|value| 1.0 / (value + penalty), classes, y)
    }

    /// Returns the prediction for each row by a classifier without that row's label, rows × classes.
    fn leave_one_out(&self, penalty: f64, classes: usize, y: impl Fn(usize, usize) -> f64 + Copy) -> Vec<f64> {
        let n = self.count;
        let mut own = vec![0.0; n];
        for (vector, &value) in self.vectors.chunks_exact(n).zip(&self.values) {
            let factor = value / (value + penalty);
            own.iter_mut().zip(vector).for_each(|(own, u)| *own += factor * u * u);
        }
        let mut fitted = self.filtered(|value| value / (value + penalty), classes, y);
        for (row, values) in fitted.chunks_exact_mut(classes).enumerate() {
            let rest = (1.0 - own[row]).max(1e-9);
            for (class, value) in values.iter_mut().enumerate() {
                *value -= (y(row, class) - *value) * own[row] / rest;
            }
        }
        fitted
    }
}

#[cfg(test)]
mod tests {
    use homing::{Gaussian, Linear};

    use super::*;

    /// The linear kernel, which does not say that it is linear.
    #[derive(Debug)]
    struct Disguised;

    impl Kernel for Disguised {
        fn eval(&self, x: &[f64], y: &[f64]) -> f64 {
            Linear.eval(x, y)
        }
    }

    /// Two noisy clusters and a third class that is rare.
    fn world() -> (Vec<f64>, Vec<u32>) {
        let mut points = Vec::new();
        let mut labels = Vec::new();
        for i in 0..24 {
            let wobble = f64::from(i * 7 % 11) / 9.0 - 0.5;
            let class = u32::from(i % 2 == 0) + u32::from(i % 8 == 0);
            let centre = [[1.0, 0.2], [-0.8, 0.6], [0.1, -1.0]][class as usize];
            points.extend([centre[0] + 0.7 * wobble, centre[1] - 0.9 * wobble * wobble]);
            labels.push(class);
        }
        (points, labels)
    }

    #[test]
    fn leaving_one_out_equals_training_without_it() {
        let (points, labels) = world();
        let gaussian = Gaussian::new(0.7).unwrap();
        for kernel in [&Linear as &dyn Kernel, &gaussian] {
            let bias = 0.9;
            let spectrum = Spectrum::of(kernel, &points, 2, bias).unwrap();
            let y = |labels: &[u32], row: usize, class: usize| {
                f64::from(u8::from(labels[row] as usize == class)) - 1.0 / 3.0
            };
            let all = spectrum.leave_one_out(0.3, 3, |row, class| y(&labels, row, class));
            for row in 0..labels.len() {
                let (mut others, mut rest) = (points.clone(), labels.clone());
                others.drain(2 * row..2 * row + 2);
                rest.remove(row);
                let without = Spectrum::of(kernel, &others, 2, bias).unwrap();
                let coefficients = without.coefficients(0.3, 3, |row, class| y(&rest, row, class));
                for class in 0..3 {
                    let similar = others.chunks_exact(2).map(|x| kernel.eval(x, &points[2 * row..2 * row + 2]) + bias);
                    let naive: f64 = similar.enumerate().map(|(at, k)| k * coefficients[3 * at + class]).sum();
                    assert!((all[3 * row + class] - naive).abs() < 1e-8);
                }
            }
        }
    }

    #[test]
    fn few_dimensions_are_a_shorter_way_to_the_same_predictions() {
        let (points, labels) = world();
        let y = |row: usize, class: usize| f64::from(u8::from(labels[row] as usize == class)) - 1.0 / 3.0;
        let short = Spectrum::of(&Linear, &points, 2, 0.9).unwrap();
        // A kernel that does not say that it is linear takes the long way.
        let long = Spectrum::of(&Disguised, &points, 2, 0.9).unwrap();
        assert!(short.values.len() == 3 && long.values.len() == 24);
        for penalty in [1e-3, 1.0] {
            let all = short.leave_one_out(penalty, 3, y).into_iter().zip(long.leave_one_out(penalty, 3, y));
            all.for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
        }
    }

    #[test]
    fn clusters_are_recognised_by_either_kernel() {
        let (points, labels) = world();
        let gaussian = Gaussian::new(0.7).unwrap();
        for kernel in [&Linear as &dyn Kernel, &gaussian] {
            let head = Head::train(kernel, points.clone(), 2, &labels, 3).unwrap();
            assert!(head.accuracy > 0.9, "{}", head.accuracy);
            let prediction = head.predict(kernel, &[1.1, 0.1]);
            assert!(prediction.class == 0 && prediction.share > 0.4, "{prediction:?}");
        }
    }

    #[test]
    fn one_class_or_single_labels_do_not_suffice() {
        assert!(!suffices(&[]) && !suffices(&[1, 1, 1]) && !suffices(&[0, 1, 2]) && !suffices(&[0, 0, 1]));
        assert!(suffices(&[0, 0, 1, 1]));
        assert!(Head::train(&Linear, vec![1.0, 2.0], 1, &[0, 1], 2).is_none());
    }
}
