//! Sources of labels.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// An answer about one example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its class, counted from 0.
    Class(u32),
    /// No label. The network does not learn from the example, and it is not picked again.
    Skip,
}

/// A source of labels.
///
/// [`crate::fine_tune`] asks about each pick once, in the order of the picks, and relies on this contract: a class is
/// below the number of the network's classes, and an error ends the run.
///
/// A complete example asks two annotators and skips examples on which they disagree.
///
/// ```
/// use homing_train::{Answer, Oracle, Result};
///
/// struct TwoAnnotators { first: Vec<u32>, second: Vec<u32> }
///
/// impl Oracle for TwoAnnotators {
///     fn label(&mut self, row: usize) -> Result<Answer> {
///         let agree = self.first[row] == self.second[row];
///         Ok(if agree { Answer::Class(self.first[row]) } else { Answer::Skip })
///     }
/// }
///
/// let mut oracle = TwoAnnotators { first: vec![0, 1, 2], second: vec![0, 2, 2] };
/// assert_eq!((oracle.label(0)?, oracle.label(1)?), (Answer::Class(0), Answer::Skip));
/// # Ok::<(), homing_train::Error>(())
/// ```
pub trait Oracle {
    /// Labels row `row` of the pool.
    fn label(&mut self, row: usize) -> Result<Answer>;
}

/// Known labels of all rows, or of some.
pub struct KnownLabels<'a>(pub &'a [Option<u32>]);

impl Oracle for KnownLabels<'_> {
    fn label(&mut self, row: usize) -> Result<Answer> {
        Ok(self.0[row].map_or(Answer::Skip, Answer::Class))
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
    /// A file: one label per row of the pool, or a CSV table with the columns id (or index) and label, which may leave rows out.
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
