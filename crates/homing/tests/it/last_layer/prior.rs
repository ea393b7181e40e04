//! Estimates of the prior precision.

use homing::last_layer::Curvature;

use super::network::{ALL, Network};
use crate::oracle::ln_det;

#[test]
fn the_evidence_is_that_of_the_dense_determinant() {
    for (network, tau) in super::cases() {
        let mode = network.mode();
        let weights_sq: f64 = network.weights.iter().flatten().map(|w| w * w).sum();
        assert!((mode.ln_likelihood + network.cross_entropy(&network.weights)).abs() < 1e-12);
        assert!((mode.weights_sq - weights_sq).abs() < 1e-12);
        for approximation in ALL {
            let curvature = Curvature::new(&network.layer(), approximation).unwrap();
            let precision = network.precision(approximation, tau);
            let count = precision.len();
            let determinant = ln_det(&precision, &(0..count).collect::<Vec<_>>(), 0.0);
            let want = mode.ln_likelihood - 0.5 * tau * weights_sq + 0.5 * (count as f64 * tau.ln() - determinant);
            let got = curvature.ln_evidence(&mode, tau);
            assert!((got - want).abs() < 1e-10 * (1.0 + want.abs()), "{approximation:?}: {got} {want}");
        }
    }
}

#[test]
fn the_precision_found_is_the_best_of_a_grid() {
    for (network, _) in super::cases() {
        let mode = network.mode();
        for approximation in ALL {
            let curvature = Curvature::new(&network.layer(), approximation).unwrap();
            let fit = curvature.fit_prior(&mode).unwrap();
            assert_eq!(fit.ln_evidence, curvature.ln_evidence(&mode, fit.precision));
            let (step, evidence) = (0.01, |ln: f64| curvature.ln_evidence(&mode, ln.exp()));
            let best = (-3000..3000).map(|i| f64::from(i) * step).max_by(|a, b| evidence(*a).total_cmp(&evidence(*b)));
            let best = best.unwrap();
            assert!((fit.precision.ln() - best).abs() <= step, "{approximation:?}: {} {}", fit.precision.ln(), best);
            assert!(fit.ln_evidence >= evidence(best) - 1e-12);
            // MacKay's fixed point.
            assert!((fit.determined - fit.precision * mode.weights_sq).abs() < 1e-9 * fit.determined);
        }
    }
}

/// The slope in ln τ is ½(γ − τ‖W‖²).
#[test]
fn determined_weights_are_the_slope_of_the_determinant() {
    let network = Network::new(4, (5, 4, 3), true);
    for approximation in ALL {
        let curvature = Curvature::new(&network.layer(), approximation).unwrap();
        for tau in [1e-3, 0.2, 7.0] {
            let at = |shift: f64| curvature.ln_det(f64::exp(f64::ln(tau) + shift));
            let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
            let got = curvature.determined(tau);
            assert!((curvature.weights() as f64 - slope - got).abs() < 1e-6, "{approximation:?}: {got} {slope}");
        }
    }
}
