//! The covariance Σ of a last layer, compared with dense Hessians.

mod network;
mod prior;
mod refusals;
mod selection;

use homing::last_layer::{Approximation, Covariance, Curvature};

use crate::oracle::{Matrix, rng, uniform_rows};
use network::{ALL, Network, apart, extended, form, inverse, square};

/// Numbers of examples, inputs and classes: fewer examples than inputs, as many, and more; more classes than inputs, and
/// fewer.
const SIZES: [(usize, usize, usize); 5] = [(1, 3, 3), (2, 4, 2), (4, 3, 3), (9, 2, 4), (12, 3, 2)];

fn covariance(network: &Network, approximation: Approximation, tau: f64) -> Covariance {
    Curvature::new(&network.layer(), approximation).unwrap().covariance(tau).unwrap()
}

fn dense(sigma: &Covariance, weights: usize) -> Matrix {
    let flat = sigma.dense().unwrap();
    square(weights, |i, j| flat[i * weights + j])
}

/// Networks and prior precisions, each with equal and with unequal weights of the examples.
fn cases() -> impl Iterator<Item = (Network, f64)> {
    let sizes = SIZES.into_iter().enumerate();
    sizes.flat_map(|(seed, size)| {
        [(true, 0.03, None), (false, 2.0, None), (true, 0.2, Some(0.3)), (false, 0.5, Some(1.7))].map(
            |(bias, tau, unit)| {
                let mut network = Network::new(seed as u64, size, bias);
                network.shares = unit.map(|unit: f64| (0..size.0).map(|i| unit * (1 + i % 4) as f64).collect());
                (network, tau)
            },
        )
    })
}

/// Integer weights of examples have the effect of as many copies, under every Σ and in the marginal likelihood.
#[test]
fn an_example_of_weight_two_is_that_example_twice() {
    let mut network = Network::new(8, (5, 3, 4), true);
    let copied: Vec<usize> = (0..5).flat_map(|i| vec![i; i + 1]).collect();
    let copies = Network::of(
        copied.iter().map(|&i| network.hidden[i].clone()).collect(),
        network.weights.clone(),
        copied.iter().map(|&i| network.labels[i]).collect(),
        true,
    );
    network.shares = Some((1..=5).map(f64::from).collect());
    for approximation in ALL {
        let of = |network: &Network| {
            let curvature = Curvature::new(&network.layer(), approximation).unwrap();
            let fit = curvature.fit_prior(&network.mode()).unwrap();
            (dense(&curvature.covariance(fit.precision).unwrap(), 16), fit.precision, fit.ln_evidence)
        };
        let ((sigma, precision, evidence), (want, of_copies, evidence_of_copies)) = (of(&network), of(&copies));
        assert!(apart(&sigma, &want) < 1e-9, "{approximation:?}");
        assert!((precision / of_copies - 1.0).abs() < 1e-9 && (evidence / evidence_of_copies - 1.0).abs() < 1e-9);
    }
}

#[test]
fn the_covariance_is_the_inverse_of_the_hessian_of_the_cross_entropy() {
    for (network, tau) in cases() {
        let mut hessian = network.hessian();
        (0..hessian.len()).for_each(|i| hessian[i][i] += tau);
        let full = dense(&covariance(&network, Approximation::Full, tau), hessian.len());
        let off = apart(&full, &inverse(&hessian));
        assert!(off < 1e-6, "full: {off}");
        let diagonal = dense(&covariance(&network, Approximation::Diagonal, tau), hessian.len());
        let want = square(hessian.len(), |i, j| if i == j { hessian[i][i].recip() } else { 0.0 });
        let off = apart(&diagonal, &want);
        assert!(off < 1e-6, "diagonal: {off}");
    }
}

#[test]
fn every_covariance_is_the_inverse_of_its_precision() {
    for (network, tau) in cases() {
        for approximation in ALL {
            let want = inverse(&network.precision(approximation, tau));
            let off = apart(&dense(&covariance(&network, approximation, tau), want.len()), &want);
            assert!(off < 1e-11, "{approximation:?}: {off}");
        }
    }
}

#[test]
fn kronecker_factors_are_the_hessian_of_one_example_and_of_equal_probabilities() {
    let one = Network::new(1, (1, 4, 3), true);
    // Only the bias has weights, so all examples have the same probabilities.
    let network = Network::new(2, (7, 3, 4), true);
    let weights: Matrix =
        network.weights.iter().enumerate().map(|(j, row)| if j == 3 { row.clone() } else { vec![0.0; 4] }).collect();
    let equal = Network::of(network.hidden.clone(), weights, network.labels.clone(), true);
    for network in [one, equal] {
        let mut hessian = network.hessian();
        (0..hessian.len()).for_each(|i| hessian[i][i] += 0.1);
        let off =
            apart(&dense(&covariance(&network, Approximation::Kronecker, 0.1), hessian.len()), &inverse(&hessian));
        assert!(off < 1e-6, "{off}");
    }
    let other = Network::new(3, (7, 3, 4), true);
    let exact = inverse(&other.precision(Approximation::Full, 0.1));
    let off = apart(&dense(&covariance(&other, Approximation::Kronecker, 0.1), exact.len()), &exact);
    assert!(off > 1e-3, "in general they are not");
}

#[test]
fn kernels_of_loss_gradients_are_the_dense_forms() {
    // Enough classes for a table of scales with fewer terms than rows.
    let large = (Network::new(9, (20, 30, 24), true), 0.05);
    for (network, tau) in cases().chain([large]) {
        let gradients = network.gradients();
        for approximation in ALL {
            let sigma = inverse(&network.precision(approximation, tau));
            let covariance = covariance(&network, approximation, tau);
            let points = covariance.loss_gradients(network.hidden(), network.probabilities()).unwrap();
            let (kernel, width) = (covariance.kernel(), covariance.width());
            let count = gradients.len();
            assert_eq!(points.len(), count * width);
            let at = |i: usize| &points[i * width..(i + 1) * width];
            let want = square(count, |i, j| form(&gradients[i], &sigma, &gradients[j]));
            let off = apart(&square(count, |i, j| kernel.eval(at(i), at(j))), &want);
            assert!(off < 1e-10, "{approximation:?}: {off}");
            let mut block = vec![0.0; count * count];
            kernel.block(&points, &points, width, &mut block);
            let off = apart(&square(count, |i, j| block[j * count + i]), &want);
            assert!(off < 1e-10, "{approximation:?}, in a block: {off}");
        }
    }
}

#[test]
fn last_layer_embeddings_have_the_mean_covariance_of_the_logits() {
    for (network, tau) in cases() {
        let others = uniform_rows(&mut rng(5), 6, network.hidden[0].len());
        let flat = others.concat();
        for approximation in ALL {
            let (classes, width) = (network.classes(), network.width());
            let sigma = inverse(&network.precision(approximation, tau));
            let covariance = covariance(&network, approximation, tau);
            let rows = covariance.last_layer(homing::Embeddings::new(&flat[..], others[0].len()).unwrap()).unwrap();
            assert_eq!((rows.len(), covariance.last_layer_width()), (6 * width, width));
            let got = square(6, |i, j| (0..width).map(|k| rows[i * width + k] * rows[j * width + k]).sum());
            let gradient = |i: usize, c: usize| -> Vec<f64> {
                let mut out = vec![0.0; classes * width];
                out[c * width..(c + 1) * width].copy_from_slice(&extended(&others[i], network.bias));
                out
            };
            let of = |i: usize, j: usize, c: usize| form(&gradient(i, c), &sigma, &gradient(j, c));
            let want = square(6, |i, j| (0..classes).map(|c| of(i, j, c)).sum::<f64>() / classes as f64);
            let off = apart(&got, &want);
            assert!(off < 1e-10, "{approximation:?}: {off}");
        }
    }
}

/// A network that is certain of all its examples leaves the prior unchanged; with τ = 1, Σ = I.
#[test]
fn without_curvature_the_covariance_is_the_prior() {
    let hidden = [0.5f32, -1.0, 2.0, 0.25, 1.0, 1.0];
    let certain = [1.0f32, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
    let view = |values, dim| homing::Embeddings::new(values, dim).unwrap();
    let layer = homing::last_layer::LastLayer::new(view(&hidden[..], 2), view(&certain[..], 3), true).unwrap();
    for approximation in ALL {
        let sigma = Curvature::new(&layer, approximation).unwrap().covariance(1.0).unwrap();
        let identity = square(9, |i, j| f64::from(u8::from(i == j)));
        assert!(apart(&dense(&sigma, 9), &identity) < 1e-14, "{approximation:?}");
    }
}
