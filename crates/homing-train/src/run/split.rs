//! The examples of one seed: pool, targets, validation and test examples.

use std::collections::HashSet;

use homing_data::{Dataset, Inputs};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::algorithm::Problem;
use crate::learner::{Examples, LabelledExamples};
use crate::text::some_of;
use crate::{Error, Result};

use super::{RunData, RunSpec};

/// Default number of targets.
const TARGETS: usize = 30;
/// One of this many examples is held out if the data set has no test part.
const HELD_OUT: usize = 5;

/// Pool, targets, validation and test examples of one seed.
pub struct DataSplit<'a> {
    run: &'a RunData,
    /// Rows of the pool that may be chosen, in ascending order.
    pub open: Vec<usize>,
    targets: (&'a Inputs, Vec<usize>),
    valid: LabelledRows<'a>,
    test: LabelledRows<'a>,
}

impl RunData {
    /// Splits the data with a seed.
    pub fn split(&self, spec: &RunSpec, seed: u64) -> Result<DataSplit<'_>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let train = &self.data.train;
        let mut open: Vec<usize> = (0..train.inputs.len()).collect();
        let (held, mut valid): (&Dataset, Vec<usize>) = if let Some(test) = &self.data.test {
            (test, (0..test.inputs.len()).collect())
        } else {
            open.shuffle(&mut rng);
            (train, open.split_off(open.len() - open.len() / HELD_OUT))
        };
        if self.waits_for_labels(spec) {
            if self.data.test.is_none() {
                // Rows without a label cannot serve as tests.
                let (labelled, others): (Vec<usize>, Vec<usize>) =
                    valid.into_iter().partition(|&row| held.labels[row].is_some());
                open.extend(others);
                valid = labelled;
            }
        } else {
            // Nobody can say the labels of the others.
            open.retain(|&row| train.labels[row].is_some());
        }
        open.sort_unstable();
        let out = left_out(train, &open, &spec.task.thin_pool, &mut rng)?;
        open.retain(|row| !out.contains(row));
        valid.retain(|&row| held.labels[row].is_some_and(|label| self.classes[label as usize].is_some()));
        valid.shuffle(&mut rng);
        let half = valid.len() / 2;
        let mut rest = valid.split_off(half.min(spec.task.valid_count));
        let out = left_out(held, &rest, &spec.task.thin_targets, &mut rng)?;
        // The targets are taken from the front.
        rest.sort_by_key(|row| out.contains(row));
        let left = rest.len() - out.len();
        let count = spec.task.target_count.unwrap_or_else(|| TARGETS.min(left / 3).max(1));
        let held_inputs = self.inputs.test.as_ref().unwrap_or(&self.inputs.train);
        let targets = if let Some(targets) = &self.inputs.targets {
            (targets, (0..targets.len()).collect())
        } else if count == 0 || count > left || count == rest.len() && !spec.task.test_on_valid {
            return Err(Error::TargetCount { count, most: left.min(rest.len().saturating_sub(1)), left });
        } else {
            let reserve = spec.task.target_reserve.unwrap_or(count);
            if reserve < count || reserve > left || reserve == rest.len() && !spec.task.test_on_valid {
                let most = left.min(rest.len().saturating_sub(1));
                return Err(Error::TargetReserve { reserve, count, most });
            }
            (held_inputs, rest.drain(..reserve).take(count).collect())
        };
        rest.shuffle(&mut rng);
        rest.truncate(spec.task.test_count);
        let labelled = |rows| LabelledRows::new(self, held, held_inputs, rows);
        if spec.task.test_on_valid {
            if valid.is_empty() {
                return Err(Error::NoTests);
            }
            rest.clone_from(&valid);
        }
        Ok(DataSplit { run: self, open, targets, valid: labelled(valid), test: labelled(rest) })
    }
}

/// Draws the rows to leave out: the given share of each class in `thin`.
fn left_out(data: &Dataset, rows: &[usize], thin: &[(String, f64)], rng: &mut ChaCha8Rng) -> Result<HashSet<usize>> {
    let mut out = HashSet::new();
    for (name, share) in thin {
        let Some(class) = data.classes.iter().position(|known| known == name) else {
            return Err(Error::UnknownClass { name: name.clone(), known: some_of(&data.classes) });
        };
        let mut members: Vec<usize> =
            rows.iter().copied().filter(|&row| data.labels[row] == Some(class as u32)).collect();
        members.shuffle(rng);
        members.truncate((share * members.len() as f64).round() as usize);
        out.extend(members);
    }
    Ok(out)
}

impl DataSplit<'_> {
    /// Returns the examples for the loop.
    pub fn problem(&self) -> Problem<'_> {
        Problem {
            pool: &self.run.inputs.train,
            open: &self.open,
            targets: Examples { inputs: self.targets.0, rows: &self.targets.1 },
            classes: &self.run.classes,
            valid: self.valid.labelled(),
            test: self.test.labelled(),
        }
    }

    /// Returns the number of test examples.
    pub fn tests(&self) -> usize {
        self.test.rows.len()
    }

    /// Returns whether a row of the pool belongs to the task, if that is known.
    pub fn in_task(&self, row: usize) -> Option<bool> {
        self.run.in_task(row)
    }
}

/// Rows of a set and their classes in the network.
struct LabelledRows<'a> {
    inputs: &'a Inputs,
    rows: Vec<usize>,
    labels: Vec<u32>,
}

impl<'a> LabelledRows<'a> {
    fn new(run: &RunData, data: &Dataset, inputs: &'a Inputs, rows: Vec<usize>) -> Self {
        let label = |&row: &usize| data.labels[row].and_then(|label| run.classes[label as usize]);
        let labels = rows.iter().filter_map(label).collect();
        Self { inputs, rows, labels }
    }

    fn labelled(&self) -> Option<LabelledExamples<'_>> {
        let examples = Examples { inputs: self.inputs, rows: &self.rows };
        (!self.rows.is_empty()).then_some(LabelledExamples { examples, labels: &self.labels })
    }
}
