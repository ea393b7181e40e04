//! The paper's theory: every number compared with its definition, and every step of a proof as a law over random problems.

mod agnostic;
mod capacity;
mod convergence;
mod dense;
mod evidence;
mod inequalities;
mod information;
mod markov;
mod reach;
mod sampling;
mod submodularity;
