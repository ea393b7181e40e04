//! Laws that the crate keeps, against an oracle that is plainly right.

mod chance;
mod contract;
mod engines;
mod explanations;
mod hard_cases;
mod limits;
mod map;
mod oracle;
mod paper;
mod picks;
mod reference;
mod target_spaces;
mod theory;
