//! The one place that takes the maximum, and that knows which rows may be picked.

use rand::RngExt;
use rayon::prelude::*;

use crate::embeddings::BLOCK;
use crate::random::{Stream, generator};
use crate::strategy::{Choice, Strategy};
use crate::tracker::Tracker;
use crate::{Plan, Task};

/// Rows that may still be picked: not forbidden, not labelled, not picked, within quota and budget.
pub(crate) struct Limits<'a> {
    open: Vec<bool>,
    groups: Option<&'a [usize]>,
    quotas: Vec<usize>,
    costs: Option<&'a [f64]>,
    budget: f64,
    spent: f64,
    repeat: bool,
}

impl<'a> Limits<'a> {
    pub fn new(task: &Task<'a>, plan: &Plan) -> Self {
        let mut open = vec![true; task.pool.rows()];
        for &row in task.forbidden {
            open[row] = false;
        }
        if !plan.repeat {
            for &row in task.observed_rows {
                open[row] = false;
            }
        }
        Self {
            open,
            groups: task.groups,
            quotas: plan.quotas.clone(),
            costs: task.costs,
            // Sums of decimal costs are off by a few ulp.
            budget: plan.budget.map_or(f64::INFINITY, |budget| budget * (1.0 + 1e-12)),
            spent: 0.0,
            repeat: plan.repeat,
        }
    }

    /// Nothing but a mask.
    pub fn mask(open: Vec<bool>) -> Self {
        let (quotas, budget) = (Vec::new(), f64::INFINITY);
        Self { open, groups: None, quotas, costs: None, budget, spent: 0.0, repeat: false }
    }

    /// Rows that are neither forbidden, labelled nor picked.
    pub fn available(&self) -> usize {
        self.open.iter().filter(|&&open| open).count()
    }

    /// Whether a row may be picked now.
    pub fn allows(&self, row: usize) -> bool {
        self.open[row]
            && self.costs.is_none_or(|costs| self.spent + costs[row] <= self.budget)
            && self.groups.is_none_or(|groups| self.quotas.get(groups[row]).is_none_or(|&left| left > 0))
    }

    /// Whether nothing but a mask limits the picks.
    pub fn is_mask(&self) -> bool {
        self.costs.is_none() && self.quotas.is_empty() && !self.repeat
    }

    /// The mask.
    pub fn open(&self) -> &[bool] {
        &self.open
    }

    /// Marks a row as picked.
    pub fn take(&mut self, row: usize) {
        self.open[row] = self.repeat;
        if let Some(costs) = self.costs {
            self.spent += costs[row];
        }
        if let Some(left) = self.groups.and_then(|groups| self.quotas.get_mut(groups[row])) {
            *left -= 1;
        }
    }

    /// Worth for its cost; a negative score (a race's, say) grows worse with the cost.
    fn per_cost(&self, row: usize, key: f64) -> f64 {
        match self.costs {
            Some(costs) if key >= 0.0 => key / costs[row],
            Some(costs) => key * costs[row],
            None => key,
        }
    }
}

/// A row with its rule's score and the key that decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scored {
    pub row: usize,
    pub score: f64,
    pub key: f64,
}

/// Keys that agree to this share are a tie: they differ by the order of summation.
pub(crate) const TIE: f64 = 1e-12;

/// Copies of one row, whose numbers come from different places of a matrix product, have keys that agree at least to this share.
const PRODUCT_TWINS: f64 = 1e-3;

impl Scored {
    /// Larger key first, then smaller row.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.key.total_cmp(&self.key).then(self.row.cmp(&other.row))
    }

    fn reaches(&self, best: &Self, share: f64) -> bool {
        self.key >= best.key - share * best.key.abs() || self.key == best.key
    }

    fn ties(&self, best: &Self) -> bool {
        self.reaches(best, TIE)
    }
}

/// Of some rows in rising order those that may win among all: the best one, and what may be its tie or its copy. A row is no
/// match for an earlier one with as large a key.
pub(crate) fn contenders(scored: impl Iterator<Item = Scored> + Clone) -> Vec<Scored> {
    let Some(best) = scored.clone().min_by(Scored::order) else { return Vec::new() };
    let mut most = None;
    let mut leads = |key: f64| {
        let leads = most.is_none_or(|most| key > most);
        most = if leads { Some(key) } else { most };
        leads
    };
    scored.filter(|one| one.reaches(&best, PRODUCT_TWINS) && leads(one.key)).collect()
}

/// The row that wins: the first, in rising order, that ties with the best or is a copy of it.
pub(crate) fn winner(contenders: &[Scored], is_copy: impl Fn(usize, usize) -> bool) -> Option<Scored> {
    let best = contenders.iter().min_by(|a, b| a.order(b))?;
    let wins = |one: &Scored| one.ties(best) || (one.reaches(best, PRODUCT_TWINS) && is_copy(one.row, best.row));
    contenders.iter().copied().find(wins)
}

/// What rows are scored with for one pick.
pub(crate) struct Scorer<'s, 't, N> {
    pub strategy: &'s Strategy,
    pub tracker: &'s Tracker<'t>,
    /// The pool rows that the tracker's are, in rising order; none where it has them all.
    pub rows: Option<&'s [usize]>,
    /// ρ² of a row.
    pub noise_at: N,
    pub seed: u64,
    /// Picks made before this one.
    pub pick: u64,
}

/// Takes the best row that the limits allow, and marks it taken; its row and its rule's score.
pub(crate) fn take_best(
    scorer: &Scorer<'_, '_, impl Fn(usize) -> f64 + Sync>,
    limits: &mut Limits<'_>,
) -> Option<(usize, f64)> {
    let contenders = score_blocks(scorer, limits, |scored| contenders(scored.into_iter())).concat();
    let is_copy = |a: usize, b: usize| {
        let alike =
            (scorer.noise_at)(a) == (scorer.noise_at)(b) && limits.costs.is_none_or(|costs| costs[a] == costs[b]);
        let place = |row: usize| scorer.rows.map_or(Ok(row), |rows| rows.binary_search(&row)).expect("a scored row");
        alike && scorer.strategy.choice == Choice::Largest && scorer.tracker.is_copy(place(a), place(b))
    };
    let best = winner(&contenders, is_copy)?;
    limits.take(best.row);
    Some((best.row, best.score))
}

/// The best rows that the limits allow, best first, up to `count`, scored once.
pub(crate) fn take_top(
    scorer: &Scorer<'_, '_, impl Fn(usize) -> f64 + Sync>,
    limits: &mut Limits<'_>,
    count: usize,
) -> Vec<(usize, f64)> {
    let mut all = score_blocks(scorer, limits, |scored| scored).concat();
    all.sort_unstable_by(Scored::order);
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

/// Scores the allowed rows of every block and hands them to `keep`.
fn score_blocks<T: Send>(
    scorer: &Scorer<'_, '_, impl Fn(usize) -> f64 + Sync>,
    limits: &Limits<'_>,
    keep: impl Fn(Vec<Scored>) -> T + Sync,
) -> Vec<T> {
    let Scorer { strategy, tracker, rows, noise_at, seed, pick } = scorer;
    let in_block = |b: usize| {
        let mut rng = generator(*seed, Stream::Pick(*pick));
        rng.set_word_pos(2 * (b * BLOCK) as u128);
        let mut scored = Vec::with_capacity(BLOCK);
        let number = |at: usize| rows.map_or(at, |rows| rows[at]);
        tracker.for_each_in(
            b,
            |at| noise_at(number(at)),
            |at, candidate| {
                let row = number(at);
                let race = (strategy.choice == Choice::Proportional).then(|| 1.0 - rng.random::<f64>());
                if !limits.allows(row) {
                    return;
                }
                let score = strategy.rule.score(candidate);
                let key = match race {
                    None if limits.costs.is_none() => strategy.rule.key(candidate),
                    None => score,
                    // The largest of ln(Uᵢ)/wᵢ is row i with probability wᵢ/Σw (Efraimidis and Spirakis).
                    Some(uniform) if score > 0.0 => uniform.ln() / score,
                    Some(_) => f64::NEG_INFINITY,
                };
                let key = if key.is_nan() { f64::NEG_INFINITY } else { limits.per_cost(row, key) };
                scored.push(Scored { row, score, key });
            },
        );
        keep(scored)
    };
    (0..tracker.blocks()).into_par_iter().map(in_block).collect()
}
