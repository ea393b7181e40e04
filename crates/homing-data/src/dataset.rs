//! Data sets: examples and their labels.

use std::path::Path;

use crate::classes::Classes;
use crate::memory::fits_memory;
use crate::{Error, Inputs, Result};

/// Examples with their ids and, as far as they are known, their classes.
///
/// ```
/// use homing_data::{Dataset, Inputs};
///
/// let flowers = Dataset {
///     inputs: Inputs::rows(2, vec![5.1, 3.5, 6.2, 2.9]),
///     labels: vec![Some(0), None],
///     classes: vec!["setosa".to_owned()],
///     ids: vec!["a".to_owned(), "b".to_owned()],
///     texts: Vec::new(),
///     pictures: None,
/// };
/// let second = flowers.subset(&[1])?;
/// assert_eq!((second.len(), second.labels[0]), (1, None));
/// assert_eq!(second.inputs.read(&[0])?, [6.2, 2.9]);
/// # Ok::<(), homing_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Inputs of a network.
    pub inputs: Inputs,
    /// For each example, the position of its class in `classes`, or `None` if it has no label.
    pub labels: Vec<Option<u32>>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// File name or row number of each example.
    pub ids: Vec<String>,
    /// Text of each example, which people read; empty if there are no texts.
    pub texts: Vec<String>,
    /// Images that people look at, if the inputs were computed from them.
    pub pictures: Option<Inputs>,
}

/// Training set and test set that were found at one path.
///
/// ```
/// use homing_data::{OpenOptions, open};
///
/// let folder = tempfile::tempdir()?;
/// for name in ["train.csv", "test.csv"] {
///     std::fs::write(folder.path().join(name), "length,width,label\n5.1,3.5,setosa\n6.2,2.9,virginica\n")?;
/// }
/// let data = open(folder.path(), &OpenOptions::default())?;
/// assert_eq!(data.train.classes, data.test.unwrap().classes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Data {
    /// Examples to choose from and to train on.
    pub train: Dataset,
    /// Examples for evaluation, with the same shape and classes.
    pub test: Option<Dataset>,
}

impl Dataset {
    /// Returns the number of examples.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Returns the examples of `rows`, in that order.
    pub fn subset(&self, rows: &[usize]) -> Result<Self> {
        Ok(Self {
            inputs: self.inputs.subset(rows)?,
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
            classes: self.classes.clone(),
            ids: rows.iter().map(|&row| self.ids[row].clone()).collect(),
            texts: rows.iter().filter_map(|&row| self.texts.get(row).cloned()).collect(),
            pictures: self.pictures.as_ref().map(|pictures| pictures.subset(rows)).transpose()?,
        })
    }

    /// Returns the images that people look at, if there are any.
    pub fn images(&self) -> Option<&Inputs> {
        self.pictures.as_ref().or(Some(&self.inputs).filter(|inputs| inputs.are_images()))
    }
}

/// Examples whose labels are names of classes.
#[derive(Clone, Debug)]
pub struct NamedExamples {
    /// Inputs of a network.
    pub inputs: Inputs,
    /// Name of the class of each example; empty if it has no label.
    pub labels: Vec<String>,
    /// File name or row number of each example.
    pub ids: Vec<String>,
    /// Text of each example; empty if there are no texts.
    pub texts: Vec<String>,
}

/// Examples whose labels are numbers of classes.
pub(crate) struct NumberedExamples {
    pub(crate) inputs: Inputs,
    pub(crate) labels: Vec<u8>,
}

impl Data {
    /// Creates a data set with the classes that the labels of the training set name; `path` is that of the test set.
    pub fn with_named_classes(path: &Path, train: NamedExamples, test: Option<NamedExamples>) -> Result<Self> {
        let classes = Classes::of(&train.labels);
        let make = |named: NamedExamples| -> Result<Dataset> {
            let labels = classes.labels(path, &named.labels)?;
            Ok(Dataset {
                inputs: named.inputs,
                labels,
                classes: classes.names().to_vec(),
                ids: named.ids,
                texts: named.texts,
                pictures: None,
            })
        };
        Self { train: make(train)?, test: test.map(make).transpose()? }.checked(path)
    }

    /// Creates a data set with the classes of these names.
    pub(crate) fn with_numbered_classes(
        path: &Path,
        classes: &[String],
        train: NumberedExamples,
        test: Option<NumberedExamples>,
    ) -> Result<Self> {
        let make = |numbered: NumberedExamples| Dataset {
            labels: numbered.labels.iter().map(|&label| Some(u32::from(label))).collect(),
            ids: (0..numbered.inputs.len()).map(|row| row.to_string()).collect(),
            inputs: numbered.inputs,
            classes: classes.to_vec(),
            texts: Vec::new(),
            pictures: None,
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

    /// Resizes images to `size` × `size` pixels if a size is given.
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

/// Refuses more examples than there is memory for; each takes `bytes` bytes in addition to its label and its id.
pub(crate) fn check_count(path: &Path, examples: usize, bytes: usize) -> Result<()> {
    const NAMED: u64 = 64;
    let needed = (bytes as u64).saturating_add(NAMED).checked_mul(examples as u64);
    if fits_memory(needed) { Ok(()) } else { Err(Error::TooMany { path: path.to_owned(), examples }) }
}

/// Returns default names for `count` classes.
pub(crate) fn unnamed(count: usize) -> Vec<String> {
    (0..count).map(|class| class.to_string()).collect()
}

/// Refuses labels that are not below `classes`, the number of classes.
pub(crate) fn check_labels(path: &Path, labels: &[u8], classes: usize) -> Result<()> {
    match labels.iter().position(|&label| usize::from(label) >= classes) {
        Some(row) => Err(Error::LabelBeyond { path: path.to_owned(), row, label: u32::from(labels[row]), classes }),
        None => Ok(()),
    }
}
