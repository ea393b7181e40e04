//! Networks, their embeddings, and the loop that chooses, labels and fine-tunes.
//!
//! [`fine_tune`] is Algorithm 1 for one rule and one seed, with any [`Learner`]. [`run()`] does the work of
//! `homing finetune`: a [`RunSpec`] describes the run and [`RunData`] holds the examples. Each rule with each seed has its own
//! folder, from which an interrupted run can be resumed.

mod algorithm;
mod candidates;
mod conv;
mod device;
mod draw;
mod embed;
mod error;
mod labels;
mod learner;
mod lock;
pub mod models;
mod network;
mod remedy;
mod run;
mod sigma;
mod statistics;
mod strategy;
mod targets;
mod text;
mod weights;

pub use algorithm::{
    ChoosingSettings, LabelledPick, LearningSettings, Problem, RoundRecord, RoundTiming, Settings, fine_tune,
};
pub use candidates::Candidates;
pub use device::device;
pub use draw::{Draw, Dropout};
pub use embed::{Embedder, EmbeddingKind, ExampleEmbeddings, Sketch};
pub use error::{Error, Result};
pub use homing_data::Inputs;
pub use labels::{Answer, KnownLabels, LabelSource, Oracle, Question};
pub use learner::{
    AdamSettings, Epoch, Examples, LabelledExamples, Learner, Lesson, LessonCurve, LessonEnd, Prediction, accuracy,
};
pub use lock::lock_file;
pub use network::{Net, Network};
pub use remedy::{NameSet, Parameter, PathParameter, Remedy};
pub use run::{
    DataSpec, DataSplit, LabelFault, NetworkSpec, RoundResult, RuleRun, RunData, RunEvent, RunFolder, RunPlan,
    RunResults, RunSpec, TaskShare, TaskSpec, run,
};
pub use sigma::Sigma;
pub use statistics::{CurvePoint, Observation, learning_curve, mean_and_error};
pub use strategy::NamedStrategy;
pub use targets::RoundTargets;
pub use text::some_of;
pub use weights::read_weights;
