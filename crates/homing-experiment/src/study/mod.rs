//! The study of the defaults: which rule, kernel, noise and preparation of the rows are best for a classifier on the picks.
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

pub use choice::{Choice, HeldOut, Score, choose, held_out, scores, worth_more_scenes};
pub use data::StudyData;
use rayon::prelude::*;
pub use results::{StudyRow, read_study, write_study};
pub use scene::{CONDITIONS, Condition, Scene, SceneName};
pub use setting::{BASELINE, PAPER, PROGRAM, Setting, settings};

/// Largest number of rows of a pool.
const POOL: usize = 2000;

/// Numbers of picks after which the probe learns.
pub const BUDGETS: [usize; 4] = [10, 20, 50, 100];

/// Runs every setting in some scenes of a data set, several scenes at a time, and returns the accuracies in the order of the
/// scenes.
pub fn run(data: &StudyData, names: Vec<SceneName>, settings: &[Setting]) -> homing::Result<Vec<StudyRow>> {
    let in_scene = |name: SceneName| -> homing::Result<Vec<StudyRow>> {
        let scene = Scene::new(data, name);
        let accuracies = scene.accuracies(settings)?;
        let row = |(setting, found)| StudyRow::new(&scene.name, data.dim, setting, found);
        Ok(settings.iter().zip(accuracies).map(row).collect())
    };
    let rows: Vec<Vec<StudyRow>> = names.into_par_iter().map(in_scene).collect::<Result<_, _>>()?;
    Ok(rows.concat())
}
