//! Products on tensor cores, in nearly the precision of f32.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, LaunchConfig};

use crate::device::launch;
use crate::kernels::compiled;
use crate::pool::Format;
use crate::rows::RowsArgument;
use crate::{Device, Result};

pub(crate) const SOURCE: &str = include_str!("tensor.cu");

/// Numbers of tiles of eight functionals that one block of threads multiplies.
const TILES: [usize; 4] = [2, 4, 6, 8];

/// Number of columns that are multiplied before their sum is added to a longer one, and of threads that read them.
const SLAB: usize = 32;
const READERS: usize = 4;

/// Number of columns that one instruction multiplies.
const STEP: usize = 8;

/// Number of rows of one block of threads.
pub(crate) const ROWS: usize = 256;

/// Number of bytes at a multiple of which rows start.
const ALIGNMENT: u64 = 16;

/// Bound on the error of one instruction, in units of 2⁻²⁴ of the sum of all magnitudes. It adds eight products to a sum, in
/// two parts of four; each of five terms and the result may lose what is below 2⁻²³ of the largest term.
const ERROR_OF_STEP: usize = 2 * 6 * 2;

/// Number of products of a step: those of both parts of a number with both parts of another, but for the smallest.
const PARTS: usize = 3;

/// Bound on what is left of numbers after two parts of 11 bits, and on the product of the smaller parts, in units of 2⁻²⁴: 8 of
/// the row, 4 of the functional and 8 of the product; and the rounding of a transformed row.
const ERROR_OF_PARTS: usize = 21;

/// The kernels of `tensor.cu`.
#[derive(Debug)]
pub(crate) struct TensorCores {
    /// For each number of tiles: rows in f32 and in 16 bits, as they are stored; the same transformed.
    kernels: Vec<[CudaFunction; 4]>,
}

/// How functionals are divided among blocks of threads.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Position in [`TILES`].
    kind: usize,
    /// Number of blocks of tiles.
    blocks: usize,
}

impl Layout {
    fn of(count: usize) -> Self {
        let tiles = count.div_ceil(STEP);
        let most = TILES[TILES.len() - 1];
        let each = tiles.div_ceil(tiles.div_ceil(most).max(1));
        let kind =
            TILES.iter().position(|&own| own >= each).expect("each block has at most as many tiles as the largest");
        Self { kind, blocks: tiles.div_ceil(TILES[kind]) }
    }

    fn tiles(self) -> usize {
        TILES[self.kind]
    }
}

impl TensorCores {
    /// Loads the kernels, if the device has tensor cores for f32.
    pub fn load(context: &Arc<CudaContext>) -> Result<Option<Self>> {
        let (major, _) = context.compute_capability()?;
        if major < 8 {
            return Ok(None);
        }
        compiled(context, "tensor", SOURCE, &[], |module| {
            let of = |tiles: &usize| -> Result<[CudaFunction; 4]> {
                let load = |name: &str| module.load_function(&format!("{name}_{tiles}"));
                Ok([load("single")?, load("half")?, load("transformed_single")?, load("transformed_half")?])
            };
            Ok(Some(Self { kernels: TILES.iter().map(of).collect::<Result<_>>()? }))
        })
    }

    /// Returns whether rows of this size, at an address, can be multiplied.
    pub fn take(dim: usize, address: u64) -> bool {
        dim.is_multiple_of(SLAB) && address.is_multiple_of(ALIGNMENT)
    }

    /// Returns the error factor γ of a product.
    pub fn error(dim: usize) -> f64 {
        let sums = PARTS * SLAB / STEP * ERROR_OF_STEP;
        1.01 * f64::from(f32::EPSILON) / 2.0 * (sums + dim / SLAB + ERROR_OF_PARTS) as f64
    }

    /// Multiplies rows, from the row `first` on, with packed functionals.
    pub fn multiply(
        &self,
        device: &Device,
        stored: RowsArgument,
        (first, rows): (usize, usize),
        (functionals, count): (u64, usize),
        (out, stride): (u64, usize),
    ) -> Result<()> {
        let layout = Layout::of(count);
        let kind = usize::from(stored.format() != Format::F32 as i32) + 2 * usize::from(stored.is_transformed());
        let kernel = &self.kernels[layout.kind][kind];
        let config = LaunchConfig {
            grid_dim: (layout.blocks as u32, rows.div_ceil(ROWS) as u32, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let (first, rows, count, stride) = (first as i64, rows as i32, count as i32, stride as i64);
        launch!(device, kernel, config, stored, first, rows, functionals, count, out, stride);
        Ok(())
    }
}

/// Returns the nearest number of 11 bits.
fn eleven_bits(x: f64) -> f32 {
    f32::from_bits((x as f32).to_bits().wrapping_add(0x1000) & 0xffff_e000)
}

/// Returns functionals in the order in which `tensor.cu` reads them: block of tiles, slab, step, tile, and lane, each with two
/// columns of one functional. The leading parts of both come first.
pub(crate) fn pack(functionals: &[&[f64]], dim: usize) -> Vec<f32> {
    let layout = Layout::of(functionals.len());
    let (tiles, slabs, steps) = (layout.tiles(), dim / SLAB, SLAB / STEP);
    let mut packed = vec![0.0; layout.blocks * tiles * 2 * STEP * dim];
    let (mut places, _) = packed.as_chunks_mut::<4>();
    let lanes = STEP * READERS;
    for block in functionals.chunks(tiles * STEP) {
        let own;
        (own, places) = places.split_at_mut(slabs * steps * tiles * lanes);
        for (i, functional) in block.iter().enumerate() {
            let (tile, first_lane) = (i / STEP, i % STEP * READERS);
            for (at, pair) in functional.as_chunks::<2>().0.iter().enumerate() {
                // Of each slab, a lane reads eight columns that lie together, two per step.
                let (slab, reader, step) = (at / (SLAB / 2), at / steps % READERS, at % steps);
                let leading = pair.map(eleven_bits);
                let rest = [0, 1].map(|i| eleven_bits(pair[i] - f64::from(leading[i])));
                own[((slab * steps + step) * tiles + tile) * lanes + first_lane + reader] =
                    [leading[0], leading[1], rest[0], rest[1]];
            }
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_of_eleven_bits_hold_nearly_all_of_a_number() {
        for i in 1..2000 {
            let x = (f64::from(i) * 0.377).sin() * f64::from(i % 40 - 20).exp2();
            let high = eleven_bits(x);
            let low = eleven_bits(x - f64::from(high));
            assert_eq!(high.to_bits() & 0x1fff, 0);
            assert!((x - f64::from(high) - f64::from(low)).abs() <= 2f64.powi(-22) * 1.001 * x.abs());
        }
    }

    #[test]
    fn the_order_of_packed_functionals_is_that_in_which_lanes_multiply() {
        for count in [1, 8, 17, 40, 65, 130] {
            let dim = 64;
            let entry = |f: usize, j: usize| ((f * 31 + j * 17) % 101) as f64 - 50.0;
            let all: Vec<Vec<f64>> = (0..count).map(|f| (0..dim).map(|j| entry(f, j)).collect()).collect();
            let row: Vec<f64> = (0..dim).map(|j| ((j * 13) % 7) as f64).collect();
            let views: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
            let (packed, layout) = (pack(&views, dim), Layout::of(count));
            // As in `tensor.cu`: a lane has the columns 8 · place + 2 · step + {0, 1} of the functional of its group.
            let mut products = vec![0.0; layout.blocks * layout.tiles() * STEP];
            for (at, four) in packed.chunks_exact(4).enumerate() {
                let (lane, at) = (at % 32, at / 32);
                let (tile, at) = (at % layout.tiles(), at / layout.tiles());
                let (step, at) = (at % 4, at / 4);
                let (slab, block) = (at % (dim / SLAB), at / (dim / SLAB));
                let column = slab * SLAB + 8 * (lane % 4) + 2 * step;
                let product = &mut products[(block * layout.tiles() + tile) * 8 + lane / 4];
                *product += row[column] * f64::from(four[0] + four[2]) + row[column + 1] * f64::from(four[1] + four[3]);
            }
            let direct = all.iter().map(|w| w.iter().zip(&row).map(|(a, b)| a * b).sum::<f64>());
            assert_eq!(products[..count], direct.collect::<Vec<_>>());
            assert!(products[count..].iter().all(|&x| x == 0.0));
        }
    }
}
