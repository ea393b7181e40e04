//! Diagnoses: whether the input is sound, and what a pool can teach about the targets.

mod closeness;
mod diagnosis;
mod duplicates;
mod evidence;
mod nothing_learned;
mod prospect;
mod scale;
mod warnings;

pub use closeness::{Closeness, FEWEST_ROWS, Offer, TargetCloseness, closeness};
pub use diagnosis::{Descent, Diagnosis, OUT_OF_REACH, Question, TargetReach, descent};
pub use duplicates::{Duplicates, NEAR, duplicates};
pub use evidence::{FEWEST_VALUES, NoiseFit, fit_noise};
pub use nothing_learned::{NothingLearned, nothing_learned};
pub use prospect::Prospect;
pub use scale::{Scale, scale};
pub use warnings::{Advice, Warning};
