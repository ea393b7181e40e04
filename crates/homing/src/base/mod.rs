//! Foundations: errors, vector arithmetic, random numbers, threads and interrupts.

pub(crate) mod algebra;
pub(crate) mod error;
pub(crate) mod interrupt;
mod message;
pub(crate) mod product;
pub(crate) mod random;
pub(crate) mod range;
pub(crate) mod remedy;
pub(crate) mod setters;
pub(crate) mod threads;
