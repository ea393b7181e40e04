//! Choosing the data that teaches a model most about a task.
//!
//! Given a pool of candidate examples S and a few unlabelled examples A of the task, as embeddings, Homing picks the rows
//! of S whose labels would tell most about A. The method is *Active Few-Shot Fine-Tuning* (Hübotter et al., 2024): model
//! the network as a Gaussian process over its embeddings, and pick x to maximise the information I(f_A; y_x | D).
//!
//! ```
//! use homing::{Embeddings, Plan, Task, select};
//! use std::ops::ControlFlow;
//!
//! let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
//! let targets = [0.8f32, 0.3]; // one example of the task, no label
//! let task = Task::new(Embeddings::new(&pool[..], 2)?, Some(Embeddings::new(&targets[..], 2)?.into()));
//! let plan = Plan { strategy: "itl".parse()?, count: 2, ..Plan::default() };
//! let selection = select(&task, &plan, |_| ControlFlow::Continue(()))?;
//! assert_eq!(selection.indices(), [1, 2]);
//! println!("{:.2} nats about the target", selection.picks[1].information);
//! # Ok::<(), homing::Error>(())
//! ```
//!
//! The rows are read in the format of their file (f32, f64, f16, bf16), never copied as a whole, and need not lie in memory
//! ([`RowSource`]); a pick is one pass over them, or less. [`STRATEGIES`] lists the rules by name; [`Rule`] is the trait to
//! write another. [`explain`] says why each row was picked, [`Posterior`] is the Gaussian process itself, [`theory`] has the
//! guarantees, [`laplace`] a covariance Σ of a network's last layer.
#![forbid(unsafe_code)]

/// The README's example, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod algebra;
mod choose;
mod copies;
mod duplicates;
mod embeddings;
mod error;
mod evidence;
mod explain;
mod greedy;
mod interrupt;
mod irreducible;
mod kernels;
pub mod laplace;
mod law;
mod ledger;
mod partition;
mod points;
mod posterior;
mod projection;
mod random;
mod range;
mod round;
pub mod rules;
mod scale;
mod select;
mod selection;
mod source;
mod span;
mod speculate;
mod speculate_dual;
mod strategy;
mod targets;
mod task;
pub mod theory;
mod threads;
mod tracker;

pub use duplicates::{Duplicates, NEAR, duplicates};
pub use embeddings::{Embeddings, Values};
pub use error::{Error, Result};
pub use evidence::{NoiseFit, fit_noise};
pub use explain::{Explanation, TargetStory, Why, closest_pick, explain};
pub use greedy::Greedy;
pub use interrupt::Interrupt;
pub use irreducible::irreducible_vars;
pub use kernels::{
    Gaussian, Kernel, Laplace, Linear, Matern, Precomputed, Product, Scaled, fold_covariance, kernel_named,
};
pub use points::Points;
pub use posterior::Posterior;
pub use projection::Projection;
pub use rules::{Candidate, Rule, Wants};
pub use scale::{Scale, scale};
pub use select::{Progress, select};
pub use selection::{Ended, Pick, Selection};
pub use source::RowSource;
pub use span::Span;
pub use strategy::{Batch, Choice, Entry, STRATEGIES, Space, Strategy};
pub use targets::TargetSampling;
pub use task::{Engine, Noise, Plan, Stop, Task};
pub use threads::thread_pool;
