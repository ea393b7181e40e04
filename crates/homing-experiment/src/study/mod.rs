//! The study of the defaults: which rule, noise and preparation of the rows are best for a classifier on the picks.
//!
//! A [`Scene`] is a task on a pool: a few classes of a data set, unlabelled targets of these classes, and a pool, which is used as it
//! is or with a flaw that real pools have. In every scene, every [`Setting`] picks rows, and a probe learns from their labels. The
//! probe's accuracy on other examples of the task is compared with that of the baseline.

mod choice;
mod data;
mod probe;
mod results;
mod scene;
mod setting;

pub use choice::{Choice, HeldOut, Score, choose, held_out, scores};
pub use data::StudyData;
pub use results::{StudyRow, read_study, write_study};
pub use scene::{CONDITIONS, Condition, Scene, SceneName};
pub use setting::{BASELINE, Setting, settings};

/// Numbers of picks after which the probe learns.
pub const BUDGETS: [usize; 4] = [10, 20, 50, 100];

/// Runs every setting in one scene of a data set, and returns the accuracies.
pub fn run(data: &StudyData, name: SceneName, settings: &[Setting]) -> homing::Result<Vec<StudyRow>> {
    let scene = Scene::new(data, name);
    settings.iter().map(|setting| Ok(StudyRow::new(&scene.name, setting, scene.accuracies(setting)?))).collect()
}
