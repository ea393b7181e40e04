//! Whether what is asked for can be, wherever it comes from: a command line, an experiment, or the plan of a run.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use homing::Strategy;

use super::Asked;
use super::setup::Setup;

/// Seeds are below this, since each is a number of 32 bits.
const SEEDS: u64 = 1 << 32;
/// Seeds of one run.
const MOST_SEEDS: u64 = 10_000;
/// Letters of a rule's name that are looked at.
const MOST_LETTERS: usize = 100;
/// Epochs of one round.
const MOST_EPOCHS: usize = 1_000_000;

impl Asked {
    /// The same, where every setting is in its range by itself.
    pub fn checked(self) -> Result<Self> {
        let (choosing, learning, task) = (&self.choosing, &self.learning, &self.task);
        let labels = Some(Path::new(&choosing.labels));
        let paths = [
            ("DATA", Some(self.data())),
            ("--targets", task.targets.as_deref()),
            ("--weights", learning.weights.as_deref()),
            ("--label-file", self.open.label_file.as_deref()),
            ("--labels", labels),
        ];
        if let Some((name, _)) =
            paths.into_iter().find(|(_, path)| path.is_some_and(|path| path.as_os_str().is_empty()))
        {
            bail!("{name} is empty; name a file{}", if name == "--labels" { ", or say data or ask" } else { "" });
        }
        let counts = [
            ("--size", self.open.size()),
            ("--target-count", task.target_count),
            ("--pool-count", task.pool_count),
            ("--rounds", Some(choosing.rounds)),
            ("--batch-size", Some(choosing.batch_size)),
            ("--targets-a-round", choosing.targets_a_round),
            ("--patience", Some(learning.patience)),
            ("--most-epochs", Some(learning.most_epochs)),
            ("--step-size", Some(learning.step_size)),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == Some(0)) {
            bail!("{name} is 0; give at least 1");
        }
        let epochs = [("--epochs", learning.epochs), ("--most-epochs", Some(learning.most_epochs))];
        if let Some((name, Some(count))) = epochs.into_iter().find(|(_, count)| *count > Some(MOST_EPOCHS)) {
            bail!("{name} is {count}; give at most {MOST_EPOCHS}");
        }
        if !(1..=MOST_SEEDS).contains(&self.seeds) {
            bail!("--seeds is {}; give a number from 1 to {MOST_SEEDS}", self.seeds);
        }
        if self.seed.checked_add(self.seeds).is_none_or(|end| end > SEEDS) {
            bail!("--seed {} with {} seeds goes beyond {}; give a smaller one", self.seed, self.seeds, SEEDS - 1);
        }
        for (class, share) in task.thin_pool.iter().chain(&task.thin_targets) {
            if !(0.0..=1.0).contains(share) {
                bail!("the share of {class:?} to leave out is {share}; give one from 0 to 1");
            }
        }
        if task.task.iter().flatten().any(String::is_empty) {
            bail!("--task has a class without a name; name its classes with a comma between each two");
        }
        // Folders are named after them. No rule has a name so long that the rest of it counts.
        for rule in self.rules() {
            rule.chars().take(MOST_LETTERS).collect::<String>().parse::<Strategy>()?;
        }
        Ok(self)
    }

    /// The same with paths that hold from any folder.
    pub fn rooted(mut self) -> Result<Self> {
        let root = |path: &mut PathBuf| -> Result<()> {
            if path.exists() {
                *path = std::path::absolute(&*path)?;
            }
            text_of(path).map(drop)
        };
        self.paths().into_iter().flatten().try_for_each(root)?;
        if self.has_label_file() {
            self.choosing.labels = text_of(&std::path::absolute(&self.choosing.labels)?)?;
        }
        Ok(self)
    }

    /// Refuses what cannot be with these data, before anything is written.
    pub fn check(&self, setup: &Setup) -> Result<()> {
        for seed in self.each_seed() {
            let split = setup.split(self, seed)?;
            for rule in self.rules() {
                self.settings(setup, &rule, seed)?.check(&split.problem())?;
            }
        }
        setup.learner(self).map(drop)
    }

    /// Files and folders that are read.
    pub fn reads(&self) -> impl Iterator<Item = &Path> {
        let paths = [&self.data, &self.task.targets, &self.learning.weights, &self.open.label_file];
        let labels = self.has_label_file().then(|| Path::new(&self.choosing.labels));
        paths.into_iter().flatten().map(PathBuf::as_path).chain(labels).filter(|path| path.exists())
    }

    /// The seeds, one after the other.
    pub fn each_seed(&self) -> Range<u64> {
        self.seed..self.seed.saturating_add(self.seeds)
    }
}

/// A path as the text that stands for it in a plan.
fn text_of(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => bail!("{} is not written in UTF-8, as the plan of a run is; rename it", path.display()),
    }
}
