//! Whole runs: each rule with each seed, in separate folders.

mod data;
mod folder;
mod history;
mod label_file;
mod predictions;
mod record;
mod results;
mod spec;
mod split;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use homing_pool::{read_file, write_beside};

pub use data::RunData;
pub use folder::{RunFolder, RunPlan};
pub use label_file::LabelFault;
pub use record::RuleRun;
pub use results::{RoundResult, RunResults, TaskShare};
pub use spec::{DataSpec, NetworkSpec, RunSpec, TaskSpec};
pub use split::DataSplit;

use crate::algorithm::{RoundTiming, fine_tune};
use crate::labels::Oracle;
use crate::{Error, Result};

/// Progress of a run.
pub enum RunEvent<'a> {
    /// A rule with a seed starts or continues.
    Opened {
        /// Number of rounds that are already done.
        rounds: usize,
    },
    /// A round is done.
    Round {
        /// The rule.
        rule: &'a str,
        /// The seed.
        seed: u64,
        /// Accuracy on the test examples, if there are any.
        accuracy: Option<f64>,
        /// Share of the picks so far that belong to the task, if that is known.
        task_share: Option<f64>,
    },
}

/// Runs each rule with each seed in `folder`, or continues an interrupted run. `person` labels if the labels come from a
/// person.
pub fn run(
    folder: &Path,
    spec: &RunSpec,
    data: &RunData,
    person: &mut dyn Oracle,
    mut progress: impl FnMut(RunEvent<'_>),
) -> Result<RunResults> {
    let rules = spec.rules();
    let mut results = RunResults::new(rules.iter().map(ToString::to_string));
    for seed in spec.each_seed() {
        let split = data.split(spec, seed)?;
        let problem = split.problem();
        for &rule in &rules {
            let settings = spec.settings(data, rule, seed);
            let mut run = RuleRun::open(&folder.join(rule_folder(rule.name(), seed)), &problem, &settings)?;
            if let Some(reason) = data.other_label(spec, run.rounds()) {
                return Err(Error::Record { path: run.folder().into(), reason });
            }
            progress(RunEvent::Opened { rounds: run.rounds().len() });
            let mut learner = data.learner(spec)?;
            let mut own = data.oracle(spec, folder)?;
            let oracle: &mut dyn Oracle = match &mut own {
                Some(own) => &mut **own,
                None => person,
            };
            let mut share = TaskShare::new(run.rounds(), &split);
            let times = run.folder().join("times.csv");
            fine_tune(&problem, &settings, &mut *learner, oracle, &mut run, |round, timing| {
                keep_time(&times, round.round, timing)?;
                share.count(round, &split);
                let (accuracy, task_share) = (round.accuracy, share.value());
                progress(RunEvent::Round { rule: rule.name(), seed, accuracy, task_share });
                Ok(())
            })?;
            results.add(rule.name(), seed, run.rounds(), &split);
        }
    }
    Ok(results)
}

/// Returns the name of the folder of a rule with a seed.
fn rule_folder(rule: &str, seed: u64) -> String {
    format!("{rule}-{seed}")
}

/// Returns the path of the network of a rule with a seed after all rounds.
fn network_path(folder: &Path, rule: &str, seed: u64) -> PathBuf {
    folder.join(rule_folder(rule, seed)).join("model.safetensors")
}

/// Limit on the bytes of `times.csv`.
const MOST_TIMES: u64 = 1 << 28;

/// Adds a row to `times.csv`, the durations of the rounds, which are not part of the result of a run.
fn keep_time(path: &Path, round: usize, timing: RoundTiming) -> io::Result<()> {
    let mut table = if path.try_exists()? {
        read_file(path, MOST_TIMES).map_err(io::Error::other)?
    } else {
        b"round,choosing,learning\n".to_vec()
    };
    writeln!(table, "{round},{:.4},{:.4}", timing.choosing.as_secs_f64(), timing.learning.as_secs_f64())?;
    write_beside(path, |file| file.write_all(&table)).map_err(io::Error::other)
}
