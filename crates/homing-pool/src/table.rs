//! Rows as they come out of a table, batch after batch.

use std::path::Path;

use half::f16;

use crate::layout::Layout;
use crate::matrix::{Float, Matrix, Numbers};
use crate::pool::{Columns, Contents};
use crate::room::Room;
use crate::{Error, Result};

/// A float type that tables have.
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

/// A matrix that grows by rows; its first row sets its type and width.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    matrix: Option<(Numbers, usize)>,
    /// Values to make room for at once.
    pub(crate) most_reserved: usize,
}

impl Growing {
    /// Adds rows of `width` values each; `row` is the number of the first, for messages.
    pub(crate) fn extend<T: Element>(
        &mut self,
        path: &Path,
        row: usize,
        width: usize,
        values: &[T],
        room: &mut Room,
    ) -> Result<()> {
        let dim = self.width(path, row, width, T::FLOAT)?;
        debug_assert!(values.len().is_multiple_of(dim));
        let most_reserved = self.most_reserved;
        let all = self.values(path)?;
        room.grow(path, all, values.len(), most_reserved)?;
        all.extend_from_slice(values);
        Ok(())
    }

    /// Adds one row.
    pub(crate) fn push(&mut self, path: &Path, row: usize, values: &[f64], room: &mut Room) -> Result<()> {
        self.extend(path, row, values.len(), values, room)
    }

    fn width(&mut self, path: &Path, row: usize, found: usize, float: Float) -> Result<usize> {
        if found == 0 {
            return Err(match self.matrix {
                Some((_, expected)) => Error::Ragged { path: path.to_owned(), row, found, expected },
                None => Error::NoValues { path: path.to_owned() },
            });
        }
        let (_, expected) = self.matrix.get_or_insert_with(|| (empty(float), found));
        if *expected == found {
            Ok(found)
        } else {
            Err(Error::Ragged { path: path.to_owned(), row, found, expected: *expected })
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

/// The columns of a layout, as far as they have been read.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) embeddings: Growing,
    pub(crate) probabilities: Growing,
    pub(crate) ids: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) costs: Vec<f64>,
    /// What all of them may take.
    pub(crate) room: Room,
}

impl Gathered {
    pub(crate) fn new() -> Self {
        let (embeddings, probabilities) = (Growing::default(), Growing::default());
        let (ids, groups, labels, costs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { embeddings, probabilities, ids, groups, labels, costs, room: Room::now() }
    }

    pub(crate) fn finish(self, path: &Path, layout: &Layout) -> Result<Contents> {
        let embeddings = self.embeddings.finish(path)?;
        let probabilities = layout.probabilities.map(|_| self.probabilities.finish(path)).transpose()?;
        let columns = Columns {
            ids: layout.id.map(|_| self.ids),
            groups: layout.group.map(|_| self.groups),
            labels: layout.label.map(|_| self.labels),
            costs: layout.cost.map(|_| self.costs),
            probabilities,
        };
        Ok(Contents { embeddings, columns, side_by_side: layout.side_by_side.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_another_width_is_named() {
        let path = Path::new("a.jsonl");
        let mut growing = Growing::default();
        let room = &mut Room::now();
        growing.push(path, 0, &[1.0, 2.0], room).unwrap();
        let message = growing.push(path, 1, &[1.0], room).unwrap_err().to_string();
        assert!(message.starts_with("row 1 of a.jsonl has 1 values but the rows before it have 2"), "{message}");
    }
}
