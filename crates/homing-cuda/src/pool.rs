//! A pool in the memory of one or more devices.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use half::{bf16, f16};
use homing::shard::{BLOCK, Carrier, Shard, ShardSetup, Survey, Transform};
use homing::{Embeddings, RowSource, StoredValues};
use rayon::prelude::*;

use crate::buffer::{Buffer, Lent, Staging, Values};
use crate::device::{launch, per_block, through_all};
use crate::products::Products;
use crate::rows::{Prepared, Rows, Sizes};
use crate::shard::DeviceShard;
use crate::{Device, Error, Result};

/// Number of bytes that are uploaded at a time.
const UPLOAD: usize = 64 << 20;

/// Number of bytes that one thread copies at a time.
const COPY: usize = 1 << 20;

/// Size of the numbers of a row in a selection, and of the blocks that it takes in addition.
const NUMBERS: usize = 80;
const ROOM: usize = 1 << 30;

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
    /// Returns the format in which a device holds a pool.
    fn of(pool: Embeddings<'_>) -> Result<Self> {
        match pool.values() {
            StoredValues::F32(_) => Ok(Format::F32),
            StoredValues::F16(_) => Ok(Format::F16),
            StoredValues::Bf16(_) => Ok(Format::Bf16),
            StoredValues::Source(source) if source.fits_f32() => Ok(Format::F32),
            _ => Err(Error::Inexact),
        }
    }

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
    pub values: Values,
    /// Sizes of the rows as they are stored.
    pub sizes: Arc<Sizes<f32>>,
    pub prepared: Mutex<Option<Prepared>>,
}

impl Part {
    /// Measures rows that are on the device.
    fn new(device: &Arc<Device>, rows: Range<usize>, values: Values, dim: usize, format: Format) -> Result<Self> {
        if rows.len() >= u32::MAX as usize {
            return Err(Error::TooManyRows(rows.len()));
        }
        let survey = Survey { sum: 0.0, least: 0.0, most: 0.0, row: 0 };
        let sizes = Sizes { norms: Buffer::new(device), survey, is_finite: true };
        let mut part =
            Self { device: device.clone(), rows, values, sizes: Arc::new(sizes), prepared: Mutex::default() };
        part.sizes = Arc::new(Rows::stored(&part, dim, format).measure(0)?);
        Ok(part)
    }
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
    /// Uploads the numbers of a pool as they are stored, in f32, f16 or bf16. Whatever is done to rows when they are read is
    /// up to the selection (see [`Embeddings::of_copy`]).
    pub fn upload(pool: Embeddings<'_>, devices: &[Arc<Device>]) -> Result<Self> {
        let format = Format::of(pool)?;
        let (dim, size) = (pool.dim(), format.size());
        Self::fill((pool.rows(), dim), format, devices, |device, own, values| {
            let mut staging = Staging::new(device)?;
            let step = (UPLOAD / size / dim).max(1);
            for first in own.clone().step_by(step) {
                let rows = first..own.end.min(first + step);
                let staged = staging.next((rows.len() * dim * size).min(UPLOAD))?;
                copy_bytes(pool.values(), rows.start * dim..rows.end * dim, staged);
                staging.send(rows.len() * dim * size, values, (first - own.start) * dim * size)?;
            }
            pool.check_read().map_err(|error| Error::Pool(error.to_string()))
        })
    }

    /// Copies the numbers of a pool to memory of this machine that the devices read in every pass, block by block, for a pool
    /// that is larger than their own memory. A pass then takes as long as the bus does. `room` is the memory that the copy may
    /// take, in bytes, if it is known.
    pub fn lend(pool: Embeddings<'_>, devices: &[Arc<Device>], room: Option<u64>) -> Result<Self> {
        let format = Format::of(pool)?;
        let (rows, dim, size) = (pool.rows(), pool.dim(), format.size());
        let needed = rows * dim * size;
        if let Some(free) = room.map(|room| room as usize).filter(|&free| free < needed) {
            return Err(Error::HostMemory { needed, free: Some(free) });
        }
        let part = |(own, device): (Range<usize>, &Arc<Device>)| {
            device.check_room(own.len() * NUMBERS + ROOM)?;
            let lent = Lent::new(device, (own.len() * dim * size, needed), |memory| {
                let step = (UPLOAD / size / dim).max(1);
                for (block, rows) in memory.chunks_mut(step * dim * size).zip(own.clone().step_by(step)) {
                    copy_bytes(pool.values(), rows * dim..rows * dim + block.len() / size, block);
                }
                pool.check_read().map_err(|error| Error::Pool(error.to_string()))
            });
            Part::new(device, own, Values::Lent(lent?), dim, format)
        };
        let parts = shares(rows, devices.len()).zip(devices).map(part).collect::<Result<_>>()?;
        Ok(Self::new(parts, (rows, dim), format))
    }

    /// Returns whether the devices read the rows across the bus (see [`DevicePool::lend`]).
    pub fn is_lent(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.values, Values::Lent(_)))
    }

    /// Returns the product of every row, as it is stored, with a vector, in nearly the precision of f32.
    pub fn products(&self, vector: &[f64]) -> Result<Vec<f32>> {
        assert_eq!(vector.len(), self.dim, "the vector is as long as a row");
        let mut all = vec![0.0; self.rows];
        for part in self.parts.iter().filter(|part| !part.rows.is_empty()) {
            let _turn = part.device.take_turn()?;
            let mut products = Products::<f32>::new(&part.device, self.dim, part.values.at(0));
            products.set([vector])?;
            products.read_all(&Rows::stored(part, self.dim, self.format), &mut all[part.rows.clone()])?;
        }
        Ok(all)
    }

    /// Views rows that are in the memory of a device already, in C order.
    ///
    /// # Safety
    /// The memory at `address` belongs to the device, holds `rows × dim` numbers of the format, and neither changes nor
    /// disappears as long as the pool exists.
    #[allow(unsafe_code, reason = "an address says nothing about what is there")]
    pub unsafe fn borrow(
        address: u64,
        (rows, dim): (usize, usize),
        format: Format,
        device: &Arc<Device>,
    ) -> Result<Self> {
        let _turn = device.take_turn()?;
        let part = Part::new(device, 0..rows, Values::Borrowed(device.clone(), address), dim, format)?;
        Ok(Self::new(vec![part], (rows, dim), format))
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
        Self::fill((rows, dim), format, devices, |device, own, values| {
            let (count, clusters, spread) = (own.len() as i64, clusters as i64, 0.7f32);
            let (to, format, dim) = (values.at(0), format as i32, dim as i32);
            let generate = &device.single.generate;
            launch!(device, generate, through_all(), to, format, dim, count, clusters, spread, seed);
            Ok(())
        })
    }

    /// Makes the part of each device from what `write` writes: the rows of a range.
    fn fill(
        (rows, dim): (usize, usize),
        format: Format,
        devices: &[Arc<Device>],
        write: impl Fn(&Arc<Device>, &Range<usize>, &mut Buffer<u8>) -> Result<()>,
    ) -> Result<Self> {
        let part = |(own, device): (Range<usize>, &Arc<Device>)| {
            let bytes = own.len() * dim * format.size();
            device.check_room(bytes + own.len() * NUMBERS + ROOM)?;
            let mut values = Buffer::zeros(device, bytes)?;
            write(device, &own, &mut values)?;
            Part::new(device, own, Values::Own(values), dim, format)
        };
        let parts = shares(rows, devices.len()).zip(devices).map(part).collect::<Result<_>>()?;
        Ok(Self::new(parts, (rows, dim), format))
    }

    fn new(parts: Vec<Part>, (rows, dim): (usize, usize), format: Format) -> Self {
        let (failure, kept) = Default::default();
        let room = parts.iter().map(|part| (Buffer::new(&part.device), Buffer::new(&part.device))).collect();
        Self { parts, dim, format, rows, failure, kept, gathered: Mutex::new(room) }
    }

    /// Returns the format of the numbers.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the pool's rows as they are stored.
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
            let stored = Rows::stored(part, self.dim, self.format).argument();
            launch!(part.device, part.device.single.gather, per_block(own.len()), stored, names, to);
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

/// Returns the rows of each of `parts` parts. They end where blocks do, so that sums over blocks do not depend on the number of
/// parts.
fn shares(rows: usize, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let share = rows.div_ceil(parts.max(1)).next_multiple_of(BLOCK);
    (0..parts).map(move |i| (i * share).min(rows)..((i + 1) * share).min(rows))
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

    fn gather_f64(&self, rows: &[usize], dim: usize, out: &mut [f64]) -> bool {
        let mut single = vec![0.0; out.len()];
        let is_done = self.gather_f32(rows, dim, &mut single);
        out.iter_mut().zip(single).for_each(|(out, x)| *out = x.into());
        is_done
    }

    fn carrier(&self) -> Option<&dyn Carrier> {
        Some(self)
    }

    fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }
}

impl Carrier for DevicePool {
    fn survey(&self, transform: Transform<'_>) -> Option<Survey> {
        let of_part = |part: &Part| -> Result<(Survey, bool)> {
            let _turn = part.device.take_turn()?;
            let (_, sizes) = part.read_as(self.dim, self.format, transform)?;
            Ok((sizes.survey, sizes.is_finite))
        };
        let parts = self.parts.iter().filter(|part| !part.rows.is_empty());
        let sizes = parts.map(of_part).collect::<Result<Vec<_>>>().map_err(|error| self.fail(&error)).ok()?;
        if self.failure.get().is_some() || !sizes.iter().all(|&(_, is_finite)| is_finite) {
            return None;
        }
        let both = |a: Survey, b: Survey| Survey {
            sum: a.sum + b.sum,
            least: if a.least > 0.0 && b.least > 0.0 { a.least.min(b.least) } else { a.least.max(b.least) },
            most: a.most.max(b.most),
            row: if b.most > a.most { b.row } else { a.row },
        };
        sizes.into_iter().map(|(survey, _)| survey).reduce(both)
    }

    fn mean(&self) -> Option<Vec<f64>> {
        let mut sum = vec![0.0; self.dim];
        for part in self.parts.iter().filter(|part| !part.rows.is_empty()) {
            let add = |sum: &mut [f64]| {
                let _turn = part.device.take_turn()?;
                Rows::stored(part, self.dim, self.format).add_to(sum)
            };
            add(&mut sum).map_err(|error| self.fail(&error)).ok()?;
        }
        sum.iter_mut().for_each(|x| *x /= self.rows as f64);
        Some(sum)
    }

    fn shards<'s>(&'s self, setup: &ShardSetup<'_>) -> Vec<Box<dyn Shard + 's>> {
        let Some(form) = setup.form else { return Vec::new() };
        let shard = |part: &'s Part| -> Result<Box<dyn Shard + 's>> {
            let _turn = part.device.take_turn()?;
            Ok(if setup.is_double {
                Box::new(DeviceShard::<f64>::new(self, part, form, setup)?)
            } else {
                Box::new(DeviceShard::<f32>::new(self, part, form, setup)?)
            })
        };
        self.parts.iter().map(shard).collect::<Result<_>>().unwrap_or_else(|error| {
            self.fail(&error);
            Vec::new()
        })
    }
}
