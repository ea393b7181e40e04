//! Numbers of several matrices, one after the other, which are read as one.

use std::ops::Range;

use homing::{RowSource, StoredValues};

use crate::matrix::{Float, Matrix};

/// Matrices of the same width and number format. Their numbers stay where they are.
#[derive(Debug)]
pub(crate) struct Joined {
    parts: Vec<Matrix>,
    /// Position of the first number of each part, followed by the number of all numbers.
    starts: Vec<usize>,
}

impl Joined {
    /// Joins at least one matrix.
    pub(crate) fn new(parts: Vec<Matrix>) -> Self {
        let mut starts = vec![0];
        for part in &parts {
            starts.push(starts[starts.len() - 1] + part.rows() * part.dim());
        }
        Self { parts, starts }
    }

    pub(crate) fn float(&self) -> Float {
        self.parts[0].float()
    }

    pub(crate) fn is_in_place(&self) -> bool {
        self.parts.iter().all(Matrix::is_in_place)
    }

    pub(crate) fn is_read(&self) -> bool {
        self.parts.iter().any(Matrix::is_read)
    }

    /// Calls `each` for every part that has numbers in `range`, with the part's numbers, their range in the part, and their range
    /// relative to `range`.
    fn each(&self, range: Range<usize>, mut each: impl FnMut(StoredValues<'_>, Range<usize>, Range<usize>)) {
        let Range { start: first, end: last } = range;
        let mut done = first;
        while done < last {
            let part = self.starts.partition_point(|&start| start <= done) - 1;
            let start = self.starts[part];
            let end = self.starts[part + 1].min(last);
            let values = self.parts[part].view().values();
            each(values, done - start..end - start, done - first..end - first);
            done = end;
        }
    }
}

impl RowSource for Joined {
    fn count(&self) -> usize {
        self.starts[self.parts.len()]
    }

    fn fits_f32(&self) -> bool {
        self.float() != Float::F64
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        self.each(start..start + out.len(), |values, from, to| values.write_f64(from, &mut out[to]));
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        self.each(start..start + out.len(), |values, from, to| values.write_f32(from, &mut out[to]));
    }

    fn in_place(&self, range: Range<usize>) -> Option<StoredValues<'_>> {
        let part = self.starts.partition_point(|&start| start <= range.start).checked_sub(1)?;
        let start = self.starts[part];
        let within = range.start - start..range.end - start;
        if range.end > *self.starts.get(part + 1)? {
            return None;
        }
        self.parts[part].view().values().slice(within)
    }

    fn announce(&self, range: Range<usize>) {
        self.each(range, |values, from, _| {
            if let StoredValues::Source(source) = values {
                source.announce(from);
            }
        });
    }

    fn failure(&self) -> Option<String> {
        self.parts.iter().find_map(|part| match part.view().values() {
            StoredValues::Source(source) => source.failure(),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Numbers;

    #[test]
    fn numbers_are_read_across_the_borders_of_parts() {
        let part = |numbers: &[f32]| Matrix::new(Numbers::F32(numbers.to_vec()), 1).unwrap();
        let joined = Joined::new(vec![part(&[0.0, 1.0, 2.0]), part(&[3.0]), part(&[4.0, 5.0])]);
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
        assert_eq!(joined.count(), 6);
    }
}
