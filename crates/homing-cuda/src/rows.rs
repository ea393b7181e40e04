//! The rows of a part as a selection reads them.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::DeviceRepr;
use homing::shard::{BLOCK, Survey, Transform};

use crate::Result;
use crate::buffer::{Buffer, Values};
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

/// What is done to rows when they are read.
pub(crate) struct Preparation {
    /// What is subtracted from each row; without memory if nothing is.
    offset: Buffer<f64>,
    /// With what each row is multiplied then; without memory if rows keep their lengths.
    scales: Buffer<f64>,
}

/// The rows of a part of a pool, transformed when they are read.
pub(crate) struct Rows<'p> {
    pub part: &'p Part,
    pub dim: usize,
    pub format: Format,
    preparation: Option<Arc<Preparation>>,
}

/// How a part was read last, which costs a pass over it to prepare: one selection does so twice, and many of the same rows
/// follow each other.
pub(crate) struct Prepared {
    offset: Option<Vec<f64>>,
    to_unit: bool,
    preparation: Arc<Preparation>,
    sizes: Arc<Sizes<f32>>,
}

/// ‖φ‖² of every row, and their extremes.
pub(crate) struct Sizes<T> {
    pub norms: Buffer<T>,
    pub survey: Survey,
    pub is_finite: bool,
}

impl Part {
    /// Reads rows as a selection does, and returns their sizes.
    pub fn read_as(&self, dim: usize, format: Format, transform: Transform<'_>) -> Result<(Rows<'_>, Arc<Sizes<f32>>)> {
        let stored = Rows::stored(self, dim, format);
        if transform.is_identity() {
            return Ok((stored, self.sizes.clone()));
        }
        let mut last = self.prepared.lock().expect("no thread panics while it holds the lock");
        let is_same = |last: &Prepared| last.offset.as_deref() == transform.offset && last.to_unit == transform.to_unit;
        if !last.as_ref().is_some_and(is_same) {
            *last = None;
            let (mut offset, mut scales) = (Buffer::new(&self.device), Buffer::new(&self.device));
            if let Some(values) = transform.offset {
                offset.fill(values)?;
            }
            let to = if transform.to_unit { scales.reserve(self.rows.len())? } else { 0 };
            let unscaled = Preparation { offset, scales: Buffer::new(&self.device) };
            let rows = Rows { preparation: Some(Arc::new(unscaled)), ..stored };
            let sizes = Arc::new(rows.measure(to)?);
            let preparation = rows.preparation.and_then(Arc::into_inner).expect("nobody else has it yet");
            let preparation = Arc::new(Preparation { scales, ..preparation });
            let (offset, to_unit) = (transform.offset.map(<[f64]>::to_vec), transform.to_unit);
            *last = Some(Prepared { offset, to_unit, preparation, sizes });
        }
        let Prepared { preparation, sizes, .. } = last.as_ref().expect("it was prepared above");
        let rows = Rows { preparation: Some(preparation.clone()), ..Rows::stored(self, dim, format) };
        Ok((rows, sizes.clone()))
    }
}

impl<'p> Rows<'p> {
    /// Reads rows as they are stored.
    pub fn stored(part: &'p Part, dim: usize, format: Format) -> Self {
        Self { part, dim, format, preparation: None }
    }

    fn address(&self, of: impl Fn(&Preparation) -> &Buffer<f64>) -> u64 {
        self.preparation.as_ref().map_or(0, |preparation| of(preparation).at(0))
    }

    pub fn argument(&self) -> RowsArgument {
        RowsArgument {
            values: self.part.values.at(0),
            format: self.format as i32,
            dim: self.dim as i32,
            offset: self.address(|preparation| &preparation.offset),
            scales: self.address(|preparation| &preparation.scales),
        }
    }

    /// Returns where the device finds some rows. Those that it reads across the bus are first copied to a window, because
    /// products read them several times.
    pub fn nearby(&self, rows: Range<usize>, window: &mut Buffer<u8>) -> Result<RowsArgument> {
        let argument = self.argument();
        let Values::Lent(lent) = &self.part.values else { return Ok(argument) };
        let size = self.dim * self.format.size();
        let address = lent.send(rows.start * size..rows.end * size, window)?;
        // Kernels count rows from the first of the part.
        Ok(RowsArgument { values: address.wrapping_sub((rows.start * size) as u64), ..argument })
    }

    /// Returns the address of a row whose numbers can be multiplied in place.
    pub fn in_place<T: Real>(&self, row: usize) -> Option<u64> {
        let is_stored = T::STORED == Some(self.format) && self.preparation.is_none();
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
