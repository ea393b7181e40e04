//! Data sets of the study: embeddings and the label of every row.

use std::path::Path;

use homing_pool::{Pool, ReadOptions, read_file};

use crate::error::{Error, Remedy, Result};

/// Limit on the bytes of a file of labels.
const MOST_BYTES: u64 = 1 << 28;

/// Ending of the files that hold the labels, one per line.
const LABELS: &str = "labels.txt";

/// Embeddings with labels.
pub struct StudyData {
    /// Name of the data set.
    pub name: String,
    /// Number of dimensions of each row.
    pub dim: usize,
    /// The rows, one after another.
    pub values: Vec<f32>,
    /// Number of the class of every row.
    pub labels: Vec<usize>,
    /// Number of classes.
    pub classes: usize,
}

impl StudyData {
    /// Creates a data set of rows and their labels.
    pub fn new(name: &str, dim: usize, values: Vec<f32>, labels: &[String]) -> Self {
        assert_eq!(values.len(), dim * labels.len(), "every row has a label");
        let mut classes: Vec<&String> = labels.iter().collect();
        classes.sort_unstable();
        classes.dedup();
        let number = |label: &String| classes.binary_search(&label).expect("every label is a class");
        Self { name: name.into(), dim, values, labels: labels.iter().map(number).collect(), classes: classes.len() }
    }

    /// Opens all data sets of a folder, in the order of their names: embeddings in `NAME.npy` or `NAME.safetensors`, and the
    /// label of every row, one per line, in `NAME.labels.txt`.
    pub fn open_all(folder: &Path) -> Result<Vec<Self>> {
        let unreadable = |error: std::io::Error| unusable(format!("{} cannot be read: {error}", folder.display()));
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let is_pool = path.extension().is_some_and(|ending| ending == "npy" || ending == "safetensors");
            if is_pool && path.with_extension(LABELS).exists() {
                files.push(path);
            }
        }
        files.sort_unstable();
        files.iter().map(|path| Self::open(path)).collect()
    }

    fn open(path: &Path) -> Result<Self> {
        let pool = Pool::open(path, &ReadOptions::default())?;
        let (rows, dim) = (pool.rows(), pool.dim());
        let text = read_file(&path.with_extension(LABELS), MOST_BYTES)?;
        let labels: Vec<String> = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
        if labels.len() != rows {
            let problem = format!(
                "{} has {rows} rows, but {} has {} lines",
                path.display(),
                path.with_extension(LABELS).display(),
                labels.len()
            );
            return Err(unusable(problem));
        }
        let mut values = vec![0.0; rows * dim];
        pool.embeddings().check_finite("pool").map_err(|error| unusable(error.to_string()))?;
        pool.embeddings().read(0..rows, &mut values);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self::new(&name, dim, values.into_iter().map(|x| x as f32).collect(), &labels))
    }

    /// Returns a row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.dim..(row + 1) * self.dim]
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }
}

fn unusable(problem: String) -> Error {
    Error::Results { problem, remedy: Remedy::Write("give one row of numbers and one label per example") }
}
