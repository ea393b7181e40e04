//! Assigns classes to labels.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;

use homing_pool::one_line;

use crate::{Error, Result};

/// Distinct names of classes, sorted as numbers if all are numbers, and otherwise as texts.
pub(crate) struct Classes {
    names: Vec<String>,
    positions: HashMap<String, u32>,
}

impl Classes {
    /// Collects the classes of labels; an empty label has no class.
    pub(crate) fn of(labels: &[String]) -> Self {
        let mut names: Vec<&String> = labels.iter().filter(|label| !label.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        let number = |name: &str| name.parse::<f64>().ok().filter(|number| number.is_finite());
        if names.iter().all(|name| number(name).is_some()) {
            names.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal));
        }
        let names: Vec<String> = names.into_iter().cloned().collect();
        let positions = names.iter().enumerate().map(|(position, name)| (name.clone(), position as u32)).collect();
        Self { names, positions }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the class of each label of the file at `path`.
    pub(crate) fn labels(&self, path: &Path, labels: &[String]) -> Result<Vec<Option<u32>>> {
        let class = |label: &String| match self.positions.get(label) {
            None if label.is_empty() => Ok(None),
            None => Err(Error::UnknownClass { path: path.to_owned(), class: one_line(label) }),
            position => Ok(position.copied()),
        };
        labels.iter().map(class).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|&label| label.to_owned()).collect()
    }

    #[test]
    fn numbers_are_sorted_as_numbers_and_empty_labels_have_no_class() {
        let labels = texts(&["10", "", "9", "10"]);
        let classes = Classes::of(&labels);
        assert_eq!(classes.names(), ["9", "10"]);
        assert_eq!(classes.labels("a".as_ref(), &labels).unwrap(), [Some(1), None, Some(0), Some(1)]);
        assert_eq!(Classes::of(&texts(&["cat", "9", "10"])).names(), ["10", "9", "cat"]);
    }

    #[test]
    fn a_class_that_was_never_seen_is_named() {
        let message = Classes::of(&texts(&["a"])).labels("t.csv".as_ref(), &texts(&["b"])).unwrap_err().to_string();
        assert!(message.starts_with("t.csv has the class 'b', which the training set lacks"), "{message}");
    }
}
