//! Laws that the crate keeps, against an oracle that is plainly right.

mod anything;
mod chance;
mod contract;
mod drafts;
mod engines;
mod explanations;
mod extremes;
mod greedy;
mod hard_cases;
mod interrupt;
mod kernels;
mod laplace;
mod limits;
mod map;
mod oracle;
mod paper;
mod picks;
mod reference;
mod sources;
mod target_spaces;
mod theory;
mod wide;
