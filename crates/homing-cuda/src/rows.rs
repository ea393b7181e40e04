//! The rows of a part as a selection reads them.

use cudarc::driver::DeviceRepr;
use homing::shard::{BLOCK, Survey, Transform};

use crate::Result;
use crate::buffer::Buffer;
use crate::device::{launch, per_block, per_row};
use crate::pool::{Format, Part};
use crate::real::Real;

/// Number of blocks of threads that run through all rows, of which each measures its own.
const BLOCKS: u32 = 1024;

/// Number of blocks of rows whose sums are kept at a time.
const SUMS: usize = 4096;

/// Where rows are, and what is done to them. `kernels.cu` has the same structure.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct RowsArgument {
    values: u64,
    format: i32,
    dim: i32,
    offset: u64,
    scales: u64,
}

impl RowsArgument {
    /// Rows at an address that are read as they are.
    pub fn plain(values: u64, format: Format, dim: usize) -> Self {
        Self { values, format: format as i32, dim: dim as i32, offset: 0, scales: 0 }
    }

    pub fn format(&self) -> i32 {
        self.format
    }

    pub fn is_transformed(&self) -> bool {
        self.offset != 0 || self.scales != 0
    }
}

#[allow(unsafe_code, reason = "kernels read this structure")]
mod layout {
    // SAFETY: the structure holds numbers and addresses in the layout of C, without padding.
    unsafe impl super::DeviceRepr for super::RowsArgument {}
}

/// The rows of a part of a pool, transformed when they are read.
pub(crate) struct Rows<'p> {
    pub part: &'p Part,
    pub dim: usize,
    pub format: Format,
    /// What is subtracted from each row; without memory if nothing is.
    offset: Buffer<f64>,
    /// With what each row is multiplied then; without memory if rows keep their lengths.
    scales: Buffer<f64>,
}

/// ‖φ‖² of every row, and their extremes.
pub(crate) struct Sizes<T> {
    pub norms: Buffer<T>,
    pub survey: Survey,
    pub is_finite: bool,
}

impl<'p> Rows<'p> {
    /// Reads rows as they are stored.
    pub fn stored(part: &'p Part, dim: usize, format: Format) -> Self {
        let [offset, scales] = std::array::from_fn(|_| Buffer::new(&part.device));
        Self { part, dim, format, offset, scales }
    }

    /// Transforms rows, and measures them.
    pub fn transformed<T: Real>(
        part: &'p Part,
        dim: usize,
        format: Format,
        transform: Transform<'_>,
    ) -> Result<(Self, Sizes<T>)> {
        let mut rows = Self::stored(part, dim, format);
        if let Some(offset) = transform.offset {
            rows.offset.fill(offset)?;
        }
        let mut scales = Buffer::new(&part.device);
        if transform.to_unit {
            scales.reserve(part.rows.len())?;
        }
        let sizes = rows.measure(scales.at(0))?;
        rows.scales = scales;
        Ok((rows, sizes))
    }

    pub fn argument(&self) -> RowsArgument {
        RowsArgument {
            values: self.part.values.at(0),
            format: self.format as i32,
            dim: self.dim as i32,
            offset: self.offset.at(0),
            scales: self.scales.at(0),
        }
    }

    /// Returns the address of a row whose numbers can be multiplied in place.
    pub fn in_place<T: Real>(&self, row: usize) -> Option<u64> {
        let is_stored = T::STORED == Some(self.format) && self.offset.at(0) == 0 && self.scales.at(0) == 0;
        is_stored.then(|| self.part.values.at(row * self.dim * self.format.size()))
    }

    /// Adds all rows, as they are stored, to a sum; see [`Carrier::mean`](homing::shard::Carrier::mean).
    pub fn add_to(&self, sum: &mut [f64]) -> Result<()> {
        let (device, dim) = (&self.part.device, self.dim as i32);
        let (mut sums, mut total) = (Buffer::<f64>::new(device), Buffer::new(device));
        let (sums, total_address) = (sums.reserve(SUMS * self.dim)?, total.fill(sum)?);
        for first in (0..self.part.rows.len()).step_by(SUMS * BLOCK) {
            let count = (self.part.rows.len() - first).min(SUMS * BLOCK);
            let (blocks, size) = (count.div_ceil(BLOCK), BLOCK as i32);
            let (kernels, rows) = (&device.double, self.argument());
            launch!(device, kernels.sum_blocks, per_block(blocks), rows, first as i64, count as i64, size, sums);
            launch!(device, kernels.add_sums, per_row(self.dim), sums, blocks as i32, dim, total_address);
        }
        total.read(sum)
    }

    /// Measures all rows. If there is an address for scales, they are written there, and the sizes are those of scaled rows.
    pub fn measure<T: Real>(&self, scales: u64) -> Result<Sizes<T>> {
        let part = self.part;
        let norms = Buffer::<T>::zeros(&part.device, part.rows.len())?;
        // Five numbers of 8 bytes per block of threads: the sum, the least and the largest, its row, and whether a row is not
        // finite.
        let found = Buffer::<u64>::zeros(&part.device, 5 * BLOCKS as usize)?;
        let grid =
            cudarc::driver::LaunchConfig { grid_dim: (BLOCKS, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        let (count, kernels) = (part.rows.len() as i64, T::kernels(&part.device));
        launch!(part.device, kernels.survey, grid, self.argument(), count, norms.at(0), scales, found.at(0));
        let mut blocks = vec![0; 5 * BLOCKS as usize];
        found.read(&mut blocks)?;
        let mut survey = Survey { sum: 0.0, least: 0.0, most: 0.0, row: 0 };
        let (mut least, mut most, mut is_finite) = (f64::INFINITY, -1.0, true);
        for block in blocks.chunks_exact(5) {
            let [sum, low, high] = [0, 1, 2].map(|i| f64::from_bits(block[i]));
            survey.sum += sum;
            least = low.min(least);
            let row = part.rows.start + block[3] as usize;
            if high > most || (high == most && row < survey.row) {
                (most, survey.row) = (high, row);
            }
            is_finite &= block[4] == 0;
        }
        survey.most = most.max(0.0);
        survey.least = if survey.most > 0.0 { least } else { 0.0 };
        Ok(Sizes { norms, survey, is_finite })
    }
}
