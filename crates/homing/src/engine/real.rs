//! The precisions in which the numbers and products of cold rows are computed.

use std::fmt::Debug;
use std::ops::{AddAssign, Mul, Range, Sub, SubAssign};

use faer::traits::ComplexField;

use crate::rules::Reals;
use crate::shard::Transform;
use crate::{Embeddings, Points};

/// f32, or f64 if f32 cannot distinguish the best rows.
pub(crate) trait Real:
    ComplexField + Copy + Default + Debug + 'static + Mul<Output = Self> + Sub<Output = Self> + AddAssign + SubAssign
{
    /// Half an ulp at one.
    const UNIT: f64;

    fn of(x: f64) -> Self;
    fn get(self) -> f64;

    /// Returns |x|, rounded to f32.
    fn size(self) -> f32;

    /// Returns the rows in `range`, in place or in `buffer`.
    fn block<'b, 'p: 'b>(pool: Embeddings<'p>, range: Range<usize>, buffer: &'b mut [Self]) -> &'b [Self];

    /// Writes the given rows to `out`, row-major.
    fn gather(pool: Embeddings<'_>, rows: &[usize], out: &mut [Self]);

    /// Returns the error of a row that was read in this type because of the pool's transform, in units of [`Real::UNIT`].
    fn transform_ulps(transform: Transform<'_>, dim: usize) -> usize;

    fn view(numbers: &[Self]) -> Reals<'_>;
}

impl Real for f32 {
    const UNIT: f64 = f32::EPSILON as f64 / 2.0;

    fn of(x: f64) -> Self {
        x as f32
    }

    fn get(self) -> f64 {
        f64::from(self)
    }

    fn size(self) -> f32 {
        self.abs()
    }

    fn block<'b, 'p: 'b>(pool: Embeddings<'p>, range: Range<usize>, buffer: &'b mut [Self]) -> &'b [Self] {
        pool.block_f32(range, buffer)
    }

    fn gather(pool: Embeddings<'_>, rows: &[usize], out: &mut [Self]) {
        pool.gather_f32(rows, out);
    }

    fn transform_ulps(transform: Transform<'_>, dim: usize) -> usize {
        transform.single_ulps(dim)
    }

    fn view(numbers: &[Self]) -> Reals<'_> {
        Reals::F32(numbers)
    }
}

impl Real for f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;

    fn of(x: f64) -> Self {
        x
    }

    fn get(self) -> f64 {
        self
    }

    fn size(self) -> f32 {
        self.abs() as f32
    }

    fn block<'b, 'p: 'b>(pool: Embeddings<'p>, range: Range<usize>, buffer: &'b mut [Self]) -> &'b [Self] {
        let buffer = &mut buffer[..range.len() * pool.dim()];
        pool.read(range, buffer);
        buffer
    }

    fn gather(pool: Embeddings<'_>, rows: &[usize], out: &mut [Self]) {
        out.copy_from_slice(&Points::from(pool).gather(rows));
    }

    fn transform_ulps(_transform: Transform<'_>, _dim: usize) -> usize {
        0
    }

    fn view(numbers: &[Self]) -> Reals<'_> {
        Reals::F64(numbers)
    }
}
