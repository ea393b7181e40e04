//! The only place that decides a pick: the larger key is picked, and ties and copies go to the smaller row.

use std::cmp::Ordering;

use crate::{Kernel, Points};

/// A row with its score and the key by which rows are compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredRow {
    pub row: usize,
    pub score: f64,
    pub key: f64,
}

/// Relative difference up to which keys are tied: it comes from the order of summation.
pub(crate) const TIE: f64 = 1e-12;

/// Relative difference up to which keys may belong to copies of one row: their numbers may come from different positions in
/// a matrix product.
const COPIES: f64 = 1e-3;

impl ScoredRow {
    /// Orders by decreasing key, then by increasing row.
    pub fn order(&self, other: &Self) -> Ordering {
        other.key.total_cmp(&self.key).then(self.row.cmp(&other.row))
    }

    /// Returns whether the keys agree up to a share of the larger one. An infinite key agrees only with itself.
    fn is_within(&self, other: &Self, share: f64) -> bool {
        let (apart, scale) = ((self.key - other.key).abs(), self.key.abs().max(other.key.abs()));
        self.key == other.key || (scale.is_finite() && apart <= share * scale)
    }

    pub fn ties(&self, other: &Self) -> bool {
        self.is_within(other, TIE)
    }

    /// Returns whether both may be tied with a third.
    pub fn may_tie(&self, other: &Self) -> bool {
        self.is_within(other, 4.0 * TIE)
    }

    /// Returns whether this row is picked rather than the other.
    pub fn beats(&self, other: &Self, is_copy: impl Fn(usize, usize) -> bool) -> bool {
        let tied = self.ties(other) || (self.is_within(other, COPIES) && is_copy(self.row, other.row));
        if tied { self.row < other.row } else { self.key > other.key }
    }
}

/// Returns the rows that may win among all, given some rows in increasing order: the best one, and rows that may tie with
/// it or be its copies. A row cannot win against an earlier one with at least the same key.
pub(crate) fn contenders(scored: impl Iterator<Item = ScoredRow> + Clone) -> Vec<ScoredRow> {
    let Some(best) = scored.clone().min_by(ScoredRow::order) else { return Vec::new() };
    let mut most = None;
    let mut leads = |key: f64| {
        let leads = most.is_none_or(|most| key > most);
        most = if leads { Some(key) } else { most };
        leads
    };
    scored.filter(|one| one.is_within(&best, COPIES) && leads(one.key)).collect()
}

/// Returns the row to pick: the first that ties with the best or is a copy of it.
pub(crate) fn winner(
    scored: impl Iterator<Item = ScoredRow> + Clone,
    is_copy: impl Fn(usize, usize) -> bool,
) -> Option<ScoredRow> {
    winner_at(scored.map(|one| (one.row, one)), is_copy).map(|(_, best)| best)
}

/// The same for rows with their places, by which copies are compared.
pub(crate) fn winner_at(
    placed: impl Iterator<Item = (usize, ScoredRow)> + Clone,
    is_copy: impl Fn(usize, usize) -> bool,
) -> Option<(usize, ScoredRow)> {
    let (place, best) = placed.clone().min_by(|(_, a), (_, b)| a.order(b))?;
    let tied = placed.filter(|(at, one)| one.row < best.row && one.beats(&best, |_, _| is_copy(*at, place)));
    tied.min_by_key(|(_, one)| one.row).or(Some((place, best)))
}

/// Returns whether f has the same value at two rows: k(a, a) = k(a, b) = k(b, b).
pub(crate) fn is_copy(kernel: &dyn Kernel, pool: Points<'_>, a: usize, b: usize) -> bool {
    let (a, b) = (pool.row(a), pool.row(b));
    let shared = kernel.eval(&a, &b);
    kernel.var(&a) == shared && kernel.var(&b) == shared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(row: usize, key: f64) -> ScoredRow {
        ScoredRow { row, score: key, key }
    }

    #[test]
    fn the_larger_key_wins_unless_it_is_a_tie_or_a_copy() {
        let never = |_: usize, _: usize| false;
        assert!(scored(9, 2.0).beats(&scored(3, 1.0), never) && !scored(3, 1.0).beats(&scored(9, 2.0), never));
        assert!(scored(3, 1.0).beats(&scored(9, 1.0 + 1e-13), never));
        assert!(!scored(3, 1.0).beats(&scored(9, 1.0 + 1e-4), never));
        assert!(scored(3, 1.0).beats(&scored(9, 1.0 + 1e-4), |_, _| true));
        assert!(!scored(3, 1.0).beats(&scored(9, 1.01), |_, _| true));
        let lowest = f64::NEG_INFINITY;
        assert!(scored(3, lowest).beats(&scored(9, lowest), never));
    }

    #[test]
    fn no_row_beats_the_winner() {
        let rows: Vec<ScoredRow> =
            [0.3, 1.0, 0.2, 1.0 - 1e-13, 1.0 + 1e-5].iter().enumerate().map(|(i, &key)| scored(i, key)).collect();
        let copies = |a: usize, b: usize| (a.min(b), a.max(b)) == (0, 4);
        assert_eq!(winner(rows.iter().copied(), |_, _| false).unwrap().row, 4);
        assert_eq!(winner(rows.iter().copied(), copies).unwrap().row, 4);
        assert_eq!(winner(rows.iter().copied(), |_, _| true).unwrap().row, 1);
        assert_eq!(winner(rows[..4].iter().copied(), |_, _| false).unwrap().row, 1);
        assert_eq!(winner(contenders(rows.iter().copied()).into_iter(), |_, _| true).unwrap().row, 1);
    }
}
