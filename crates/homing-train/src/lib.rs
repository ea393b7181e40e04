//! Networks, their embeddings, and the loop that chooses, labels and fine-tunes.

mod algorithm;
mod candidates;
mod device;
mod draw;
mod embed;
mod error;
mod history;
mod labels;
mod learner;
pub mod models;
mod network;
mod run;
mod sigma;
mod weights;

pub use algorithm::{Pick, Problem, Round, Settings, Spent, fine_tune};
pub use candidates::{All, Nearest, Sample, Source, source};
pub use device::device;
pub use draw::{Draw, Dropout};
pub use embed::{Embedded, Embedder, Kind, Sketch};
pub use error::{Error, Result};
pub use homing_data::Inputs;
pub use labels::{Answer, Known, Oracle};
pub use learner::{Curve, Epoch, Examples, Labelled, Learner, Lesson, Look, Until, accuracy};
pub use network::{Net, Network};
pub use run::{Run, read_json, remove_left_overs, write_json};
pub use sigma::Sigma;
pub use weights::read_weights;
