//! Numbers of several parts, one after the other, which are read as one.

use std::fmt::Debug;
use std::ops::Range;

use crate::{RowSource, StoredValues};

/// A part of [`JoinedValues`]: something that holds numbers.
///
/// ```
/// use homing::{StoredValues, ValuePart};
///
/// let numbers = [1.0f32, 2.0, 3.0, 4.0];
/// let part = (StoredValues::from(&numbers), 1..3); // two of them
/// assert_eq!(part.values().1, 1..3);
/// ```
pub trait ValuePart: Debug + Sync {
    /// Returns numbers, and the range of those that belong to the part. They are the same every time.
    fn values(&self) -> (StoredValues<'_>, Range<usize>);
}

impl ValuePart for (StoredValues<'_>, Range<usize>) {
    fn values(&self) -> (StoredValues<'_>, Range<usize>) {
        self.clone()
    }
}

/// Numbers of several parts, one after the other, which are read as one. They stay where they are.
///
/// ```
/// use homing::{Embeddings, JoinedValues, RowSource, StoredValues};
///
/// let (a, b) = ([1.0f32, 0.0, 0.9, 0.1], [0.0f32, 1.0]);
/// let joined = JoinedValues::new(vec![(StoredValues::from(&a), 2..4), (StoredValues::from(&b), 0..2)]);
/// let rows = Embeddings::new(&joined as &dyn RowSource, 2)?;
/// assert_eq!((rows.rows(), rows.row(1)), (2, vec![0.0, 1.0]));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug)]
pub struct JoinedValues<P> {
    parts: Vec<P>,
    /// Position of the first number of each part, followed by the number of all numbers.
    starts: Vec<usize>,
}

impl<P: ValuePart> JoinedValues<P> {
    /// Joins parts.
    pub fn new(parts: Vec<P>) -> Self {
        let mut starts = vec![0];
        for part in &parts {
            starts.push(starts[starts.len() - 1] + part.values().1.len());
        }
        Self { parts, starts }
    }

    /// Returns the parts.
    pub fn parts(&self) -> &[P] {
        &self.parts
    }

    /// Calls `each` for every part that has numbers in `range`, with the part's numbers, their range among these, and their range
    /// relative to `range`.
    fn each(&self, range: Range<usize>, mut each: impl FnMut(StoredValues<'_>, Range<usize>, Range<usize>)) {
        let Range { start: first, end: last } = range;
        let mut done = first;
        while done < last {
            let part = self.starts.partition_point(|&start| start <= done) - 1;
            let (values, own) = self.parts[part].values();
            let (start, end) = (self.starts[part], self.starts[part + 1].min(last));
            each(values, own.start + done - start..own.start + end - start, done - first..end - first);
            done = end;
        }
    }
}

impl<P: ValuePart> RowSource for JoinedValues<P> {
    fn count(&self) -> usize {
        self.starts[self.parts.len()]
    }

    fn fits_f32(&self) -> bool {
        self.parts.iter().all(|part| match part.values().0 {
            StoredValues::F64(_) => false,
            StoredValues::Source(source) => source.fits_f32(),
            StoredValues::F32(_) | StoredValues::F16(_) | StoredValues::Bf16(_) => true,
        })
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        self.each(start..start + out.len(), |values, from, to| values.write_f64(from, &mut out[to]));
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        self.each(start..start + out.len(), |values, from, to| values.write_f32(from, &mut out[to]));
    }

    fn in_place(&self, range: Range<usize>) -> Option<StoredValues<'_>> {
        let part = self.starts.partition_point(|&start| start <= range.start).checked_sub(1)?;
        if range.end > *self.starts.get(part + 1)? {
            return None;
        }
        let (values, own) = self.parts[part].values();
        let first = own.start - self.starts[part];
        values.slice(first + range.start..first + range.end)
    }

    fn announce(&self, range: Range<usize>) {
        self.each(range, |values, from, _| {
            if let StoredValues::Source(source) = values {
                source.announce(from);
            }
        });
    }

    fn failure(&self) -> Option<String> {
        self.parts.iter().find_map(|part| match part.values().0 {
            StoredValues::Source(source) => source.failure(),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_across_the_borders_of_parts() {
        let numbers: Vec<Vec<f32>> = vec![vec![9.0, 0.0, 1.0, 2.0], vec![3.0], vec![], vec![4.0, 5.0, 9.0]];
        let ranges = [1..4, 0..1, 0..0, 0..2];
        let parts = numbers.iter().zip(ranges).map(|(numbers, range)| (StoredValues::from(numbers), range));
        let joined = JoinedValues::new(parts.collect());
        for start in 0..6 {
            for end in start..=6 {
                let want: Vec<f64> = (start..end).map(|number| number as f64).collect();
                let mut found = vec![-1.0; end - start];
                joined.read_f64(start, &mut found);
                assert_eq!(found, want);
                let mut single = vec![-1.0; end - start];
                joined.read_f32(start, &mut single);
                assert_eq!(single.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), want);
                let whole = [0..3, 3..4, 4..6].iter().any(|part| part.contains(&start) && end <= part.end);
                let in_place = joined.in_place(start..end);
                assert_eq!(in_place.is_some(), whole, "{start}..{end}");
                if let Some(StoredValues::F32(values)) = in_place {
                    assert_eq!(values, single);
                }
            }
        }
        assert_eq!((joined.count(), joined.fits_f32()), (6, true));
    }
}
