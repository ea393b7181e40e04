//! A borrowed matrix of embeddings, one row an example, in the number format of its file.

use std::ops::Range;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::{Error, Interrupt, Result, RowSource};

/// Rows handled together: small enough for the cache, and the same for any number of threads,
/// so that sums over blocks do not depend on it.
pub(crate) const BLOCK: usize = 256;

/// Scattered rows announced together: enough to keep a disk busy, few enough to be read before memory forgets them.
pub(crate) const ANNOUNCED: usize = 1024;

/// The numbers of a matrix, row after row.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Values<'a> {
    /// IEEE single precision.
    F32(&'a [f32]),
    /// IEEE double precision.
    F64(&'a [f64]),
    /// IEEE half precision.
    F16(&'a [f16]),
    /// The upper half of an f32.
    Bf16(&'a [bf16]),
    /// Read when they are asked for.
    Source(&'a dyn RowSource),
}

impl Values<'_> {
    /// How many numbers.
    pub fn len(&self) -> usize {
        match self {
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::F16(v) => v.len(),
            Values::Bf16(v) => v.len(),
            Values::Source(source) => source.count(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the numbers at `at` to `out`, as f64.
    pub fn write_f64(&self, at: Range<usize>, out: &mut [f64]) {
        match self {
            Values::F64(v) => out.copy_from_slice(&v[at]),
            Values::F32(v) => pulp::Arch::new().dispatch(|| {
                out.iter_mut().zip(&v[at]).for_each(|(out, &x)| *out = f64::from(x));
            }),
            Values::F16(v) => v[at].convert_to_f64_slice(out),
            Values::Bf16(v) => v[at].convert_to_f64_slice(out),
            Values::Source(source) => source.read_f64(at.start, &mut out[..at.len()]),
        }
    }

    /// Writes the numbers at `at` to `out`, rounded to f32.
    pub fn write_f32(&self, at: Range<usize>, out: &mut [f32]) {
        match self {
            Values::F64(v) => out.iter_mut().zip(&v[at]).for_each(|(out, &x)| *out = x as f32),
            Values::F32(v) => out.copy_from_slice(&v[at]),
            Values::F16(v) => v[at].convert_to_f32_slice(out),
            Values::Bf16(v) => v[at].convert_to_f32_slice(out),
            Values::Source(source) => source.read_f32(at.start, &mut out[..at.len()]),
        }
    }
}

impl<'a> From<&'a [f32]> for Values<'a> {
    fn from(v: &'a [f32]) -> Self {
        Values::F32(v)
    }
}

impl<'a> From<&'a [f64]> for Values<'a> {
    fn from(v: &'a [f64]) -> Self {
        Values::F64(v)
    }
}

impl<'a> From<&'a dyn RowSource> for Values<'a> {
    fn from(source: &'a dyn RowSource) -> Self {
        Values::Source(source)
    }
}

/// A view of `rows × dim` embeddings; copying it copies no data.
///
/// Rows are read as f64, whatever their format, and less the offset when there is one
/// (see [`Embeddings::centered`]).
#[derive(Debug, Clone, Copy)]
pub struct Embeddings<'a> {
    values: Values<'a>,
    dim: usize,
    offset: Option<&'a [f64]>,
    interrupt: Option<&'a Interrupt>,
}

impl<'a> Embeddings<'a> {
    /// Views `values` as rows of `dim` numbers.
    pub fn new(values: impl Into<Values<'a>>, dim: usize) -> Result<Self> {
        let values = values.into();
        if dim == 0 || values.is_empty() {
            return Err(Error::Empty { what: "matrix" });
        }
        if !values.len().is_multiple_of(dim) {
            return Err(Error::Ragged { len: values.len(), dim });
        }
        Ok(Self { values, dim, offset: None, interrupt: None })
    }

    /// The same rows, each less `offset` (the pool's mean, say).
    pub fn centered(self, offset: &'a [f64]) -> Self {
        assert_eq!(offset.len(), self.dim, "an offset has the embeddings' dimension");
        Self { offset: Some(offset), ..self }
    }

    /// The same rows; work that reads them ends once `interrupt` is set.
    pub fn watching(self, interrupt: &'a Interrupt) -> Self {
        Self { interrupt: Some(interrupt), ..self }
    }

    /// These rows; work that reads them ends as work that reads `other` does.
    pub(crate) fn watching_as(self, other: Embeddings<'a>) -> Self {
        Self { interrupt: other.interrupt, ..self }
    }

    fn check_interrupt(&self) {
        self.interrupt.iter().for_each(|interrupt| interrupt.check());
    }

    /// Whether an offset is subtracted.
    pub fn is_centered(&self) -> bool {
        self.offset.is_some()
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Numbers a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The numbers as they are stored, without the offset.
    pub fn values(&self) -> Values<'a> {
        self.values
    }

    /// Writes the rows of `range` to `out` (range.len() × dim), one after the other.
    pub fn read(&self, range: Range<usize>, out: &mut [f64]) {
        self.check_interrupt();
        self.values.write_f64(range.start * self.dim..range.end * self.dim, out);
        if let Some(offset) = self.offset {
            for row in out.chunks_exact_mut(self.dim) {
                for (o, m) in row.iter_mut().zip(offset) {
                    *o -= m;
                }
            }
        }
    }

    /// Writes some columns of a row to `out`.
    pub(crate) fn read_part(&self, row: usize, columns: Range<usize>, out: &mut [f64]) {
        self.check_interrupt();
        let start = row * self.dim;
        self.values.write_f64(start + columns.start..start + columns.end, out);
        if let Some(offset) = self.offset {
            out.iter_mut().zip(&offset[columns]).for_each(|(out, m)| *out -= m);
        }
    }

    /// Tells a source of the rows that are about to be read, when they do not follow one another.
    pub(crate) fn announce(&self, rows: &[usize]) {
        if let Values::Source(source) = self.values
            && runs(rows).nth(1).is_some()
        {
            runs(rows).for_each(|(_, range)| source.announce(range.start * self.dim..range.end * self.dim));
        }
    }

    /// Refuses numbers of which a read has failed.
    pub fn check_read(&self) -> Result<()> {
        match self.values {
            Values::Source(source) => source.failure().map_or(Ok(()), |reason| Err(Error::Unreadable(reason))),
            _ => Ok(()),
        }
    }

    /// The rows of `range` as f32: in place where they are that already, else rounded into `buffer`.
    pub(crate) fn block_f32<'b>(&self, range: Range<usize>, buffer: &'b mut [f32]) -> &'b [f32]
    where
        'a: 'b,
    {
        self.check_interrupt();
        if let (Values::F32(v), None) = (self.values, self.offset) {
            return &v[range.start * self.dim..range.end * self.dim];
        }
        let buffer = &mut buffer[..range.len() * self.dim];
        self.read_f32(range, buffer);
        buffer
    }

    /// Writes the rows of `range` to `out` as f32.
    fn read_f32(&self, range: Range<usize>, out: &mut [f32]) {
        self.check_interrupt();
        if self.offset.is_none() {
            return self.values.write_f32(range.start * self.dim..range.end * self.dim, out);
        }
        let mut rows = vec![0.0; out.len()];
        self.read(range, &mut rows);
        out.iter_mut().zip(&rows).for_each(|(out, &x)| *out = x as f32);
    }

    /// Whether f32 holds every row exactly.
    pub(crate) fn fits_f32(&self) -> bool {
        self.offset.is_none()
            && match self.values {
                Values::F64(_) => false,
                Values::F32(_) | Values::F16(_) | Values::Bf16(_) => true,
                Values::Source(source) => source.fits_f32(),
            }
    }

    /// Some rows as f32, one after the other.
    pub(crate) fn gather_f32(&self, rows: &[usize], out: &mut [f32]) {
        for (rows, out) in rows.chunks(ANNOUNCED).zip(out.chunks_mut(ANNOUNCED * self.dim)) {
            self.announce(rows);
            for (at, range) in runs(rows) {
                self.read_f32(range, &mut out[at.start * self.dim..at.end * self.dim]);
            }
        }
    }

    /// One row.
    pub fn row(&self, index: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.dim];
        self.read(index..index + 1, &mut out);
        out
    }

    /// The number in row `row`, column `column`.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        let at = row * self.dim + column;
        let value = match self.values {
            Values::F32(v) => f64::from(v[at]),
            Values::F64(v) => v[at],
            Values::F16(v) => v[at].to_f64(),
            Values::Bf16(v) => v[at].to_f64(),
            Values::Source(source) => {
                let mut value = [0.0];
                source.read_f64(at, &mut value);
                value[0]
            }
        };
        value - self.offset.map_or(0.0, |offset| offset[column])
    }

    /// Refuses NaN and infinity, by row number.
    pub fn check_finite(&self, what: &'static str) -> Result<()> {
        let bad = self.map_blocks(|start, block| {
            let at = block.iter().position(|x| !x.is_finite())?;
            Some(start + at / self.dim)
        });
        self.check_read()?;
        match bad.into_iter().flatten().next() {
            Some(row) => Err(Error::NotFinite { what, row }),
            None => Ok(()),
        }
    }

    /// The mean row.
    pub fn mean(&self) -> Vec<f64> {
        let sums = self.map_blocks(|_, block| {
            let mut sum = vec![0.0; self.dim];
            for row in block.chunks_exact(self.dim) {
                for (s, x) in sum.iter_mut().zip(row) {
                    *s += x;
                }
            }
            sum
        });
        let mut mean = vec![0.0; self.dim];
        for sum in sums {
            for (m, s) in mean.iter_mut().zip(sum) {
                *m += s;
            }
        }
        mean.iter_mut().for_each(|m| *m /= self.rows() as f64);
        mean
    }

    /// Applies `f` to every block of rows (its first row's number, its values); answers in order.
    pub(crate) fn map_blocks<T: Send>(&self, f: impl Fn(usize, &[f64]) -> T + Sync) -> Vec<T> {
        crate::Points::from(*self).map_blocks(f)
    }
}

/// The stretches of a list in which each row follows the one before it: their places in the list, and their rows.
pub(crate) fn runs(rows: &[usize]) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let mut from = 0;
    rows.chunk_by(|row, next| *next == row + 1).map(move |run| {
        let at = from..from + run.len();
        from = at.end;
        (at, run[0]..run[0] + run.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_reads_as_the_same_numbers() {
        let want = [1.0, -2.0, 0.5, 4.0];
        let single: Vec<f32> = want.iter().map(|&x| x as f32).collect();
        let half: Vec<f16> = want.iter().map(|&x| f16::from_f64(x)).collect();
        let brain: Vec<bf16> = want.iter().map(|&x| bf16::from_f64(x)).collect();
        for values in [Values::F64(&want), Values::F32(&single), Values::F16(&half), Values::Bf16(&brain)] {
            let view = Embeddings::new(values, 2).unwrap();
            assert_eq!(view.row(0), want[..2]);
            assert_eq!(view.row(1), want[2..]);
            assert_eq!(view.mean(), [0.75, 1.0]);
        }
    }

    #[test]
    fn a_bad_value_is_named_by_its_row() {
        let mut values = vec![0.0f32; 3 * 700];
        values[3 * 600 + 1] = f32::NAN;
        let view = Embeddings::new(&values[..], 3).unwrap();
        assert_eq!(view.check_finite("pool"), Err(Error::NotFinite { what: "pool", row: 600 }));
    }

    #[test]
    fn rows_in_sequence_are_one_run() {
        let found: Vec<_> = runs(&[3, 4, 5, 9, 8, 9]).collect();
        assert_eq!(found, [(0..3, 3..6), (3..4, 9..10), (4..6, 8..10)]);
        assert_eq!(runs(&[]).count(), 0);
    }

    #[test]
    fn rows_must_be_whole() {
        assert_eq!(Embeddings::new(&[0.0f32; 5][..], 2).unwrap_err(), Error::Ragged { len: 5, dim: 2 });
    }
}
