//! Examples and their labels.

use std::path::Path;

use crate::classes::Classes;
use crate::memory::fits_memory;
use crate::{Error, Inputs, Result};

/// Examples, the class of each as far as it is known, and what they are called.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// What a network is shown.
    pub inputs: Inputs,
    /// A position in `classes` for each example that has a label.
    pub labels: Vec<Option<u32>>,
    /// The classes' names.
    pub classes: Vec<String>,
    /// A file name or a row number for each example.
    pub ids: Vec<String>,
}

/// What was found at one path.
#[derive(Clone, Debug)]
pub struct Data {
    /// To choose and to learn from.
    pub train: Dataset,
    /// To measure with; of the same shape and classes.
    pub test: Option<Dataset>,
}

impl Dataset {
    /// How many examples.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// The examples of `rows`, in their order.
    pub fn subset(&self, rows: &[usize]) -> Result<Self> {
        Ok(Self {
            inputs: self.inputs.subset(rows)?,
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
            classes: self.classes.clone(),
            ids: rows.iter().map(|&row| self.ids[row].clone()).collect(),
        })
    }
}

/// Examples whose labels are names of classes, empty where there is none.
pub(crate) struct Named {
    pub(crate) inputs: Inputs,
    pub(crate) labels: Vec<String>,
    pub(crate) ids: Vec<String>,
}

/// Examples whose labels are numbers of classes.
pub(crate) struct Numbered {
    pub(crate) inputs: Inputs,
    pub(crate) labels: Vec<u8>,
}

impl Data {
    /// With the classes that the training set's labels name; `path` is the test set's.
    pub(crate) fn named(path: &Path, train: Named, test: Option<Named>) -> Result<Self> {
        let classes = Classes::of(&train.labels);
        let make = |named: Named| -> Result<Dataset> {
            let labels = classes.labels(path, &named.labels)?;
            Ok(Dataset { inputs: named.inputs, labels, classes: classes.names().to_vec(), ids: named.ids })
        };
        Self { train: make(train)?, test: test.map(make).transpose()? }.checked(path)
    }

    /// With the classes of these names.
    pub(crate) fn numbered(path: &Path, classes: &[String], train: Numbered, test: Option<Numbered>) -> Result<Self> {
        let make = |numbered: Numbered| Dataset {
            labels: numbered.labels.iter().map(|&label| Some(u32::from(label))).collect(),
            ids: (0..numbered.inputs.len()).map(|row| row.to_string()).collect(),
            inputs: numbered.inputs,
            classes: classes.to_vec(),
        };
        Self { train: make(train), test: test.map(make) }.checked(path)
    }

    /// Refuses a test set of another shape.
    fn checked(self, path: &Path) -> Result<Self> {
        let expected = self.train.inputs.shape();
        match &self.test {
            Some(test) if test.inputs.shape() != expected => Err(Error::Shapes {
                path: path.to_owned(),
                found: test.inputs.shape().to_vec(),
                expected: expected.to_vec(),
            }),
            _ => Ok(self),
        }
    }

    /// The same with images of `size` pixels a side, where one is asked for.
    pub(crate) fn sized(mut self, size: Option<usize>) -> Result<Self> {
        if let Some(size) = size {
            self.train.inputs = self.train.inputs.with_size(size)?;
            if let Some(test) = &mut self.test {
                test.inputs = test.inputs.clone().with_size(size)?;
            }
        }
        Ok(self)
    }
}

/// Refuses more examples than there is memory for, where each takes so many bytes, besides its label and its id.
pub(crate) fn check_count(path: &Path, examples: usize, bytes: usize) -> Result<()> {
    const NAMED: u64 = 64;
    let needed = (bytes as u64).saturating_add(NAMED).checked_mul(examples as u64);
    if fits_memory(needed) { Ok(()) } else { Err(Error::TooMany { path: path.to_owned(), examples }) }
}

/// The names of `count` classes that have none.
pub(crate) fn unnamed(count: usize) -> Vec<String> {
    (0..count).map(|class| class.to_string()).collect()
}

/// Refuses labels that are no class, of which there are `classes`.
pub(crate) fn check_labels(path: &Path, labels: &[u8], classes: usize) -> Result<()> {
    match labels.iter().position(|&label| usize::from(label) >= classes) {
        Some(row) => Err(Error::LabelBeyond { path: path.to_owned(), row, label: u32::from(labels[row]), classes }),
        None => Ok(()),
    }
}
