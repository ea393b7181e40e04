//! The covariance Σ of a network's last-layer weights, by a Laplace approximation (Appendix H.3; Daxberger et al. 2021).
//!
//! A network ends in logits f(x) = Wᵀh(x), where h is extended by 1 if the layer has a bias, and softmax probabilities p.
//! Under the prior N(0, τ⁻¹I) of W, the posterior given n labelled examples is approximately N(W*, Σ) with
//!
//! Σ = (H + τI)⁻¹,  H = Σᵢ (diag pᵢ − pᵢpᵢᵀ) ⊗ hᵢhᵢᵀ,
//!
//! where H is the Hessian of the cross-entropy, summed over the examples. The logits are linear in W, so H is also the
//! generalised Gauss–Newton matrix, and needs no labels. If the loss is weighted ([`LastLayer::weighted`]), each term of H
//! is multiplied by the weight of its example.
//!
//! An [`Approximation`] determines which part of H is kept, and [`Curvature::fit_prior`] estimates τ. [`Covariance`] is Σ:
//! it turns examples into points, and provides the kernel k(x, x′) = φ(x)ᵀΣφ(x′) for them.
//!
//! ```
//! use homing::last_layer::{Approximation, Curvature, LastLayer, Mode};
//! use homing::{Embeddings, Plan, Task, select};
//!
//! // Three labelled examples with two hidden units and two classes, the layer's weights (one row per unit, the bias
//! // last), and the labels.
//! let (hidden, p) = ([1.0f32, 0.2, 0.1, 0.9, 0.8, 0.3], [0.7f32, 0.3, 0.4, 0.6, 0.6, 0.4]);
//! let (weights, labels) = ([0.5f32, -0.4, -0.2, 0.6, 0.1, -0.1], [0, 1, 0]);
//! let layer = LastLayer::new(Embeddings::new(&hidden[..], 2)?, Embeddings::new(&p[..], 2)?, true)?;
//! let curvature = Curvature::new(&layer, Approximation::Kronecker)?;
//! let prior = curvature.fit_prior(&Mode::new(&layer, Embeddings::new(&weights[..], 2)?, &labels)?)?;
//! let sigma = curvature.covariance(prior.precision)?;
//!
//! // Loss gradients of a pool and of the targets, under that Σ.
//! let gradients = |h: &[f32], p: &[f32]| sigma.loss_gradients(Embeddings::new(h, 2)?, Embeddings::new(p, 2)?);
//! let pool = gradients(&[0.9, 0.1, 0.2, 0.8, -0.5, 0.4], &[0.8, 0.2, 0.3, 0.7, 0.5, 0.5])?;
//! let targets = gradients(&[0.1, 1.0], &[0.45, 0.55])?;
//! let view = |points| Embeddings::new(points, sigma.width());
//! let task = Task::new(view(&pool)?, view(&targets)?).kernel(sigma.kernel());
//! assert_eq!(select(&task, &Plan::default())?.rows(), [1]);
//! # Ok::<(), homing::Error>(())
//! ```

mod covariance;
mod curvature;
mod eigen;
mod layer;
mod prior;

pub use covariance::Covariance;
pub use curvature::{Approximation, Curvature, MOST_WEIGHTS};
pub use layer::{LastLayer, Mode};
pub use prior::PriorFit;
