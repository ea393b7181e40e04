//! The engines that make picks: [`plain`] takes one pass per pick, [`speculative`], [`dual`]
//! and [`turns`] make many picks per pass.
//!
//! All of them share the formulas in [`numbers`] and the comparisons in [`order`], so they make the same picks.

pub(crate) mod dual;
pub(crate) mod numbers;
pub(crate) mod order;
pub(crate) mod plain;
pub(crate) mod real;
pub(crate) mod scoring;
pub(crate) mod setup;
pub(crate) mod speculative;
pub(crate) mod stochastic;
pub(crate) mod turns;
pub(crate) mod work;
