//! The probe: multinomial logistic regression on the picks.

use std::collections::BTreeMap;

use homing::{Kernel, Linear};

/// Largest number of steps of accelerated gradient descent, and the gradient at which it ends.
const STEPS: usize = 250;
const GRADIENT: f64 = 1e-4;

/// Mean length to which the picks are scaled. It sets the strength of the penalty ½‖W‖² of the weights.
const LENGTH: f64 = 3.0;

/// Inner products of rows that may be picked with one another and with test rows. Several selections from one pool share most
/// of their picks, so the products are computed once.
pub struct Probe<'a> {
    places: BTreeMap<usize, usize>,
    gram: Vec<f64>,
    with_test: Vec<f64>,
    test_classes: &'a [usize],
}

impl<'a> Probe<'a> {
    /// Creates a probe for some rows of a pool and for the test rows, all with `dim` numbers.
    pub fn new(pool: &[f32], mut rows: Vec<usize>, test: &[f32], test_classes: &'a [usize], dim: usize) -> Self {
        rows.sort_unstable();
        rows.dedup();
        let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let picked: Vec<f64> = rows.iter().flat_map(|row| wide(&pool[row * dim..(row + 1) * dim])).collect();
        let mut gram = vec![0.0; rows.len() * rows.len()];
        let mut with_test = vec![0.0; rows.len() * test_classes.len()];
        Linear.block(&picked, &picked, dim, &mut gram);
        Linear.block(&picked, &wide(test), dim, &mut with_test);
        let places = rows.into_iter().enumerate().map(|(place, row)| (row, place)).collect();
        Self { places, gram, with_test, test_classes }
    }

    /// Returns the share of test rows whose class a logistic regression on the picks predicts correctly. It knows only the classes of
    /// the picks. The mean of the picks is subtracted from all rows.
    pub fn accuracy(&self, picks: &[usize], classes: &[usize]) -> f64 {
        let (n, all) = (picks.len(), self.places.len());
        let places: Vec<usize> = picks.iter().map(|row| self.places[row]).collect();
        let rows: Vec<f64> = places.iter().flat_map(|i| places.iter().map(move |j| self.gram[i * all + j])).collect();
        let means: Vec<f64> = rows.chunks_exact(n).map(|row| row.iter().sum::<f64>() / n as f64).collect();
        let mean = means.iter().sum::<f64>() / n as f64;
        let size = (0..n).map(|i| rows[i * n + i] - 2.0 * means[i] + mean).sum::<f64>() / n as f64;
        let scale = if size > 0.0 { LENGTH * LENGTH / size } else { 0.0 };
        // Inner products of centred rows, with a constant feature for the intercept.
        let mut gram = rows;
        for (row, of_row) in gram.chunks_exact_mut(n).zip(&means) {
            row.iter_mut().zip(&means).for_each(|(x, of_other)| *x = scale * (*x - of_row - of_other + mean) + 1.0);
        }
        let mut known: Vec<usize> = classes.to_vec();
        known.sort_unstable();
        known.dedup();
        let place: Vec<usize> = classes.iter().map(|c| known.binary_search(c).expect("it is among them")).collect();
        let weights = fit(&gram, &place, known.len());

        let is_right = |(products, class): (&[f64], &usize)| {
            let products: Vec<f64> = places.iter().map(|&i| products[i]).collect();
            let of_test = products.iter().sum::<f64>() / n as f64;
            let score = |weights: &[f64]| -> f64 {
                let product = |(x, of_pick): (&f64, &f64)| scale * (x - of_test - of_pick + mean) + 1.0;
                products.iter().zip(&means).zip(weights).map(|(at, weight)| product(at) * weight).sum()
            };
            let scores: Vec<f64> = weights.chunks_exact(n).map(score).collect();
            let best = (1..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best });
            known[best] == *class
        };
        let right = self.with_test.chunks_exact(all).zip(self.test_classes).filter(|&at| is_right(at)).count();
        right as f64 / self.test_classes.len() as f64
    }
}

/// Returns the coefficients A, n per class, of the weights W = ΣᵢφᵢAᵢ that minimise Σᵢ −ln softmax(Wφᵢ) + ½‖W‖².
fn fit(gram: &[f64], place: &[usize], classes: usize) -> Vec<f64> {
    let n = place.len();
    // The curvature is at most that of the penalty plus half the largest eigenvalue, which the largest row sum bounds.
    let largest = gram.chunks_exact(n).map(|row| row.iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max);
    let step = 1.0 / (1.0 + 0.5 * largest);
    // The objective is strongly convex with constant 1, so the momentum is constant.
    let momentum = (1.0 - step.sqrt()) / (1.0 + step.sqrt());
    let mut now = vec![0.0; n * classes];
    let mut ahead = now.clone();
    let mut gradient = now.clone();
    for _ in 0..STEPS {
        gradient.fill(0.0);
        for (scores, ahead) in gradient.chunks_exact_mut(n).zip(ahead.chunks_exact(n)) {
            // The matrix is symmetric, so its rows are its columns.
            for (row, a) in gram.chunks_exact(n).zip(ahead) {
                scores.iter_mut().zip(row).for_each(|(score, k)| *score += k * a);
            }
        }
        let mut largest = 0.0f64;
        for i in 0..n {
            let most = (0..classes).map(|c| gradient[c * n + i]).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = (0..classes).map(|c| (gradient[c * n + i] - most).exp()).sum();
            for c in 0..classes {
                let at = c * n + i;
                let share = (gradient[at] - most).exp() / total;
                gradient[at] = share - f64::from(u8::from(place[i] == c)) + ahead[at];
                largest = largest.max(gradient[at].abs());
            }
        }
        if largest < GRADIENT {
            return ahead;
        }
        for ((ahead, now), gradient) in ahead.iter_mut().zip(&mut now).zip(&gradient) {
            let next = *ahead - step * gradient;
            *ahead = next + momentum * (next - *now);
            *now = next;
        }
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_vanishes_at_the_fit() {
        let points: Vec<[f64; 2]> =
            (0..9).map(|i| [(f64::from(i) * 1.7).sin() * 3.0, (f64::from(i) * 0.9).cos()]).collect();
        let gram: Vec<f64> =
            points.iter().flat_map(|x| points.iter().map(|y| x[0] * y[0] + x[1] * y[1] + 1.0)).collect();
        let place: Vec<usize> = (0..9).map(|i| i % 3).collect();
        let fitted = fit(&gram, &place, 3);
        for i in 0..9 {
            let scores: Vec<f64> =
                (0..3).map(|c| (0..9).map(|j| gram[i * 9 + j] * fitted[c * 9 + j]).sum::<f64>()).collect();
            let total: f64 = scores.iter().map(|score| score.exp()).sum();
            for c in 0..3 {
                let residual = scores[c].exp() / total - f64::from(u8::from(place[i] == c));
                assert!((residual + fitted[c * 9 + i]).abs() < 2e-4, "{i} {c}");
            }
        }
    }

    #[test]
    fn classes_apart_are_told_apart_and_unknown_ones_are_missed() {
        // The pool's first and last rows are not picked.
        let pool = [9.0, 9.0, 3.0, 0.0, 2.5, 0.2, 0.0, 3.0, 0.1, 2.0, 7.0, 7.0];
        let accuracy = |classes: &[usize], test: &[f32], of_test: &[usize]| {
            Probe::new(&pool, vec![4, 1, 2, 3, 1], test, of_test, 2).accuracy(&[1, 2, 3, 4], classes)
        };
        let test = [4.0, 1.0, 1.0, 4.0, 0.0, 5.0];
        assert_eq!(accuracy(&[7, 7, 2, 2], &test, &[7, 2, 2]), 1.0);
        assert_eq!(accuracy(&[7, 7, 2, 2], &test, &[7, 2, 9]), 2.0 / 3.0);
        assert_eq!(accuracy(&[5, 5, 5, 5], &test, &[5, 5, 1]), 2.0 / 3.0);
    }
}
