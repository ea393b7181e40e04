//! Estimates of the noise from values.

use homing::diagnose::fit_noise;
use homing::{Linear, Matern};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::oracle::{Matrix, gram, points, rng, uniform_rows, view};

/// Returns an approximately standard normal number: the sum of twelve uniform ones.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| rng.random_range(-0.5..0.5)).sum()
}

/// Returns −½ yᵀC⁻¹y − ½ ln|C| − n/2·ln 2π for C = s²(K + ρ²I) and centred y, by elimination.
fn ln_likelihood(k: &Matrix, y: &[f64], noise_var: f64, scale: f64) -> f64 {
    let n = y.len();
    let mean = y.iter().sum::<f64>() / n as f64;
    let mut c: Matrix =
        (0..n).map(|i| (0..n).map(|j| scale * (k[i][j] + if i == j { noise_var } else { 0.0 })).collect()).collect();
    let mut rest: Vec<f64> = y.iter().map(|y| y - mean).collect();
    let mut sum = -0.5 * n as f64 * std::f64::consts::TAU.ln();
    for p in 0..n {
        sum -= 0.5 * (c[p][p].ln() + rest[p] * rest[p] / c[p][p]);
        for i in p + 1..n {
            let factor = c[i][p] / c[p][p];
            rest[i] -= factor * rest[p];
            for j in p..n {
                c[i][j] -= factor * c[p][j];
            }
        }
    }
    sum
}

#[test]
fn the_fit_is_the_maximum_of_the_likelihood() {
    let mut rng = rng(1);
    let rows = uniform_rows(&mut rng, 40, 2);
    let flat = view(&rows);
    let kernel = Matern::new(1.5, 0.6).unwrap();
    let y: Vec<f64> = rows.iter().map(|x| 3.0 + (2.0 * x[0]).sin() + 0.5 * normal(&mut rng)).collect();
    let fit = fit_noise(&kernel, points(&flat, 2), &y, 0).unwrap();
    let k = gram(&kernel, &rows);
    let at = |noise_var: f64, scale: f64| ln_likelihood(&k, &y, noise_var, scale);
    let best = at(fit.noise_var, fit.scale);
    assert!((best - fit.ln_likelihood).abs() < 1e-8, "{best} {}", fit.ln_likelihood);
    assert!(!fit.is_at_edge && fit.rows == 40, "{fit:?}");
    for factor in [0.2, 0.8, 0.99, 1.01, 1.25, 5.0] {
        assert!(at(fit.noise_var * factor, fit.scale) < best && at(fit.noise_var, fit.scale * factor) < best);
        assert!(at(fit.noise_var * factor, fit.scale / factor) < best);
    }
}

/// Values drawn from the model itself, for several noises and more rows than the fit uses.
#[test]
fn the_noise_of_drawn_values_is_found() {
    for (seed, noise_var) in [(2, 0.01f64), (3, 0.3), (4, 5.0)] {
        let mut rng = rng(seed);
        let rows = uniform_rows(&mut rng, 1500, 8);
        let flat = view(&rows);
        let (weights, scale) = ((0..8).map(|_| normal(&mut rng)).collect::<Vec<f64>>(), 7.0);
        let y: Vec<f64> = rows
            .iter()
            .map(|x| {
                scale * (x.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + noise_var.sqrt() * normal(&mut rng))
            })
            .collect();
        let fit = fit_noise(&Linear, points(&flat, 8), &y, 0).unwrap();
        assert_eq!(fit.rows, 1024);
        // In the values' own units, the noise is estimated to a few per cent. Eight weights determine the scale only to
        // about a half.
        let drawn = scale * scale * noise_var;
        assert!((fit.noise_var * fit.scale / drawn - 1.0).abs() < 0.15, "{noise_var}: {fit:?}");
        let norm = weights.iter().map(|w| w * w).sum::<f64>() / 8.0;
        assert!((fit.scale / (scale * scale * norm) - 1.0).abs() < 0.5, "{noise_var}: {fit:?}");
    }
}

/// Classes as columns of ones and zeros, and values without signal.
#[test]
fn labels_are_columns_and_pure_noise_is_recognised() {
    let mut rng = rng(5);
    let rows = uniform_rows(&mut rng, 200, 4);
    let flat = view(&rows);
    let kernel = Matern::new(2.5, 1.0).unwrap();
    let class = |x: &[f64]| usize::from(x[0] > 0.0) + usize::from(x[1] > 0.5);
    let one_hot: Vec<f64> = rows.iter().flat_map(|x| (0..3).map(move |c| f64::from(u8::from(class(x) == c)))).collect();
    let fit = fit_noise(&kernel, points(&flat, 4), &one_hot, 0).unwrap();
    assert!(fit.noise_var < 1.0 && !fit.is_at_edge, "{fit:?}");
    let noise: Vec<f64> = (0..200).map(|_| normal(&mut rng)).collect();
    let fit = fit_noise(&kernel, points(&flat, 4), &noise, 0).unwrap();
    assert!(fit.noise_var > 3.0, "{fit:?}");
}
