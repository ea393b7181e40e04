//! Laws that the crate satisfies, checked against an oracle that is obviously correct.

mod anything;
mod chance;
mod closeness;
mod contract;
mod drafts;
mod engines;
mod explanations;
mod extremes;
mod front_page;
mod greedy;
mod hard_cases;
mod interrupt;
mod kernels;
mod last_layer;
mod layers;
mod limits;
mod map;
mod oracle;
mod paper;
mod picks;
mod reference;
mod sources;
mod target_spaces;
mod theory;
mod turns;
mod wide;
