//! Sources of labels.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// An answer about one example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Answer {
    /// Its class, counted from 0.
    Class(u32),
    /// None of the classes. The network does not learn from the example, and another takes its place. Later picks are conditioned
    /// on it as on a labelled one.
    Skip,
    /// The answer before this one in the same round was wrong, and the question is asked again.
    Undo,
}

/// A question about the label of one example.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Row of the pool.
    pub row: usize,
    /// Rows of the same batch that will be asked about next.
    pub next: &'a [usize],
    /// Number of this label in the round, counted from 1.
    pub number: usize,
    /// Number of labels of the round.
    pub count: usize,
    /// Number of the round, counted from 1.
    pub round: usize,
}

/// A source of labels.
///
/// [`crate::fine_tune`] asks about each pick once, in the order of the picks, unless an answer is taken back.
///
/// It relies on this contract: a class is below the number of classes of the pool, and an error ends the run.
///
/// A complete example asks two annotators and skips examples on which they disagree.
///
/// ```
/// use homing_train::{Answer, Oracle, Question, Result};
///
/// struct TwoAnnotators { first: Vec<u32>, second: Vec<u32> }
///
/// impl Oracle for TwoAnnotators {
///     fn label(&mut self, question: &Question<'_>) -> Result<Answer> {
///         let (first, second) = (self.first[question.row], self.second[question.row]);
///         Ok(if first == second { Answer::Class(first) } else { Answer::Skip })
///     }
/// }
///
/// let mut oracle = TwoAnnotators { first: vec![0, 1, 2], second: vec![0, 2, 2] };
/// let question = |row| Question { row, next: &[], number: 1, count: 1, round: 1 };
/// assert_eq!(oracle.label(&question(0))?, Answer::Class(0));
/// assert_eq!(oracle.label(&question(1))?, Answer::Skip);
/// # Ok::<(), homing_train::Error>(())
/// ```
pub trait Oracle {
    /// Answers a question about a row of the pool.
    fn label(&mut self, question: &Question<'_>) -> Result<Answer>;
}

/// Known labels of all rows, or of some.
pub struct KnownLabels<'a>(pub &'a [Option<u32>]);

impl Oracle for KnownLabels<'_> {
    fn label(&mut self, question: &Question<'_>) -> Result<Answer> {
        Ok(self.0[question.row].map_or(Answer::Skip, Answer::Class))
    }
}

/// Where the labels of a run's picks come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelSource {
    /// The data set.
    Data,
    /// A person, who labels each pick.
    Person,
    /// A file: one label per row of the pool, or a CSV table with the columns id (or index) and label, which may leave rows out and
    /// may be missing.
    File(PathBuf),
}

/// Refuses class names that a person cannot type as an answer.
pub(crate) fn check_typable(classes: &[String]) -> Result<()> {
    let mut known = BTreeSet::new();
    for class in classes {
        let name = class.trim();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(Error::UntypableClass { class: class.clone() });
        }
        if !known.insert(name) {
            return Err(Error::TwinClasses { name: name.into() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_cannot_be_typed_is_refused() {
        let names = |classes: &[&str]| classes.iter().map(|&class| class.to_owned()).collect::<Vec<_>>();
        check_typable(&names(&["s", "small dog", "-"])).unwrap();
        for classes in [&["a\nb"][..], &[" "], &["a", "a "]] {
            check_typable(&names(classes)).unwrap_err();
        }
    }
}
