//! Numbers that stay in their file and are read on demand.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::OnceLock;

use homing::{RowSource, StoredValues};

use crate::matrix::Float;
use crate::store::FileRange;

/// Maximum number of bytes that one read fetches if they have to be converted.
const PIECE: usize = 1 << 20;

thread_local! {
    /// Buffer for bytes of a file, aligned for every number format.
    static BUFFER: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Numbers of one format in a file.
#[derive(Debug)]
pub(crate) struct Positional {
    span: FileRange,
    float: Float,
    big_endian: bool,
    /// First failure, after which nothing more is read.
    failure: OnceLock<String>,
}

impl Positional {
    pub(crate) fn new(span: FileRange, float: Float, big_endian: bool) -> Self {
        Self { span, float, big_endian, failure: OnceLock::new() }
    }

    pub(crate) fn float(&self) -> Float {
        self.float
    }

    /// Reads the bytes of the numbers from `start` on, in the byte order of this machine. If that fails, fills `out` with zeros.
    fn fetch(&self, start: usize, out: &mut [u8]) {
        let size = self.float.size();
        if self.failure.get().is_none() {
            match self.span.read((start * size) as u64, out) {
                Ok(()) if self.big_endian == cfg!(target_endian = "big") => return,
                Ok(()) => return out.chunks_exact_mut(size).for_each(<[u8]>::reverse),
                // If several threads fail at once, the first one sets the failure.
                Err(error) => _ = self.failure.set(error.to_string()),
            }
        }
        out.fill(0);
    }

    /// Calls `each` with `count` numbers from `start` on in pieces, each with its range relative to `start`.
    fn pieces(&self, start: usize, count: usize, mut each: impl FnMut(Range<usize>, StoredValues<'_>)) {
        let (size, most) = (self.float.size(), PIECE / self.float.size());
        BUFFER.with_borrow_mut(|buffer| {
            for done in (0..count).step_by(most) {
                let piece = done..count.min(done + most);
                let length = piece.len() * size;
                buffer.resize(buffer.len().max(length.div_ceil(8)), 0);
                let bytes = &mut bytemuck::cast_slice_mut::<u64, u8>(buffer)[..length];
                self.fetch(start + done, bytes);
                let values = match self.float {
                    Float::F16 => StoredValues::F16(bytemuck::cast_slice(bytes)),
                    Float::Bf16 => StoredValues::Bf16(bytemuck::cast_slice(bytes)),
                    Float::F32 => StoredValues::F32(bytemuck::cast_slice(bytes)),
                    Float::F64 => StoredValues::F64(bytemuck::cast_slice(bytes)),
                };
                each(piece, values);
            }
        });
    }
}

impl RowSource for Positional {
    fn count(&self) -> usize {
        (self.span.len() / self.float.size() as u64) as usize
    }

    fn fits_f32(&self) -> bool {
        self.float != Float::F64
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        match self.float {
            Float::F64 => self.fetch(start, bytemuck::cast_slice_mut(out)),
            _ => self.pieces(start, out.len(), |piece, values| values.write_f64(0..piece.len(), &mut out[piece])),
        }
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        match self.float {
            Float::F32 => self.fetch(start, bytemuck::cast_slice_mut(out)),
            _ => self.pieces(start, out.len(), |piece, values| values.write_f32(0..piece.len(), &mut out[piece])),
        }
    }

    fn announce(&self, range: Range<usize>) {
        let size = self.float.size() as u64;
        self.span.announce(range.start as u64 * size..range.end as u64 * size);
    }

    fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }
}
