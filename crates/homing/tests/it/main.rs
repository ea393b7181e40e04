//! Laws that the crate keeps, against an oracle that is plainly right.

mod chance;
mod contract;
mod drafts;
mod engines;
mod explanations;
mod hard_cases;
mod kernels;
mod limits;
mod oracle;
mod paper;
mod picks;
mod reference;
mod target_spaces;
