//! A pool in the memory of one or more devices.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use half::{bf16, f16};
use homing::shard::{Carrier, Shard, ShardSetup, Survey};
use homing::{Embeddings, RowSource, StoredValues};
use rayon::prelude::*;

use crate::buffer::{Buffer, Staging};
use crate::device::{launch, per_block};
use crate::real::Real;
use crate::shard::DeviceShard;
use crate::{Device, Error, Result};

/// Number of blocks of threads that measure the rows' sizes.
const SURVEY_BLOCKS: u32 = 1024;

/// Number of bytes that are uploaded at a time.
const UPLOAD: usize = 64 << 20;

/// Number of bytes that one thread copies at a time.
const COPY: usize = 1 << 20;

/// Number of rows that were read one by one and are kept, because a pick is read several times.
const KEPT_ROWS: usize = 4096;

/// The format of a pool's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Format {
    /// IEEE single precision.
    F32 = 0,
    /// IEEE half precision.
    F16 = 1,
    /// The upper half of an f32.
    Bf16 = 2,
}

impl Format {
    pub(crate) fn size(self) -> usize {
        if self == Format::F32 { 4 } else { 2 }
    }

    /// Reads stored numbers.
    fn decode(self, bytes: &[u8], mut write: impl FnMut(usize, f32)) {
        match self {
            Format::F32 => {
                let all = bytes.chunks_exact(4).enumerate();
                all.for_each(|(i, b)| write(i, f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
            }
            Format::F16 | Format::Bf16 => {
                for (i, b) in bytes.chunks_exact(2).enumerate() {
                    let bits = u16::from_le_bytes([b[0], b[1]]);
                    let x =
                        if self == Format::F16 { f16::from_bits(bits).into() } else { bf16::from_bits(bits).into() };
                    write(i, x);
                }
            }
        }
    }
}

/// The rows that one device holds.
pub(crate) struct Part {
    pub device: Arc<Device>,
    pub rows: Range<usize>,
    pub values: Buffer<u8>,
    /// ‖φ‖² of every row.
    pub norms: Buffer<f32>,
    sizes: Survey,
    is_finite: bool,
}

/// A pool in the memory of one or more devices, each of which holds a range of its rows.
pub struct DevicePool {
    pub(crate) parts: Vec<Part>,
    pub(crate) dim: usize,
    pub(crate) format: Format,
    rows: usize,
    failure: OnceLock<String>,
    kept: Mutex<HashMap<usize, Arc<[f32]>>>,
    gathered: Mutex<Vec<(Buffer<u32>, Buffer<f32>)>>,
}

impl std::fmt::Debug for DevicePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let devices: Vec<&Device> = self.parts.iter().map(|part| &*part.device).collect();
        write!(f, "{} × {} {:?} on {devices:?}", self.rows, self.dim, self.format)
    }
}

impl DevicePool {
    /// Uploads a pool. Numbers in f16 and bf16 stay as they are.
    pub fn upload(pool: Embeddings<'_>, devices: &[Arc<Device>]) -> Result<Self> {
        let format = match pool.values() {
            _ if pool.is_centered() || pool.is_normalized() => return Err(Error::Inexact),
            StoredValues::F32(_) => Format::F32,
            StoredValues::F16(_) => Format::F16,
            StoredValues::Bf16(_) => Format::Bf16,
            StoredValues::Source(source) if source.fits_f32() => Format::F32,
            _ => return Err(Error::Inexact),
        };
        let (dim, size) = (pool.dim(), format.size());
        Self::fill(pool.rows(), dim, format, devices, |part| {
            let mut staging = Staging::new(&part.device)?;
            let step = (UPLOAD / size / dim).max(1);
            for first in part.rows.clone().step_by(step) {
                let rows = first..part.rows.end.min(first + step);
                let staged = staging.next((rows.len() * dim * size).min(UPLOAD))?;
                copy_bytes(pool.values(), rows.start * dim..rows.end * dim, staged);
                staging.send(rows.len() * dim * size, &mut part.values, (first - part.rows.start) * dim * size)?;
            }
            pool.check_read().map_err(|error| Error::Failed(error.to_string()))
        })
    }

    /// Makes a pool on a device from random rows of unit length, near `clusters` centres (none: independent normal numbers),
    /// for benchmarks and tests.
    pub fn generate(
        (rows, dim): (usize, usize),
        format: Format,
        clusters: usize,
        seed: u32,
        devices: &[Arc<Device>],
    ) -> Result<Self> {
        assert!(dim <= 2048, "generated rows have at most 2048 numbers");
        Self::fill(rows, dim, format, devices, |part| {
            let (count, clusters, spread) = (part.rows.len() as i64, clusters as i64, 0.7f32);
            let (values, format, dim) = (part.values.at(0), format as i32, dim as i32);
            let blocks = through_rows();
            launch!(
                part.device,
                part.device.single.generate,
                blocks,
                values,
                format,
                dim,
                count,
                clusters,
                spread,
                seed
            );
            Ok(())
        })
    }

    fn fill(
        rows: usize,
        dim: usize,
        format: Format,
        devices: &[Arc<Device>],
        write: impl Fn(&mut Part) -> Result<()>,
    ) -> Result<Self> {
        let share = rows.div_ceil(devices.len().max(1));
        if share >= u32::MAX as usize {
            return Err(Error::TooManyRows(rows));
        }
        let part = |(i, device): (usize, &Arc<Device>)| {
            let own = (i * share).min(rows)..((i + 1) * share).min(rows);
            // The numbers of a selection take up to 13 f32 per row, and a GiB is room for blocks.
            device.check_room(own.len() * (dim * format.size() + 56) + (1 << 30))?;
            let values = Buffer::zeros(device, own.len() * dim * format.size())?;
            let norms = Buffer::zeros(device, own.len())?;
            let sizes = Survey { sum: 0.0, least: 0.0, most: 0.0, row: 0 };
            let mut part = Part { device: device.clone(), rows: own, values, norms, sizes, is_finite: true };
            write(&mut part)?;
            part.measure(dim, format)?;
            Ok(part)
        };
        let parts = devices.iter().enumerate().map(part).collect::<Result<_>>()?;
        let (failure, kept) = Default::default();
        let room = devices.iter().map(|device| (Buffer::new(device), Buffer::new(device))).collect();
        Ok(Self { parts, dim, format, rows, failure, kept, gathered: Mutex::new(room) })
    }

    /// Returns the pool as a selection reads it.
    pub fn embeddings(&self) -> Embeddings<'_> {
        Embeddings::new(self as &dyn RowSource, self.dim).expect("a pool holds whole rows")
    }

    /// Remembers the first failure.
    pub(crate) fn fail(&self, error: &Error) {
        self.failure.get_or_init(|| error.to_string());
    }

    fn try_gather(&self, rows: &[usize], out: &mut [f32]) -> Result<()> {
        let mut rooms = self.gathered.lock().expect("no thread panics while it holds the lock");
        for (part, (names, room)) in self.parts.iter().zip(&mut *rooms) {
            let own = rows.iter().enumerate().filter(|(_, row)| part.rows.contains(row));
            let (places, own): (Vec<usize>, Vec<u32>) =
                own.map(|(at, row)| (at, (row - part.rows.start) as u32)).unzip();
            if own.is_empty() {
                continue;
            }
            let _turn = part.device.take_turn()?;
            let (names, to) = (names.fill(&own)?, room.reserve(own.len() * self.dim)?);
            let (values, format, dim) = (part.values.at(0), self.format as i32, self.dim as i32);
            launch!(part.device, part.device.single.gather, per_block(own.len()), values, format, dim, names, to);
            if own.len() == rows.len() {
                room.read(out)?;
                continue;
            }
            let mut found = vec![0.0; own.len() * self.dim];
            room.read(&mut found)?;
            for (place, row) in places.into_iter().zip(found.chunks_exact(self.dim)) {
                out[place * self.dim..(place + 1) * self.dim].copy_from_slice(row);
            }
        }
        Ok(())
    }

    /// Reads a range of numbers.
    fn try_read(&self, start: usize, len: usize, mut write: impl FnMut(usize, f32)) -> Result<()> {
        let size = self.format.size();
        for part in &self.parts {
            let own = part.rows.start * self.dim..part.rows.end * self.dim;
            let (from, to) = (start.max(own.start), (start + len).min(own.end));
            if from < to {
                let _turn = part.device.take_turn()?;
                let mut bytes = vec![0; (to - from) * size];
                part.values.read_at((from - own.start) * size, &mut bytes)?;
                self.format.decode(&bytes, |i, x| write(from - start + i, x));
            }
        }
        Ok(())
    }

    fn read(&self, start: usize, len: usize, mut write: impl FnMut(usize, f32)) {
        let row = start / self.dim;
        let is_row = len == self.dim && start.is_multiple_of(self.dim);
        let kept = || self.kept.lock().expect("no thread panics while it holds the lock");
        let before = is_row.then(|| kept().get(&row).cloned()).flatten();
        if let Some(values) = before {
            values.iter().enumerate().for_each(|(i, &x)| write(i, x));
            return;
        }
        let mut values = vec![0.0; if is_row { len } else { 0 }];
        let read = self.try_read(start, len, |i, x| {
            write(i, x);
            if is_row {
                values[i] = x;
            }
        });
        if let Err(error) = read {
            self.fail(&error);
            (0..len).for_each(|i| write(i, 0.0));
        } else if is_row {
            let mut kept = kept();
            if kept.len() >= KEPT_ROWS {
                kept.clear();
            }
            kept.insert(row, values.into());
        }
    }
}

fn through_rows() -> cudarc::driver::LaunchConfig {
    cudarc::driver::LaunchConfig { grid_dim: (SURVEY_BLOCKS, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 }
}

/// Copies stored numbers as bytes, in the format of the pool.
fn copy_bytes(values: StoredValues<'_>, at: Range<usize>, out: &mut [u8]) {
    let stored: &[u8] = match values {
        StoredValues::F32(v) => bytemuck::cast_slice(&v[at]),
        StoredValues::F16(v) => bytemuck::cast_slice(&v[at]),
        StoredValues::Bf16(v) => bytemuck::cast_slice(&v[at]),
        values => {
            let mut singles = vec![0.0f32; at.len()];
            values.write_f32(at, &mut singles);
            return out.copy_from_slice(bytemuck::cast_slice(&singles));
        }
    };
    // One thread copies more slowly than the bus.
    out.par_chunks_mut(COPY).zip(stored.par_chunks(COPY)).for_each(|(out, stored)| out.copy_from_slice(stored));
}

impl Part {
    /// Writes the squared norms of all rows in `T`, and the extremes of each block of threads.
    fn survey<T: Real>(&self, dim: usize, format: Format, norms: u64, sizes: u64) -> Result<()> {
        let (values, rows) = (self.values.at(0), self.rows.len() as i64);
        let kernels = T::kernels(&self.device);
        launch!(self.device, kernels.survey, through_rows(), values, format as i32, dim as i32, rows, norms, sizes);
        Ok(())
    }

    /// Computes the squared norms of all rows in `T`.
    pub fn norms<T: Real>(&self, dim: usize, format: Format) -> Result<Buffer<T>> {
        let norms = Buffer::zeros(&self.device, self.rows.len())?;
        let sizes = Buffer::<u64>::zeros(&self.device, 5 * SURVEY_BLOCKS as usize)?;
        self.survey::<T>(dim, format, norms.at(0), sizes.at(0))?;
        Ok(norms)
    }

    /// Computes the squared norms of all rows, and their extremes.
    fn measure(&mut self, dim: usize, format: Format) -> Result<()> {
        // Five numbers of 8 bytes per block of threads: the sum, the least and the largest, its row, and whether a row is not
        // finite.
        let sizes = Buffer::<u64>::zeros(&self.device, 5 * SURVEY_BLOCKS as usize)?;
        self.survey::<f32>(dim, format, self.norms.at(0), sizes.at(0))?;
        let mut found = vec![0; 5 * SURVEY_BLOCKS as usize];
        sizes.read(&mut found)?;
        let (mut least, mut most) = (f64::INFINITY, -1.0);
        for block in found.chunks_exact(5) {
            let [sum, low, high] = [0, 1, 2].map(|i| f64::from_bits(block[i]));
            self.sizes.sum += sum;
            least = low.min(least);
            let row = self.rows.start + block[3] as usize;
            if high > most || (high == most && row < self.sizes.row) {
                (most, self.sizes.row) = (high, row);
            }
            self.is_finite &= block[4] == 0;
        }
        self.sizes.most = most.max(0.0);
        self.sizes.least = if self.sizes.most > 0.0 { least } else { 0.0 };
        Ok(())
    }
}

impl RowSource for DevicePool {
    fn count(&self) -> usize {
        self.rows * self.dim
    }

    fn fits_f32(&self) -> bool {
        true
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        self.read(start, out.len(), |i, x| out[i] = x.into());
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        self.read(start, out.len(), |i, x| out[i] = x);
    }

    fn gather_f32(&self, rows: &[usize], _dim: usize, out: &mut [f32]) -> bool {
        if let Err(error) = self.try_gather(rows, out) {
            self.fail(&error);
            out.fill(0.0);
        }
        true
    }

    fn carrier(&self) -> Option<&dyn Carrier> {
        Some(self)
    }

    fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }
}

impl Carrier for DevicePool {
    fn survey(&self) -> Option<Survey> {
        if self.failure.get().is_some() || !self.parts.iter().all(|part| part.is_finite) {
            return None;
        }
        let both = |a: Survey, b: Survey| Survey {
            sum: a.sum + b.sum,
            least: if a.least > 0.0 && b.least > 0.0 { a.least.min(b.least) } else { a.least.max(b.least) },
            most: a.most.max(b.most),
            row: if b.most > a.most { b.row } else { a.row },
        };
        self.parts.iter().filter(|part| !part.rows.is_empty()).map(|part| part.sizes).reduce(both)
    }

    fn shards<'s>(&'s self, setup: &ShardSetup) -> Vec<Box<dyn Shard + 's>> {
        let Some(form) = setup.form else { return Vec::new() };
        let shard = |part: &'s Part| -> Result<Box<dyn Shard + 's>> {
            let _turn = part.device.take_turn()?;
            Ok(if setup.is_double {
                Box::new(DeviceShard::<f64>::new(self, part, form, setup.noise_var)?)
            } else {
                Box::new(DeviceShard::<f32>::new(self, part, form, setup.noise_var)?)
            })
        };
        self.parts.iter().map(shard).collect::<Result<_>>().unwrap_or_else(|error| {
            self.fail(&error);
            Vec::new()
        })
    }
}
