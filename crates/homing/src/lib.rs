//! Homing chooses which examples to label so that a model learns the most about a task.
//!
//! You have a large pool of examples, a few unlabelled examples of the task at hand (the targets), and an embedding of
//! each. Homing picks the rows of the pool whose labels are most informative about the targets. Each pick takes the
//! earlier ones into account, so a batch covers the targets instead of repeating the nearest neighbour.
//!
//! The method is *Active Few-Shot Fine-Tuning* (Hübotter et al., 2024). It models the network as a Gaussian process f over
//! its embeddings. From the pool S it repeatedly picks the row x that maximises the information I(f_A; y_x | D) about the
//! targets A, given the observations D so far.
//!
//! # When to use it
//!
//! - You can label, or fine-tune on, far fewer rows than you have, and you know examples of what the model will be used
//!   for.
//! - A nearest-neighbour search returns many near-duplicates, and you want rows that complement each other.
//! - You label in rounds, and each round must take earlier labels into account ([`Task::observed_rows`]).
//!
//! Without targets, the rules `undirected-itl`, `uncertainty`, `max-dist` and others choose rows that represent the pool as
//! a whole. Before you label anything, [`diagnose`] estimates how much the pool can teach about the targets.
//!
//! # Example
//!
//! ```
//! use homing::{Embeddings, Plan, Task, select};
//!
//! let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2]; // four rows of two numbers
//! let targets = [0.8f32, 0.3]; // one example of the task, without a label
//! let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
//! let plan = Plan::default().strategy("itl".parse()?).count(2);
//! let selection = select(&task, &plan)?;
//! assert_eq!(selection.rows(), [1, 2]);
//! println!("{:.2} nats about the target", selection.picks[1].information);
//! # Ok::<(), homing::Error>(())
//! ```
//!
//! Embeddings are read in the format of their file (f32, f64, f16 or bf16) and are never copied as a whole. They need not
//! fit into memory: see [`RowSource`]. A pick takes one pass over the pool, or less.
//!
//! # Where to find the rest
//!
//! | to | see |
//! |---|---|
//! | describe the data: targets, labelled rows, costs, groups, forbidden rows | [`Task`], [`Embeddings`], [`Points`] |
//! | choose the rule, the number of picks, the noise, quotas or a budget | [`Plan`] |
//! | choose rows | [`select`](select()), or [`select_with`] to watch the progress and to stop early |
//! | list the rules by name, or write another | [`STRATEGIES`], [`Rule`] |
//! | use another covariance than the inner product | [`Kernel`], [`kernel_named`] |
//! | see why each row was picked | [`explain`](explain()) |
//! | find out what a pool can teach about the targets | [`diagnose`] |
//! | work with the Gaussian process itself | [`Posterior`] |
//! | compute a covariance Σ of a network's last layer | [`last_layer`] |
//! | compute the paper's bounds and guarantees | [`theory`] |
//!
//! Every [`Error`] says what is wrong and what to do about it.
// Tests need not avoid the slow methods.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

/// Runs the examples of the book's page about Rust as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct BookPage;

mod base;
mod data;
pub mod diagnose;
mod engine;
mod explain;
mod kernels;
pub mod last_layer;
mod law;
pub mod remote;
pub mod rules;
mod select;
pub mod shard;
mod task;
pub mod theory;

pub use base::error::{Error, Result};
pub use base::interrupt::Interrupt;
pub use base::remedy::Remedy;
pub use base::threads::thread_pool;
pub use data::embeddings::Embeddings;
pub use data::joined::{JoinedValues, ValuePart};
pub use data::points::Points;
pub use data::preparation::Preparation;
pub use data::source::{RowSource, StoredValues};
pub use explain::projection::Projection;
pub use explain::{Explanation, PickReasons, TargetStory, closest_pick, explain};
pub use kernels::{
    Gaussian, Kernel, Laplace, Linear, Matern, Precomputed, Product, Scaled, fold_covariance, kernel_named,
};
pub use law::irreducible::irreducible_vars;
pub use law::posterior::Posterior;
pub use rules::strategy::{BatchMethod, PickMethod, STRATEGIES, Strategy, StrategyEntry};
pub use rules::{Candidate, Rule, Wants};
pub use select::selection::{EndReason, Pick, Selection};
pub use select::{Progress, resume_with, select, select_with};
pub use task::Task;
pub use task::greedy::Greedy;
pub use task::plan::{Engine, Noise, Plan, Stop};
pub use task::sampling::TargetSampling;
pub use task::span::SpanCoordinates;
