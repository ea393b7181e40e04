//! Numbers that are read by position instead of lying in memory.

use std::fmt::Debug;
use std::ops::Range;

use crate::StoredValues;
use crate::shard::Carrier;

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
