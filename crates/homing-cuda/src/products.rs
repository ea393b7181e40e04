//! Products of rows with functionals, block by block.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::{launch, through_all};
use crate::real::{Product, Real};
use crate::rows::Rows;
use crate::{Device, Result};

/// Number of terms that are summed before they are added to a longer sum.
const RUN: usize = 512;

/// Size of the products of one block, which stay in the cache of the device until they are read, and of its rows if they
/// are converted.
const BLOCK_BYTES: usize = 24 << 20;
const CONVERTED_BYTES: usize = 48 << 20;

/// Fewest and most rows of a block.
const FEWEST_ROWS: usize = 4096;
const MOST_ROWS: usize = 1 << 17;

/// Error factor γ of a product: any order of summation within runs of [`RUN`] terms, the sum of the runs, and the rounding
/// of the functional and of a transformed row (Higham 2002, §3.1).
pub(crate) fn product_error<T: Real>(dim: usize) -> f64 {
    1.01 * T::UNIT * (dim.min(RUN) + dim.div_ceil(RUN) + 3) as f64
}

/// Functionals on the device, and room for their products.
pub(crate) struct Products<T> {
    device: Arc<Device>,
    dim: usize,
    functionals: Buffer<T>,
    count: usize,
    out: Buffer<T>,
    /// Rows in the format of the products, if they are stored in another or transformed.
    converted: Buffer<T>,
}

/// The products of one block: one column of `stride` entries per functional.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub first: usize,
    pub rows: usize,
    pub address: u64,
    pub stride: usize,
}

impl<T: Real> Products<T> {
    pub fn new(device: &Arc<Device>, dim: usize) -> Self {
        let [functionals, out, converted] = std::array::from_fn(|_| Buffer::new(device));
        Self { device: device.clone(), dim, functionals, count: 0, out, converted }
    }

    /// Copies functionals to the device.
    pub fn set<'w>(&mut self, functionals: impl IntoIterator<Item = &'w [f64]>) -> Result<()> {
        let all: Vec<T> = functionals.into_iter().flatten().map(|&w| T::of(w)).collect();
        self.count = all.len() / self.dim;
        self.functionals.fill(&all)?;
        Ok(())
    }

    /// Multiplies all rows, and calls `f` with the products of each block.
    pub fn of_all(&mut self, stored: &Rows<'_>, mut f: impl FnMut(Block) -> Result<()>) -> Result<()> {
        let (all, dim) = (stored.part.rows.len(), self.dim);
        let mut most = (BLOCK_BYTES / size_of::<T>() / self.count.max(1)).clamp(FEWEST_ROWS, MOST_ROWS);
        if stored.in_place::<T>(0).is_none() {
            most = most.min((CONVERTED_BYTES / size_of::<T>() / dim).max(FEWEST_ROWS / 4));
        }
        let blocks = all.div_ceil(most.min(all).max(1));
        let size = all.div_ceil(blocks.max(1)).next_multiple_of(32);
        let address = self.out.reserve(size * self.count)?;
        for first in (0..all).step_by(size.max(1)) {
            let rows = size.min(all - first);
            let values = if let Some(values) = stored.in_place::<T>(first) {
                values
            } else {
                let to = self.converted.reserve(size * dim)?;
                let kernels = T::kernels(&self.device);
                launch!(self.device, kernels.convert, through_all(), stored.argument(), first as i64, rows as i32, to);
                to
            };
            self.multiply(values, rows, address, size)?;
            f(Block { first, rows, address, stride: size })?;
        }
        Ok(())
    }

    /// Multiplies rows at an address.
    pub fn of_rows(&mut self, values: u64, rows: usize) -> Result<Block> {
        let address = self.out.reserve(rows * self.count)?;
        self.multiply(values, rows, address, rows)?;
        Ok(Block { first: 0, rows, address, stride: rows })
    }

    #[allow(unsafe_code, reason = "cuBLAS takes addresses")]
    fn multiply(&self, values: u64, rows: usize, out: u64, out_stride: usize) -> Result<()> {
        if self.count == 0 || rows == 0 {
            return Ok(());
        }
        let (count, stride) = (self.count, self.dim);
        for from in (0..stride).step_by(RUN) {
            let inner = RUN.min(stride - from);
            let at = (from * size_of::<T>()) as u64;
            let (left, right, adds) = (values + at, self.functionals.at(0) + at, from > 0);
            let product = Product { left, right, out, rows, count, inner, stride, out_stride, adds };
            // SAFETY: `values` holds rows × dim numbers, the functionals count × dim, and `out` count × stride, where stride ≥
            // rows; rows and functionals are contiguous.
            unsafe { T::product(&self.device.blas, &product) }?;
        }
        Ok(())
    }
}
