//! Collects the rows of a table, which arrive batch by batch.

use std::path::Path;

use half::f16;

use crate::layout::Layout;
use crate::matrix::{Float, Matrix, Numbers};
use crate::memory_budget::MemoryBudget;
use crate::pool::{Contents, RowColumns};
use crate::table_columns::TableColumns;
use crate::{Error, Result};

/// A float type that tables can hold.
pub(crate) trait Element: Copy {
    const FLOAT: Float;

    fn vec(numbers: &mut Numbers) -> Option<&mut Vec<Self>>;
}

macro_rules! element {
    ($type:ty, $variant:ident) => {
        impl Element for $type {
            const FLOAT: Float = Float::$variant;

            fn vec(numbers: &mut Numbers) -> Option<&mut Vec<Self>> {
                if let Numbers::$variant(values) = numbers { Some(values) } else { None }
            }
        }
    };
}

element!(f16, F16);
element!(f32, F32);
element!(f64, F64);

/// A matrix that grows row by row. The first row sets its type and width.
#[derive(Debug, Default)]
pub(crate) struct MatrixBuilder {
    matrix: Option<(Numbers, usize)>,
    /// Maximum number of values to reserve memory for at once.
    pub(crate) most_reserved: usize,
}

impl MatrixBuilder {
    /// Adds rows of `width` values each; `row` is the number of the first row, for messages.
    pub(crate) fn extend<T: Element>(
        &mut self,
        path: &Path,
        row: usize,
        width: usize,
        values: &[T],
        budget: &mut MemoryBudget,
    ) -> Result<()> {
        let dim = self.width(path, row, width, T::FLOAT)?;
        debug_assert!(values.len().is_multiple_of(dim));
        let most_reserved = self.most_reserved;
        let all = self.values(path)?;
        budget.grow(path, all, values.len(), most_reserved)?;
        all.extend_from_slice(values);
        Ok(())
    }

    /// Adds one row.
    pub(crate) fn push(&mut self, path: &Path, row: usize, values: &[f64], budget: &mut MemoryBudget) -> Result<()> {
        self.extend(path, row, values.len(), values, budget)
    }

    fn width(&mut self, path: &Path, row: usize, found: usize, float: Float) -> Result<usize> {
        if found == 0 {
            return Err(match self.matrix {
                Some((_, expected)) => Error::Ragged { path: path.to_owned(), row, found, expected },
                None => Error::NoValues { path: path.to_owned() },
            });
        }
        let (_, expected) = self.matrix.get_or_insert_with(|| (empty(float), found));
        match *expected {
            expected if expected == found => Ok(found),
            // The rows before it are in another file.
            expected if row == 0 => {
                let detail = format!("its rows have {found} values but theirs have {expected}");
                Err(Error::ShardMismatch { path: path.to_owned(), detail })
            }
            expected => Err(Error::Ragged { path: path.to_owned(), row, found, expected }),
        }
    }

    fn values<T: Element>(&mut self, path: &Path) -> Result<&mut Vec<T>> {
        self.matrix.as_mut().and_then(|(numbers, _)| T::vec(numbers)).ok_or_else(|| Error::ShardMismatch {
            path: path.to_owned(),
            detail: format!("its embeddings are {}", T::FLOAT.name()),
        })
    }

    pub(crate) fn finish(self, path: &Path) -> Result<Matrix> {
        self.matrix
            .and_then(|(numbers, dim)| Matrix::new(numbers, dim))
            .ok_or_else(|| Error::NoRows { path: path.to_owned() })
    }
}

fn empty(float: Float) -> Numbers {
    match float {
        Float::F16 | Float::Bf16 => Numbers::F16(Vec::new()),
        Float::F32 => Numbers::F32(Vec::new()),
        Float::F64 => Numbers::F64(Vec::new()),
    }
}

/// Columns of a layout, as far as they have been read.
#[derive(Debug)]
pub(crate) struct TableBuilder {
    pub(crate) embeddings: MatrixBuilder,
    pub(crate) probabilities: MatrixBuilder,
    pub(crate) ids: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) numbers: Vec<Vec<f64>>,
    /// Memory that all columns together may take.
    pub(crate) budget: MemoryBudget,
}

impl TableBuilder {
    pub(crate) fn new(layout: &Layout) -> Self {
        let (embeddings, probabilities) = (MatrixBuilder::default(), MatrixBuilder::default());
        let (ids, groups, labels) = (Vec::new(), Vec::new(), Vec::new());
        let numbers = vec![Vec::new(); layout.numbers.len()];
        Self { embeddings, probabilities, ids, groups, labels, numbers, budget: MemoryBudget::now() }
    }

    pub(crate) fn finish(self, path: &Path, layout: &Layout, table: TableColumns) -> Result<Contents> {
        let embeddings = self.embeddings.finish(path)?;
        let probabilities = layout.probabilities.map(|_| self.probabilities.finish(path)).transpose()?;
        let columns = RowColumns {
            ids: layout.id.map(|_| self.ids),
            groups: layout.group.map(|_| self.groups),
            labels: layout.label.map(|_| self.labels),
            numbers: layout.numbers.iter().map(|(name, _)| name.clone()).zip(self.numbers).collect(),
            probabilities,
        };
        let (side_by_side, ignored_numbers) = (layout.side_by_side.clone(), layout.ignored_numbers.clone());
        Ok(Contents { embeddings, columns, side_by_side, ignored_numbers, table, in_memory: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_another_width_is_named() {
        let path = Path::new("a.jsonl");
        let mut matrix = MatrixBuilder::default();
        let budget = &mut MemoryBudget::now();
        matrix.push(path, 0, &[1.0, 2.0], budget).unwrap();
        let message = matrix.push(path, 1, &[1.0], budget).unwrap_err().to_string();
        assert!(message.starts_with("row 1 of a.jsonl has 1 values but the rows before it have 2"), "{message}");
    }
}
