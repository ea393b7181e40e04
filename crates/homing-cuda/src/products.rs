//! Products of rows with functionals, block by block.

use std::sync::Arc;

use crate::buffer::{Buffer, read_address};
use crate::device::{launch, through_all};
use crate::pool::Format;
use crate::real::{Product, Real};
use crate::rows::{Rows, RowsArgument};
use crate::tensor::{ROWS, TensorCores, pack};
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

/// Functionals on the device, and room for their products.
pub(crate) struct Products<T> {
    device: Arc<Device>,
    dim: usize,
    /// Whether tensor cores multiply; otherwise cuBLAS does.
    on_tensor_cores: bool,
    functionals: Buffer<T>,
    count: usize,
    out: Buffer<T>,
    /// Rows in the format of the products, for cuBLAS, if they are stored in another or transformed.
    converted: Buffer<T>,
    /// Rows that lie in the memory of the machine.
    window: Buffer<u8>,
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
    /// Prepares to multiply rows of `dim` numbers that start at an address.
    pub fn new(device: &Arc<Device>, dim: usize, address: u64) -> Self {
        let [functionals, out, converted] = std::array::from_fn(|_| Buffer::new(device));
        let on_tensor_cores = T::tensor_cores(device).is_some() && TensorCores::take(dim, address);
        let window = Buffer::new(device);
        Self { device: device.clone(), dim, on_tensor_cores, functionals, count: 0, out, converted, window }
    }

    /// Returns the error factor γ of a product. For cuBLAS: any order of summation within runs of [`RUN`] terms, the sum of the
    /// runs, and the rounding of the functional and of a transformed row (Higham 2002, §3.1).
    pub fn error(&self) -> f64 {
        if self.on_tensor_cores {
            return TensorCores::error(self.dim);
        }
        1.01 * T::UNIT * (self.dim.min(RUN) + self.dim.div_ceil(RUN) + 3) as f64
    }

    /// Copies functionals to the device.
    pub fn set<'w>(&mut self, functionals: impl IntoIterator<Item = &'w [f64]>) -> Result<()> {
        let all: Vec<&[f64]> = functionals.into_iter().collect();
        self.count = all.len();
        let numbers: Vec<T> = if self.on_tensor_cores {
            pack(&all, self.dim).into_iter().map(|w| T::of(w.into())).collect()
        } else {
            all.concat().into_iter().map(T::of).collect()
        };
        self.functionals.fill(&numbers)?;
        Ok(())
    }

    /// Multiplies all rows, and calls `f` with the products of each block.
    pub fn of_all(&mut self, stored: &Rows<'_>, mut f: impl FnMut(Block) -> Result<()>) -> Result<()> {
        let (all, dim) = (stored.part.rows.len(), self.dim);
        let mut most = (BLOCK_BYTES / size_of::<T>() / self.count.max(1)).clamp(FEWEST_ROWS, MOST_ROWS);
        let converts = !self.on_tensor_cores && stored.in_place::<T>(0).is_none();
        if converts {
            most = most.min((CONVERTED_BYTES / size_of::<T>() / dim).max(FEWEST_ROWS / 4));
        }
        let blocks = all.div_ceil(most.min(all).max(1));
        let size = all.div_ceil(blocks.max(1)).next_multiple_of(ROWS);
        let address = self.out.reserve(size * self.count)?;
        for first in (0..all).step_by(size.max(1)) {
            let rows = size.min(all - first);
            if self.on_tensor_cores {
                let nearby = stored.nearby(first..first + rows, &mut self.window)?;
                self.multiply_on_tensor_cores(nearby, (first, rows), (address, size))?;
            } else if let Some(values) = stored.in_place::<T>(first) {
                self.multiply(values, rows, address, size)?;
            } else {
                let to = self.converted.reserve(size * dim)?;
                let kernels = T::kernels(&self.device);
                launch!(self.device, kernels.convert, through_all(), stored.argument(), first as i64, rows as i32, to);
                self.multiply(to, rows, address, size)?;
            }
            f(Block { first, rows, address, stride: size })?;
        }
        Ok(())
    }

    /// Multiplies all rows with the only functional, and copies the products to memory.
    pub fn read_all(&mut self, stored: &Rows<'_>, out: &mut [T]) -> Result<()> {
        assert_eq!(self.count, 1, "a block then holds its products in one piece");
        let device = self.device.clone();
        self.of_all(stored, |block| {
            read_address(&device, block.address, &mut out[block.first..block.first + block.rows])
        })
    }

    /// Multiplies rows at an address, in the format of the products.
    pub fn of_rows(&mut self, values: u64, rows: usize) -> Result<Block> {
        let address = self.out.reserve(rows * self.count)?;
        if self.on_tensor_cores {
            let rows_at = RowsArgument::plain(values, Format::F32, self.dim);
            self.multiply_on_tensor_cores(rows_at, (0, rows), (address, rows))?;
        } else {
            self.multiply(values, rows, address, rows)?;
        }
        Ok(Block { first: 0, rows, address, stride: rows })
    }

    fn multiply_on_tensor_cores(&self, stored: RowsArgument, rows: (usize, usize), out: (u64, usize)) -> Result<()> {
        match T::tensor_cores(&self.device) {
            Some(kernels) if self.count > 0 && rows.1 > 0 => {
                kernels.multiply(&self.device, stored, rows, (self.functionals.at(0), self.count), out)
            }
            _ => Ok(()),
        }
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

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use homing::shard::Transform;
    use homing::{Embeddings, StoredValues};

    use super::*;
    use crate::DevicePool;

    /// Numbers of very different sizes and both signs.
    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        let mut state = seed as u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..count).map(|_| (next() - 0.5) * (12.0 * next() - 6.0).exp2()).collect()
    }

    fn assert_within(pool: Embeddings<'_>, device: &Arc<Device>, offset: &[f64], name: &str) {
        let held = DevicePool::upload(pool, std::slice::from_ref(device)).unwrap();
        let dim = pool.dim();
        for (transform, view) in [
            (Transform::default(), pool),
            (Transform { offset: Some(offset), to_unit: true }, pool.centered(offset).normalized()),
        ] {
            let part = &held.parts[0];
            let (rows, _) = part.read_as(dim, held.format(), transform).unwrap();
            for count in [1, 16, 41, 130] {
                let all = numbers(count * dim, count);
                let mut products = Products::<f32>::new(device, dim, part.values.at(0));
                products.set(all.chunks_exact(dim)).unwrap();
                let (gamma, mut most) = (products.error(), 0.0f64);
                let mut blocks = Vec::new();
                let noted = products.of_all(&rows, |block| {
                    blocks.push(block);
                    Ok(())
                });
                assert_eq!((noted, blocks.len()), (Ok(()), 1), "a small pool is one block");
                let stride = blocks[0].stride;
                let mut values = vec![0.0; stride * count];
                products.out.read(&mut values).unwrap();
                for row in 0..pool.rows() {
                    let x = view.row(row);
                    for (f, w) in all.chunks_exact(dim).enumerate() {
                        let exact: f64 = x.iter().zip(w).map(|(a, b)| a * b).sum();
                        let size = |v: &[f64]| v.iter().map(|a| a * a).sum::<f64>().sqrt();
                        let error = (f64::from(values[f * stride + row]) - exact).abs();
                        most = most.max(error / (gamma * size(&x) * size(w)));
                    }
                }
                println!("{name}, {dim} dimensions, {count} functionals: {most:.4} of the bound");
                assert!(most <= 1.0);
            }
        }
    }

    #[test]
    fn products_on_a_device_stay_within_their_bounds() {
        let Ok(device) = Device::open(0) else {
            println!("skipped: there is no GPU");
            return;
        };
        for dim in [32, 33, 96, 512, 1280] {
            let exact = numbers(300 * dim, dim);
            let offset = numbers(dim, 7);
            let single: Vec<f32> = exact.iter().map(|&x| x as f32).collect();
            let half: Vec<f16> = exact.iter().map(|&x| f16::from_f64(x)).collect();
            let brain: Vec<bf16> = exact.iter().map(|&x| bf16::from_f64(x)).collect();
            assert_within(Embeddings::new(&single[..], dim).unwrap(), &device, &offset, "f32");
            assert_within(Embeddings::new(StoredValues::F16(&half), dim).unwrap(), &device, &offset, "f16");
            assert_within(Embeddings::new(StoredValues::Bf16(&brain), dim).unwrap(), &device, &offset, "bf16");
        }
    }
}
