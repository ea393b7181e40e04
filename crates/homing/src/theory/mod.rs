//! The paper's theory as numbers: what a pool can teach, what picks have achieved, and what is guaranteed.
//!
//! Every quantity is a function of a [`Model`]: a Gaussian process with its pool S, targets A, noise ρ² and observations
//! D_n.
//!
//! | paper | item |
//! |---|---|
//! | γ_n, Section 2, Table 3 | [`capacity`], [`exact_capacity`], [`greedy_capacity`]; [`linear_growth`] and the other rates |
//! | η²_S, σ²_n, Section 3.1 | [`Model::irreducible_vars`], [`Model::target_vars`]; [`reach`] for pools of any size |
//! | Γ_n, Eq. 6 | [`Model::objective`] |
//! | Theorem 3.1, Theorem D.1, Lemma D.2 | [`reducible_bound`], [`variance_bound`], [`sharp_variance_bound`], [`objective_bound`], [`bound_within_pool`], [`trajectory`], with the [`Constants`] |
//! | Theorem 3.2, Lemma D.11 | [`confidence_width`], [`calibrated_width`], [`confidence_interval`], [`generalization_bound`], [`Simulation`] |
//! | κ_n(k), Definition C.1, Theorem C.2 | [`submodularity_ratio`], [`exact_ratio`], [`bounded_ratio`], [`guarantee`] |
//! | Definition D.3, Lemmas D.4 and D.7 | [`boundary`], [`undirected_boundary`], [`boundary_size`] |
//! | Lemma F.1 | [`sampling_bound`], [`simulate_sampling`] |
//!
//! ```
//! use homing::theory::{Model, capacity, submodularity_ratio};
//! use homing::{Embeddings, Noise, Task};
//!
//! let pool = [1.0, 0.0, 0.9, 0.1, 0.0, 0.4];
//! let targets = [0.8, 0.3];
//! let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
//! let model = Model::new(task, Noise::Std(0.5))?;
//! let after = model.given(&[1])?;
//! assert!(after.target_vars()[0] < model.target_vars()[0]);
//! assert!(after.objective().value <= model.objective().value);
//! assert!(model.objective().value <= capacity(&model, 1)?.upper);
//! assert!(submodularity_ratio(&model, &[1, 0], 0)?.upper <= 1.0);
//! # Ok::<(), homing::Error>(())
//! ```

mod agnostic;
mod capacity;
mod chain;
mod constants;
mod convergence;
mod growth;
mod markov;
mod model;
mod ratio;
mod ratio_bounds;
mod reach;
mod rkhs;
mod sampling;
mod submodularity;

pub use agnostic::{calibrated_width, confidence_interval, confidence_width, generalization_bound};
pub use capacity::{Capacity, capacity, exact_capacity, greedy_capacity};
pub use constants::Constants;
pub use convergence::{
    TrajectoryPoint, bound_within_pool, objective_bound, reducible_bound, sharp_variance_bound, trajectory,
    variance_bound,
};
pub use growth::{capacity_by_rank, gaussian_growth, laplace_growth, linear_growth, matern_growth};
pub use markov::{Boundary, boundary, boundary_size, undirected_boundary};
pub use model::{Model, Objective};
pub use ratio::{Ratio, guarantee};
pub use ratio_bounds::bounded_ratio;
pub use reach::{Reach, reach};
pub use rkhs::{RkhsFunction, Simulation};
pub use sampling::{SamplingBound, sampling_bound, simulate_sampling};
pub use submodularity::{exact_ratio, submodularity_ratio};
