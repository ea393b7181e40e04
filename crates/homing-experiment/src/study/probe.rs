//! The probe: multinomial logistic regression on the picks.

/// Number of steps of accelerated gradient descent.
const STEPS: usize = 250;

/// Mean length to which the picks are scaled. It sets the strength of the penalty ½‖W‖² of the weights.
const LENGTH: f64 = 3.0;

/// Returns the share of test rows whose class a logistic regression on the picks predicts correctly. It knows only the classes of
/// the picks. The mean of the picks is subtracted from all rows.
pub fn accuracy(picks: &[&[f32]], classes: &[usize], test: &[&[f32]], test_classes: &[usize]) -> f64 {
    let (n, dim) = (picks.len(), picks[0].len());
    let mean: Vec<f64> = (0..dim).map(|j| picks.iter().map(|x| f64::from(x[j])).sum::<f64>() / n as f64).collect();
    let centred = |x: &[f32]| -> Vec<f64> { x.iter().zip(&mean).map(|(x, m)| f64::from(*x) - m).collect() };
    let rows: Vec<Vec<f64>> = picks.iter().map(|x| centred(x)).collect();
    let size = rows.iter().flatten().map(|x| x * x).sum::<f64>() / n as f64;
    let scale = if size > 0.0 { LENGTH * LENGTH / size } else { 0.0 };
    // Inner products, with a constant feature for the intercept.
    let product = |x: &[f64], y: &[f64]| scale * dot(x, y) + 1.0;
    let gram: Vec<Vec<f64>> = rows.iter().map(|x| rows.iter().map(|y| product(x, y)).collect()).collect();

    let mut known: Vec<usize> = classes.to_vec();
    known.sort_unstable();
    known.dedup();
    let place: Vec<usize> = classes.iter().map(|c| known.binary_search(c).expect("it is among them")).collect();
    let weights = fit(&gram, &place, known.len());

    let right = test.iter().zip(test_classes).filter(|(x, class)| {
        let x = centred(x);
        let mut scores = vec![0.0; known.len()];
        for (y, weights) in rows.iter().zip(&weights) {
            let k = product(&x, y);
            scores.iter_mut().zip(weights).for_each(|(score, w)| *score += k * w);
        }
        let best = (1..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best });
        known[best] == **class
    });
    right.count() as f64 / test.len() as f64
}

/// Inner product, in eight sums that the processor computes side by side.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 8];
    for (x, y) in xs.zip(ys) {
        sums.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f64>() + rest
}

/// Returns the coefficients A, one list per pick, of the weights W = ΣᵢφᵢAᵢ that minimise Σᵢ −ln softmax(Wφᵢ) + ½‖W‖².
fn fit(gram: &[Vec<f64>], place: &[usize], classes: usize) -> Vec<Vec<f64>> {
    let n = gram.len();
    // The curvature is at most that of the penalty plus half the largest eigenvalue, which the largest row sum bounds.
    let largest = gram.iter().map(|row| row.iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max);
    let step = 1.0 / (1.0 + 0.5 * largest);
    // The objective is strongly convex with constant 1, so the momentum is constant.
    let momentum = (1.0 - step.sqrt()) / (1.0 + step.sqrt());
    let mut now = vec![vec![0.0; classes]; n];
    let mut ahead = now.clone();
    for _ in 0..STEPS {
        let mut next = ahead.clone();
        for i in 0..n {
            let mut scores = vec![0.0; classes];
            for (k, a) in gram[i].iter().zip(&ahead) {
                scores.iter_mut().zip(a).for_each(|(score, a)| *score += k * a);
            }
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            scores.iter_mut().for_each(|score| *score = (*score - most).exp());
            let total: f64 = scores.iter().sum();
            for (c, (a, score)) in next[i].iter_mut().zip(&scores).enumerate() {
                let residual = score / total - f64::from(u8::from(place[i] == c));
                *a -= step * (residual + *a);
            }
        }
        for ((ahead, now), next) in ahead.iter_mut().zip(&now).zip(&next) {
            for ((ahead, now), next) in ahead.iter_mut().zip(now).zip(next) {
                *ahead = next + momentum * (next - now);
            }
        }
        now = next;
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
        let gram: Vec<Vec<f64>> =
            points.iter().map(|x| points.iter().map(|y| x[0] * y[0] + x[1] * y[1] + 1.0).collect()).collect();
        let place: Vec<usize> = (0..9).map(|i| i % 3).collect();
        let fitted = fit(&gram, &place, 3);
        for i in 0..9 {
            let scores: Vec<f64> =
                (0..3).map(|c| gram[i].iter().zip(&fitted).map(|(k, a)| k * a[c]).sum::<f64>()).collect();
            let total: f64 = scores.iter().map(|score| score.exp()).sum();
            for c in 0..3 {
                let residual = scores[c].exp() / total - f64::from(u8::from(place[i] == c));
                assert!((residual + fitted[i][c]).abs() < 1e-4, "{i} {c}");
            }
        }
    }

    #[test]
    fn classes_apart_are_told_apart_and_unknown_ones_are_missed() {
        let picks: [&[f32]; 4] = [&[3.0, 0.0], &[2.5, 0.2], &[0.0, 3.0], &[0.1, 2.0]];
        let test: [&[f32]; 3] = [&[4.0, 1.0], &[1.0, 4.0], &[0.0, 5.0]];
        assert_eq!(accuracy(&picks, &[7, 7, 2, 2], &test, &[7, 2, 2]), 1.0);
        assert_eq!(accuracy(&picks, &[7, 7, 2, 2], &test, &[7, 2, 9]), 2.0 / 3.0);
        assert_eq!(accuracy(&picks, &[5, 5, 5, 5], &test, &[5, 5, 1]), 2.0 / 3.0);
    }
}
