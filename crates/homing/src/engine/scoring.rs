//! Scoring all rows for one pick, and taking the best one that the limits allow.

use rand::RngExt;
use rayon::prelude::*;

use super::order::{ScoredRow, contenders, winner};
use super::plain::Tracker;
use crate::base::random::{Stream, generator};
use crate::rules::strategy::{PickMethod, Strategy};
use crate::shard::BLOCK;
use crate::task::limits::Limits;

/// The inputs for scoring rows for one pick.
pub(crate) struct Scorer<'s, 't, N> {
    pub strategy: &'s Strategy,
    pub tracker: &'s Tracker<'t>,
    /// The pool rows that the tracker holds, in increasing order; `None` if it holds them all.
    pub rows: Option<&'s [usize]>,
    /// The pool's number of the tracker's first row, by which random numbers are drawn.
    pub first: usize,
    /// ρ² of a row.
    pub noise_at: N,
    pub seed: u64,
    /// Number of picks made before this one.
    pub pick: u64,
}

/// Takes the best row that the limits allow, and marks it as taken. Returns the row and its score.
pub(crate) fn take_best(
    scorer: &Scorer<'_, '_, impl Fn(usize) -> f64 + Sync>,
    limits: &mut Limits<'_>,
) -> Option<(usize, f64)> {
    let contenders = score_blocks(scorer, limits, |scored| contenders(scored.into_iter())).concat();
    let is_copy = |a: usize, b: usize| {
        let alike = (scorer.noise_at)(a) == (scorer.noise_at)(b) && limits.cost(a) == limits.cost(b);
        let place =
            |row: usize| scorer.rows.map_or(Ok(row), |rows| rows.binary_search(&row)).expect("the row was scored");
        alike && scorer.strategy.pick_method == PickMethod::Largest && scorer.tracker.is_copy(place(a), place(b))
    };
    let best = winner(contenders.into_iter(), is_copy)?;
    limits.take(best.row);
    Some((best.row, best.score))
}

/// Takes up to `count` of the best rows that the limits allow, best first. All rows are scored once.
pub(crate) fn take_top(
    scorer: &Scorer<'_, '_, impl Fn(usize) -> f64 + Sync>,
    limits: &mut Limits<'_>,
    count: usize,
) -> Vec<(usize, f64)> {
    best_first(score_all(scorer, limits), limits, count)
}

/// Scores all rows that the limits allow.
pub(crate) fn score_all(scorer: &Scorer<'_, '_, impl Fn(usize) -> f64 + Sync>, limits: &Limits<'_>) -> Vec<ScoredRow> {
    score_blocks(scorer, limits, |scored| scored).concat()
}

/// Takes up to `count` of the best rows that the limits allow, best first.
pub(crate) fn best_first(mut all: Vec<ScoredRow>, limits: &mut Limits<'_>, count: usize) -> Vec<(usize, f64)> {
    all.sort_unstable_by(ScoredRow::order);
    let mut rest = &mut all[..];
    while let Some(&leader) = rest.first() {
        let tied = rest.iter().take_while(|one| one.ties(&leader)).count();
        let (group, others) = rest.split_at_mut(tied);
        group.sort_unstable_by_key(|one| one.row);
        rest = others;
    }
    let mut taken = Vec::with_capacity(count);
    for scored in all {
        if taken.len() == count {
            break;
        }
        if limits.allows(scored.row) {
            limits.take(scored.row);
            taken.push((scored.row, scored.score));
        }
    }
    taken
}

/// Returns the rows that may win a pick.
pub(crate) fn all_contenders(
    scorer: &Scorer<'_, '_, impl Fn(usize) -> f64 + Sync>,
    limits: &Limits<'_>,
) -> Vec<ScoredRow> {
    contenders(score_blocks(scorer, limits, |scored| contenders(scored.into_iter())).concat().into_iter())
}

/// Returns the best `count` rows that the limits allow, and those that may be tied with one of them.
pub(crate) fn top_candidates(
    scorer: &Scorer<'_, '_, impl Fn(usize) -> f64 + Sync>,
    limits: &Limits<'_>,
    count: usize,
) -> Vec<ScoredRow> {
    let mut all = score_all(scorer, limits);
    all.sort_unstable_by(ScoredRow::order);
    let Some(last) = all.get(count.saturating_sub(1)).copied() else { return all };
    // A row that is not tied with the last of them comes after all of them, and of rows with the same key the first ones do.
    let may_matter = |one: &ScoredRow| one.key >= last.key || one.may_tie(&last);
    let end = all.iter().position(|one| !may_matter(one)).unwrap_or(all.len());
    all.truncate(end);
    all.chunk_by(|a, b| a.key == b.key).flat_map(|same| same.iter().take(count)).copied().collect()
}

/// Scores the allowed rows of each block and passes them to `keep`.
fn score_blocks<T: Send>(
    scorer: &Scorer<'_, '_, impl Fn(usize) -> f64 + Sync>,
    limits: &Limits<'_>,
    keep: impl Fn(Vec<ScoredRow>) -> T + Sync,
) -> Vec<T> {
    let Scorer { strategy, tracker, rows, first, noise_at, seed, pick } = scorer;
    let in_block = |b: usize| {
        let mut rng = generator(*seed, Stream::Pick(*pick));
        rng.set_word_pos(2 * (first + b * BLOCK) as u128);
        let mut scored = Vec::with_capacity(BLOCK);
        let number = |at: usize| rows.map_or(at, |rows| rows[at]);
        tracker.for_each_in(
            b,
            |at| noise_at(number(at)),
            |at, candidate| {
                let row = number(at);
                let race = (strategy.pick_method == PickMethod::Proportional).then(|| 1.0 - rng.random::<f64>());
                if !limits.allows(row) {
                    return;
                }
                let score = strategy.rule.score(candidate);
                let key = match race {
                    None if limits.cost(row).is_none() => strategy.rule.key(candidate),
                    None => score,
                    // The largest of ln(Uᵢ)/wᵢ is row i with probability wᵢ/Σw (Efraimidis and Spirakis).
                    Some(uniform) if score > 0.0 => uniform.ln() / score,
                    Some(_) => f64::NEG_INFINITY,
                };
                let key = if key.is_nan() { f64::NEG_INFINITY } else { limits.per_cost(row, key) };
                scored.push(ScoredRow { row, score, key });
            },
        );
        keep(scored)
    };
    (0..tracker.blocks()).into_par_iter().map(in_block).collect()
}
