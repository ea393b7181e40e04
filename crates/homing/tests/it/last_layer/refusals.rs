//! Inputs that a Laplace approximation refuses.

use homing::last_layer::{Approximation, Curvature, LastLayer, MOST_WEIGHTS, Mode};
use homing::{Embeddings, Error};

use super::network::{ALL, Network};

fn view(values: &[f64], dim: usize) -> Embeddings<'_> {
    Embeddings::new(values, dim).unwrap()
}

#[test]
fn a_full_covariance_of_a_large_layer() {
    let network = Network::new(0, (2, 256, 9), true);
    let layer = network.layer();
    let error = Curvature::new(&layer, Approximation::Full).unwrap_err();
    assert_eq!(error, Error::LayerTooLarge { weights: 257 * 9, most: MOST_WEIGHTS });
    assert!(error.to_string().contains("choose `Approximation::Kronecker`"), "{error}");
    let sigma = Curvature::new(&layer, Approximation::Kronecker).unwrap().covariance(1.0).unwrap();
    assert!(sigma.dense().is_err());
}

#[test]
fn values_of_another_layer() {
    let network = Network::new(0, (4, 3, 2), true);
    let (three, two) = ([0.5; 3], [0.5; 2]);
    assert!(LastLayer::new(view(&three, 3), view(&[0.5; 4], 2), true).is_err(), "one example, two probabilities");
    let logits = LastLayer::new(view(&three, 3), view(&[2.0, -1.0], 2), true).unwrap_err();
    assert!(logits.to_string().contains("softmax"), "{logits}");
    assert!(LastLayer::new(view(&[f64::NAN; 3], 3), view(&two, 2), true).is_err());
    let layer = network.layer();
    assert!(layer.weighted(&[1.0; 3]).is_err(), "four examples");
    let error = layer.weighted(&[1.0, 2.0, 0.0, 1.0]).unwrap_err();
    assert!(error.to_string().starts_with("row 2 of the weights of examples is 0"), "{error}");
    for approximation in ALL {
        let vast = [1e200; 3];
        let layer = LastLayer::new(view(&vast, 3), view(&two, 2), true).unwrap();
        assert!(Curvature::new(&layer, approximation).unwrap_err().to_string().contains("scale the layer"));
        let sigma = Curvature::new(&network.layer(), approximation).unwrap().covariance(1.0).unwrap();
        assert!(sigma.loss_gradients(view(&three, 3), view(&two, 2)).is_ok());
        let error = sigma.loss_gradients(view(&two, 2), view(&two, 2)).unwrap_err();
        assert_eq!(error, Error::Layer { what: "hidden layers", got: 2, expected: 3 });
        assert!(sigma.loss_gradients(view(&three, 3), view(&[0.25; 4], 4)).is_err());
        assert!(sigma.last_layer(view(&two, 2)).is_err());
        for tau in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
            let refused = Curvature::new(&network.layer(), approximation).unwrap().covariance(tau).err().unwrap();
            assert!(matches!(refused, Error::Setting { .. }), "{tau}");
        }
    }
}

#[test]
fn a_mode_that_does_not_fit_or_holds_no_information() {
    let network = Network::new(0, (4, 3, 2), true);
    let layer = network.layer();
    let weights = [0.5; 8];
    assert!(Mode::new(&layer, view(&weights, 2), &[0, 1, 0, 1]).is_ok());
    assert!(Mode::new(&layer, view(&weights, 4), &[0, 1, 0, 1]).is_err());
    assert!(Mode::new(&layer, view(&weights[..6], 2), &[0, 1, 0, 1]).is_err(), "the bias is missing");
    assert!(Mode::new(&layer, view(&weights, 2), &[0, 1, 0]).is_err());
    let error = Mode::new(&layer, view(&weights, 2), &[0, 1, 2, 1]).unwrap_err();
    assert!(error.to_string().starts_with("row 2 of the labels is 2"), "{error}");

    let certain = [1.0, 0.0, 0.0, 1.0];
    let hidden = [1.0, 2.0, -1.0, 0.5];
    let layer = LastLayer::new(view(&hidden, 2), view(&certain, 2), false).unwrap();
    for approximation in ALL {
        let mode = |weights_sq| Mode { ln_likelihood: 0.0, weights_sq };
        let error = Curvature::new(&layer, approximation).unwrap().fit_prior(&mode(1.0)).unwrap_err();
        assert!(error.to_string().contains("certain of every"), "{error}");
        let error = Curvature::new(&network.layer(), approximation).unwrap().fit_prior(&mode(0.0)).unwrap_err();
        assert!(error.to_string().contains("all zero"), "{error}");
    }
}
