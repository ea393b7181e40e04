//! A borrowed matrix of embeddings, one row per example, in the number format of its file.

use std::ops::Range;

use rayon::prelude::*;

use crate::shard::{BLOCK, Carrier, Transform};
use crate::{Error, Interrupt, Result, StoredValues};

/// Scattered rows that are announced together: enough to keep a disk busy, and few enough to be read before the cache
/// evicts them.
pub(crate) const ANNOUNCED: usize = 1024;

/// Rows that are converted and transformed together.
const TOGETHER: usize = 8;

/// A view of `rows × dim` embeddings. Copying the view copies no data.
///
/// Rows are read as f64, whatever their format. The offset is subtracted if there is one (see [`Embeddings::centered`]), and
/// then the row is scaled to unit length if that is wanted (see [`Embeddings::normalized`]).
///
/// ```
/// use homing::Embeddings;
///
/// let pool = [1.0f32, 0.0, 0.5, 0.25, 0.0, 1.0]; // three rows of two numbers
/// let view = Embeddings::new(&pool, 2)?;
/// assert_eq!((view.rows(), view.dim()), (3, 2));
/// assert_eq!(view.row(1), [0.5, 0.25]);
///
/// let mean = [0.5, 0.0];
/// assert_eq!(view.centered(&mean).row(1), [0.0, 0.25]);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Embeddings<'a> {
    values: StoredValues<'a>,
    dim: usize,
    transform: Transform<'a>,
    interrupt: Option<&'a Interrupt>,
}

impl<'a> Embeddings<'a> {
    /// Views `values` as rows of `dim` numbers.
    pub fn new(values: impl Into<StoredValues<'a>>, dim: usize) -> Result<Self> {
        let values = values.into();
        if dim == 0 || values.is_empty() {
            return Err(Error::Empty { what: "matrix" });
        }
        if !values.len().is_multiple_of(dim) {
            return Err(Error::Ragged { len: values.len(), dim });
        }
        Ok(Self { values, dim, transform: Transform::default(), interrupt: None })
    }

    /// Returns a view of the same rows with `offset` subtracted from each, for example the pool's mean.
    pub fn centered(self, offset: &'a [f64]) -> Self {
        assert_eq!(offset.len(), self.dim, "an offset has as many numbers as a row");
        Self { transform: Transform { offset: Some(offset), ..self.transform }, ..self }
    }

    /// Returns a view of the same rows, each scaled to unit length after the offset is subtracted. A row of zeros stays one.
    ///
    /// ```
    /// use homing::Embeddings;
    ///
    /// let pool = [3.0f32, 4.0, 0.0, 0.0];
    /// let view = Embeddings::new(&pool, 2)?.normalized();
    /// assert_eq!((view.row(0), view.row(1)), (vec![0.6, 0.8], vec![0.0, 0.0]));
    /// # Ok::<(), homing::Error>(())
    /// ```
    pub fn normalized(self) -> Self {
        Self { transform: Transform { to_unit: true, ..self.transform }, ..self }
    }

    /// Returns a view of the same rows at their own lengths.
    pub(crate) fn unscaled(self) -> Self {
        Self { transform: Transform { to_unit: false, ..self.transform }, ..self }
    }

    /// Returns a view of the same rows. Work that reads them ends once `interrupt` is set.
    pub fn watching(self, interrupt: &'a Interrupt) -> Self {
        Self { interrupt: Some(interrupt), ..self }
    }

    /// Returns a view of the same rows that watches the interrupt of `other`.
    pub(crate) fn watching_as(self, other: Embeddings<'a>) -> Self {
        Self { interrupt: other.interrupt, ..self }
    }

    fn check_interrupt(&self) {
        self.interrupt.iter().for_each(|interrupt| interrupt.check());
    }

    /// Returns whether an offset is subtracted.
    pub fn is_centered(&self) -> bool {
        self.transform.offset.is_some()
    }

    /// Returns whether rows are scaled to unit length.
    pub fn is_normalized(&self) -> bool {
        self.transform.to_unit
    }

    /// Returns what is done to rows when they are read.
    pub(crate) fn transform(&self) -> Transform<'a> {
        self.transform
    }

    /// Returns the same view of a copy of the numbers that lies elsewhere, such as on a device.
    ///
    /// ```
    /// use homing::Embeddings;
    ///
    /// let (pool, copy, mean) = ([1.0f32, 3.0], [1.0f64, 3.0], [2.0]);
    /// let view = Embeddings::new(&pool, 1)?.centered(&mean);
    /// assert_eq!(view.of_copy(&copy)?.row(1), [1.0]);
    /// # Ok::<(), homing::Error>(())
    /// ```
    pub fn of_copy(self, values: impl Into<StoredValues<'a>>) -> Result<Self> {
        let view = Self::new(values, self.dim)?;
        assert_eq!(view.rows(), self.rows(), "a copy has as many rows");
        Ok(Self { values: view.values, ..self })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Returns the number of values per row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the values as they are stored, without the offset.
    pub fn values(&self) -> StoredValues<'a> {
        self.values
    }

    /// Writes the rows in `range` to `out` (range.len() × dim), row-major.
    pub fn read(&self, range: Range<usize>, out: &mut [f64]) {
        self.check_interrupt();
        for (rows, out) in self.parts(range, out) {
            self.values.write_f64(rows.start * self.dim..rows.end * self.dim, out);
            self.transform.apply(self.dim, out);
        }
    }

    /// Splits a range of rows that are about to be transformed into parts that fit into the innermost cache. A source reads them
    /// at once.
    fn parts<'o, T>(
        &self,
        range: Range<usize>,
        out: &'o mut [T],
    ) -> impl Iterator<Item = (Range<usize>, &'o mut [T])> + use<'o, T> {
        let is_whole = self.transform.is_identity() || matches!(self.values, StoredValues::Source(_));
        let (len, dim) = (if is_whole { range.len().max(1) } else { TOGETHER }, self.dim);
        out.chunks_mut(len * dim).enumerate().map(move |(i, out)| {
            let start = range.start + i * len;
            (start..start + out.len() / dim, out)
        })
    }

    /// Writes a range of columns of one row to `out`. Rows must not be scaled, because that needs all of their columns.
    pub(crate) fn read_part(&self, row: usize, columns: Range<usize>, out: &mut [f64]) {
        debug_assert!(!self.is_normalized(), "a part of a row does not tell its length");
        self.check_interrupt();
        let start = row * self.dim;
        self.values.write_f64(start + columns.start..start + columns.end, out);
        if let Some(offset) = self.transform.offset {
            out.iter_mut().zip(&offset[columns]).for_each(|(out, m)| *out -= m);
        }
    }

    /// Announces rows that are about to be read to their source, unless they form one contiguous range.
    pub(crate) fn announce(&self, rows: &[usize]) {
        if let StoredValues::Source(source) = self.values
            && runs(rows).nth(1).is_some()
        {
            runs(rows).for_each(|(_, range)| source.announce(range.start * self.dim..range.end * self.dim));
        }
    }

    /// Returns the carrier that can compute on the rows where they lie, if there is one.
    pub(crate) fn carrier(&self) -> Option<&'a dyn Carrier> {
        match self.values {
            StoredValues::Source(source) => source.carrier(),
            _ => None,
        }
    }

    /// Returns an error if a read has failed.
    pub fn check_read(&self) -> Result<()> {
        match self.values {
            StoredValues::Source(source) => source.failure().map_or(Ok(()), |reason| Err(Error::Unreadable(reason))),
            _ => Ok(()),
        }
    }

    /// Returns the rows in `range` as f32: in place if they are stored as f32, otherwise rounded into `buffer`.
    pub(crate) fn block_f32<'b>(&self, range: Range<usize>, buffer: &'b mut [f32]) -> &'b [f32]
    where
        'a: 'b,
    {
        self.check_interrupt();
        let at = range.start * self.dim..range.end * self.dim;
        if self.transform.is_identity()
            && let Some(StoredValues::F32(values)) = self.values.slice(at)
        {
            return values;
        }
        let buffer = &mut buffer[..range.len() * self.dim];
        self.read_f32(range, buffer);
        buffer
    }

    /// Writes the rows in `range` to `out` as f32. Transformed rows are off as [`Transform::single_ulps`] says.
    fn read_f32(&self, range: Range<usize>, out: &mut [f32]) {
        self.check_interrupt();
        if self.transform.is_identity() {
            return self.values.write_f32(range.start * self.dim..range.end * self.dim, out);
        }
        for (rows, out) in self.parts(range, out) {
            self.values.write_f32(rows.start * self.dim..rows.end * self.dim, out);
            self.transform_single(|i| rows.start + i, out);
        }
    }

    /// Transforms rows as they are stored, of which the one at position i has the number `row(i)`. Rows for which f32 is too
    /// coarse are read again.
    fn transform_single(&self, row: impl Fn(usize) -> usize, rows: &mut [f32]) {
        for i in self.transform.apply_single(self.dim, rows) {
            let exact = self.row(row(i));
            rows[i * self.dim..][..self.dim].iter_mut().zip(exact).for_each(|(out, x)| *out = x as f32);
        }
    }

    /// Returns whether f32 holds every row exactly.
    pub(crate) fn fits_f32(&self) -> bool {
        self.transform.is_identity()
            && match self.values {
                StoredValues::F64(_) => false,
                StoredValues::F32(_) | StoredValues::F16(_) | StoredValues::Bf16(_) => true,
                StoredValues::Source(source) => source.fits_f32(),
            }
    }

    /// Writes the given rows to `out` as f32, row-major.
    pub(crate) fn gather_f32(&self, rows: &[usize], out: &mut [f32]) {
        if let StoredValues::Source(source) = self.values
            && source.fits_f32()
            && source.gather_f32(rows, self.dim, out)
        {
            if !self.transform.is_identity() {
                self.transform_single(|i| rows[i], out);
            }
            return;
        }
        for (rows, out) in rows.chunks(ANNOUNCED).zip(out.chunks_mut(ANNOUNCED * self.dim)) {
            self.announce(rows);
            for (at, range) in runs(rows) {
                self.read_f32(range, &mut out[at.start * self.dim..at.end * self.dim]);
            }
        }
    }

    /// Writes the given rows to `out`, row-major, if their source can read them at once. Returns whether it did.
    pub(crate) fn gather_at_once(&self, rows: &[usize], out: &mut [f64]) -> bool {
        let StoredValues::Source(source) = self.values else { return false };
        self.check_interrupt();
        let is_done = source.gather_f64(rows, self.dim, out);
        if is_done {
            self.transform.apply(self.dim, out);
        }
        is_done
    }

    /// Returns one row.
    pub fn row(&self, row: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.dim];
        self.read(row..row + 1, &mut out);
        out
    }

    /// Returns the number in row `row` and column `column`.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        if self.is_normalized() {
            return self.row(row)[column];
        }
        let at = row * self.dim + column;
        let value = match self.values {
            StoredValues::F32(v) => f64::from(v[at]),
            StoredValues::F64(v) => v[at],
            StoredValues::F16(v) => v[at].to_f64(),
            StoredValues::Bf16(v) => v[at].to_f64(),
            StoredValues::Source(source) => {
                let mut value = [0.0];
                source.read_f64(at, &mut value);
                value[0]
            }
        };
        value - self.transform.offset.map_or(0.0, |offset| offset[column])
    }

    /// Returns an error that names the first row with a NaN or an infinity, if there is one.
    pub fn check_finite(&self, what: &'static str) -> Result<()> {
        if let Some(carrier) = self.carrier() {
            // A carrier measures only finite rows.
            if carrier.survey(self.transform).is_some() {
                return Ok(());
            }
            self.check_read()?;
            if let Some(row) = carrier.bad_row() {
                return Err(Error::NotFinite { what, row });
            }
        }
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

    /// Returns the mean of all rows.
    pub fn mean(&self) -> Vec<f64> {
        if self.transform.is_identity()
            && let Some(mean) = self.carrier().and_then(Carrier::mean)
        {
            return mean;
        }
        if self.check_read().is_err() {
            return vec![0.0; self.dim];
        }
        let sums = self.map_blocks(|_, block| {
            let mut sum = vec![0.0; self.dim];
            pulp::Arch::new().dispatch(|| {
                for row in block.chunks_exact(self.dim) {
                    for (s, x) in sum.iter_mut().zip(row) {
                        *s += x;
                    }
                }
            });
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

    /// Applies `f` to every block of rows (the number of its first row, and its values), and returns the results in order.
    pub(crate) fn map_blocks<T: Send>(&self, f: impl Fn(usize, &[f64]) -> T + Sync) -> Vec<T> {
        map_blocks(self.rows(), self.dim, |range, out| self.read(range, out), f)
    }
}

/// Reads all rows in blocks by `read`, applies `f` to each (the number of its first row, and its values), and returns the
/// results in order.
pub(crate) fn map_blocks<T: Send>(
    rows: usize,
    dim: usize,
    read: impl Fn(Range<usize>, &mut [f64]) + Sync,
    f: impl Fn(usize, &[f64]) -> T + Sync,
) -> Vec<T> {
    (0..rows.div_ceil(BLOCK))
        .into_par_iter()
        .map_init(
            || vec![0.0; BLOCK.min(rows) * dim],
            |buffer, block| {
                let range = block * BLOCK..rows.min((block + 1) * BLOCK);
                let values = &mut buffer[..range.len() * dim];
                read(range.clone(), values);
                f(range.start, values)
            },
        )
        .collect()
}

/// Splits a list of rows into runs of consecutive rows. Returns each run's positions in the list, and its rows.
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
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn every_format_reads_as_the_same_numbers() {
        let want = [1.0, -2.0, 0.5, 4.0];
        let single: Vec<f32> = want.iter().map(|&x| x as f32).collect();
        let half: Vec<f16> = want.iter().map(|&x| f16::from_f64(x)).collect();
        let brain: Vec<bf16> = want.iter().map(|&x| bf16::from_f64(x)).collect();
        for values in
            [StoredValues::F64(&want), StoredValues::F32(&single), StoredValues::F16(&half), StoredValues::Bf16(&brain)]
        {
            let view = Embeddings::new(values, 2).unwrap();
            assert_eq!(view.row(0), want[..2]);
            assert_eq!(view.row(1), want[2..]);
            assert_eq!(view.mean(), [0.75, 1.0]);
        }
    }

    #[test]
    fn rows_of_unit_length_in_every_way_of_reading() {
        let values = [3.0f32, 5.0, 1.0, 1.0, 1.0, 3.0];
        let offset = [1.0, 1.0];
        let view = Embeddings::new(&values, 2).unwrap().centered(&offset).normalized();
        let want = [[2.0 / 20f64.sqrt(), 4.0 / 20f64.sqrt()], [0.0, 0.0], [0.0, 1.0]];
        let mut buffer = [0.0; 6];
        let single = view.block_f32(0..3, &mut buffer).to_vec();
        for (row, want) in want.iter().enumerate() {
            for (column, want) in want.iter().enumerate() {
                assert!((view.row(row)[column] - want).abs() < 1e-15);
                assert!((view.entry(row, column) - want).abs() < 1e-15);
                assert!((f64::from(single[2 * row + column]) - want).abs() < 1e-7);
            }
        }
        assert!(!view.fits_f32());
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
