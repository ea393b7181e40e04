//! A column of lists in Arrow memory, in one or several pieces, with all or some of its rows.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use homing::{Embeddings, RowSource, StoredValues};
use homing_pool::list_numbers;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{core_error, pool_error};

/// Embeddings that are read in place from Arrow memory.
#[derive(Debug)]
pub struct Chunks {
    /// The numbers of each piece, row after row.
    pieces: Vec<ArrayRef>,
    /// The first row of each piece, followed by the total number of rows.
    starts: Vec<usize>,
    /// The stored row of each row, unless all stored rows are used in their order.
    rows: Option<Vec<usize>>,
    dim: usize,
    single: bool,
}

impl Chunks {
    pub fn new(name: &str, arrays: &[ArrayRef], rows: Option<Vec<usize>>) -> PyResult<Self> {
        let path = "the table";
        let (mut pieces, mut starts, mut width) = (Vec::new(), vec![0], None);
        for array in arrays.iter().filter(|array| !array.is_empty()) {
            let first = *starts.last().expect("starts with one");
            let (values, dim) = list_numbers(Path::new(path), first, name, array).map_err(pool_error)?;
            if dim != *width.get_or_insert(dim) {
                let expected = width.expect("set above");
                return Err(pool_error(homing_pool::Error::Ragged {
                    path: path.into(),
                    row: first,
                    found: dim,
                    expected,
                }));
            }
            pieces.push(values);
            starts.push(first + array.len());
        }
        let all = *starts.last().expect("starts with one");
        if let Some(&row) = rows.iter().flatten().find(|&&row| row >= all) {
            return Err(PyValueError::new_err(format!(
                "the indices name row {row} of {all}; they belong to another table"
            )));
        }
        let single = pieces.iter().all(|piece| *piece.data_type() != DataType::Float64);
        let chunks = Self { pieces, starts, rows, dim: width.unwrap_or(0), single };
        Embeddings::new(&chunks as &dyn RowSource, chunks.dim).map_err(core_error)?;
        Ok(chunks)
    }

    /// Borrows the rows: in place if they are all rows of a single piece, otherwise through [`RowSource`].
    pub fn view(&self) -> Embeddings<'_> {
        let values = match (&self.pieces[..], &self.rows) {
            ([piece], None) => numbers(piece),
            _ => StoredValues::Source(self),
        };
        Embeddings::new(values, self.dim).expect("`new` has checked it")
    }

    pub fn dtype(&self) -> &'static str {
        match self.pieces[0].data_type() {
            DataType::Float16 => "float16",
            DataType::Float32 => "float32",
            _ => "float64",
        }
    }

    /// Calls `f` for every contiguous run of numbers, with the values of its piece, the position of its first number there,
    /// and its range in the output.
    fn each(&self, start: usize, count: usize, mut f: impl FnMut(StoredValues<'_>, usize, std::ops::Range<usize>)) {
        let mut done = 0;
        while done < count {
            let (row, column) = ((start + done) / self.dim, (start + done) % self.dim);
            let stored = self.rows.as_ref().map_or(row, |rows| rows[row]);
            let piece = self.starts.partition_point(|&first| first <= stored) - 1;
            // Consecutive rows are contiguous in memory; selected rows are read one at a time.
            let rows = if self.rows.is_some() { 1 } else { self.starts[piece + 1] - stored };
            let length = (rows * self.dim - column).min(count - done);
            f(numbers(&self.pieces[piece]), (stored - self.starts[piece]) * self.dim + column, done..done + length);
            done += length;
        }
    }
}

fn numbers(piece: &ArrayRef) -> StoredValues<'_> {
    match piece.data_type() {
        DataType::Float16 => StoredValues::F16(piece.as_primitive::<Float16Type>().values()),
        DataType::Float32 => StoredValues::F32(piece.as_primitive::<Float32Type>().values()),
        _ => StoredValues::F64(piece.as_primitive::<Float64Type>().values()),
    }
}

impl RowSource for Chunks {
    fn count(&self) -> usize {
        self.dim * self.rows.as_ref().map_or(*self.starts.last().expect("starts with one"), Vec::len)
    }

    fn fits_f32(&self) -> bool {
        self.single
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        self.each(start, out.len(), |values, from, to| values.write_f64(from..from + to.len(), &mut out[to]));
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        self.each(start, out.len(), |values, from, to| values.write_f32(from..from + to.len(), &mut out[to]));
    }

    fn failure(&self) -> Option<String> {
        None
    }
}
