//! The numbers of a matrix: in memory, or read by position.

use std::fmt::Debug;
use std::ops::Range;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::shard::Carrier;

/// The numbers of a matrix, row-major.
///
/// ```
/// use homing::{Embeddings, StoredValues};
///
/// let pool = [1.0f32, 0.0, 0.9, 0.1];
/// let view = Embeddings::new(&pool, 2)?;
/// assert!(matches!(view.values(), StoredValues::F32(values) if values.len() == 4));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum StoredValues<'a> {
    /// IEEE single precision.
    F32(&'a [f32]),
    /// IEEE double precision.
    F64(&'a [f64]),
    /// IEEE half precision.
    F16(&'a [f16]),
    /// The upper half of an f32.
    Bf16(&'a [bf16]),
    /// Numbers that are read on demand.
    Source(&'a dyn RowSource),
}

impl StoredValues<'_> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            StoredValues::F32(v) => v.len(),
            StoredValues::F64(v) => v.len(),
            StoredValues::F16(v) => v.len(),
            StoredValues::Bf16(v) => v.len(),
            StoredValues::Source(source) => source.count(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values in a range, or `None` if they do not lie in memory in one piece.
    ///
    /// ```
    /// use homing::StoredValues;
    ///
    /// let pool = [1.0f32, 0.0, 0.9, 0.1];
    /// let values = StoredValues::from(&pool);
    /// assert!(matches!(values.slice(2..4), Some(StoredValues::F32([0.9, 0.1]))));
    /// ```
    pub fn slice(&self, at: Range<usize>) -> Option<Self> {
        Some(match *self {
            StoredValues::F32(v) => StoredValues::F32(&v[at]),
            StoredValues::F64(v) => StoredValues::F64(&v[at]),
            StoredValues::F16(v) => StoredValues::F16(&v[at]),
            StoredValues::Bf16(v) => StoredValues::Bf16(&v[at]),
            StoredValues::Source(source) => return source.in_place(at),
        })
    }

    /// Writes the values in the range `at` to `out`, as f64.
    pub fn write_f64(&self, at: Range<usize>, out: &mut [f64]) {
        match self {
            StoredValues::F64(v) => out.copy_from_slice(&v[at]),
            StoredValues::F32(v) => pulp::Arch::new().dispatch(
                #[inline(always)]
                || {
                    out.iter_mut().zip(&v[at]).for_each(|(out, &x)| *out = f64::from(x));
                },
            ),
            StoredValues::F16(v) => v[at].convert_to_f64_slice(out),
            StoredValues::Bf16(v) => v[at].convert_to_f64_slice(out),
            StoredValues::Source(source) => source.read_f64(at.start, &mut out[..at.len()]),
        }
    }

    /// Writes the values in the range `at` to `out`, rounded to f32.
    pub fn write_f32(&self, at: Range<usize>, out: &mut [f32]) {
        match self {
            StoredValues::F64(v) => out.iter_mut().zip(&v[at]).for_each(|(out, &x)| *out = x as f32),
            StoredValues::F32(v) => out.copy_from_slice(&v[at]),
            StoredValues::F16(v) => v[at].convert_to_f32_slice(out),
            StoredValues::Bf16(v) => v[at].convert_to_f32_slice(out),
            StoredValues::Source(source) => source.read_f32(at.start, &mut out[..at.len()]),
        }
    }
}

impl<'a> From<&'a [f32]> for StoredValues<'a> {
    fn from(v: &'a [f32]) -> Self {
        StoredValues::F32(v)
    }
}

impl<'a> From<&'a [f64]> for StoredValues<'a> {
    fn from(v: &'a [f64]) -> Self {
        StoredValues::F64(v)
    }
}

impl<'a, const N: usize> From<&'a [f32; N]> for StoredValues<'a> {
    fn from(v: &'a [f32; N]) -> Self {
        StoredValues::F32(v)
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for StoredValues<'a> {
    fn from(v: &'a [f64; N]) -> Self {
        StoredValues::F64(v)
    }
}

impl<'a> From<&'a Vec<f32>> for StoredValues<'a> {
    fn from(v: &'a Vec<f32>) -> Self {
        StoredValues::F32(v)
    }
}

impl<'a> From<&'a Vec<f64>> for StoredValues<'a> {
    fn from(v: &'a Vec<f64>) -> Self {
        StoredValues::F64(v)
    }
}

impl<'a> From<&'a dyn RowSource> for StoredValues<'a> {
    fn from(source: &'a dyn RowSource) -> Self {
        StoredValues::Source(source)
    }
}

/// A row-major matrix that is read on demand, such as a file that is larger than memory.
///
/// A read cannot report a failure immediately. Instead, a failed read leaves zeros, and [`RowSource::failure`] gives the
/// reason from then on. [`select`](crate::select()), [`explain`](crate::explain()) and
/// [`Embeddings::check_read`](crate::Embeddings::check_read) then return an error instead of results that were computed
/// from such zeros.
///
/// An implementation guarantees the following:
/// - `read_f64` and `read_f32` fill all of `out`, return the same numbers every time, and may be called from many threads
///   at once. The positions that they receive lie between 0 and [`count`](RowSource::count), which does not change.
/// - If [`fits_f32`](RowSource::fits_f32) is true, both return the same values; otherwise `read_f32` rounds to the nearest.
/// - A read that fails fills `out` with zeros and does not panic. The first reason is kept: a later read that succeeds does
///   not clear it.
///
/// ```
/// use homing::{Embeddings, Plan, RowSource, Task, select};
/// use std::io::{Read, Seek, SeekFrom};
/// use std::sync::{Mutex, OnceLock};
///
/// /// Little-endian f32 numbers in any reader that can seek.
/// #[derive(Debug)]
/// struct Floats<R> {
///     bytes: Mutex<R>,
///     count: usize,
///     failure: OnceLock<String>,
/// }
///
/// impl<R: Read + Seek> Floats<R> {
///     fn try_read(&self, start: usize, out: &mut [f32]) -> std::io::Result<()> {
///         let mut bytes = self.bytes.lock().expect("no reader panics");
///         bytes.seek(SeekFrom::Start(4 * start as u64))?;
///         for number in out {
///             let mut four = [0; 4];
///             bytes.read_exact(&mut four)?;
///             *number = f32::from_le_bytes(four);
///         }
///         Ok(())
///     }
/// }
///
/// impl<R: Read + Seek + Send + std::fmt::Debug> RowSource for Floats<R> {
///     fn count(&self) -> usize {
///         self.count
///     }
///
///     fn fits_f32(&self) -> bool {
///         true
///     }
///
///     fn read_f32(&self, start: usize, out: &mut [f32]) {
///         if let Err(error) = self.try_read(start, out) {
///             out.fill(0.0);
///             self.failure.get_or_init(|| format!("the numbers cannot be read ({error}); write the file again"));
///         }
///     }
///
///     fn read_f64(&self, start: usize, out: &mut [f64]) {
///         let mut singles = vec![0.0; out.len()];
///         self.read_f32(start, &mut singles);
///         out.iter_mut().zip(singles).for_each(|(out, single)| *out = single.into());
///     }
///
///     fn failure(&self) -> Option<String> {
///         self.failure.get().cloned()
///     }
/// }
///
/// let numbers = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2];
/// let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
/// let open = |bytes: Vec<u8>| Floats { bytes: Mutex::new(std::io::Cursor::new(bytes)), count: 8, failure: OnceLock::new() };
/// let targets = [0.8f32, 0.3];
///
/// let whole = open(bytes.clone());
/// let task = Task::new(Embeddings::new(&whole as &dyn RowSource, 2)?, Embeddings::new(&targets, 2)?);
/// assert_eq!(select(&task, &Plan::default().count(2))?.rows(), [1, 2]);
///
/// let cut = open(bytes[..20].to_vec());
/// let task = Task::new(Embeddings::new(&cut as &dyn RowSource, 2)?, Embeddings::new(&targets, 2)?);
/// let error = select(&task, &Plan::default().count(2)).unwrap_err();
/// assert!(error.to_string().starts_with("the numbers cannot be read"));
/// # Ok::<(), homing::Error>(())
/// ```
pub trait RowSource: Debug + Sync {
    /// Returns the number of values.
    fn count(&self) -> usize;

    /// Returns whether f32 holds every value exactly.
    fn fits_f32(&self) -> bool;

    /// Fills `out` with the values from position `start` on.
    fn read_f64(&self, start: usize, out: &mut [f64]);

    /// Fills `out` with the values from position `start` on, rounded to f32.
    fn read_f32(&self, start: usize, out: &mut [f32]);

    /// Returns the values in a range as they lie in memory, if they lie there in one piece.
    fn in_place(&self, _range: Range<usize>) -> Option<StoredValues<'_>> {
        None
    }

    /// Announces that a range of values is about to be read on its own, so fetching it can begin.
    fn announce(&self, _range: Range<usize>) {}

    /// Fills `out` with scattered rows of `dim` values each, rounded to f32, if the source can read them at once. Returns
    /// whether it did.
    fn gather_f32(&self, _rows: &[usize], _dim: usize, _out: &mut [f32]) -> bool {
        false
    }

    /// Fills `out` with scattered rows of `dim` values each, if the source can read them at once. Returns whether it did.
    fn gather_f64(&self, _rows: &[usize], _dim: usize, _out: &mut [f64]) -> bool {
        false
    }

    /// Returns the carrier that can compute on the rows where they lie, if there is one.
    fn carrier(&self) -> Option<&dyn Carrier> {
        None
    }

    /// Returns why the first failed read failed, in one sentence that includes the remedy.
    fn failure(&self) -> Option<String>;
}
