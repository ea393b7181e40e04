//! The best rows of a pool whose carrier ranks them, for rules that score every row once.
//!
//! The carrier computes all keys in its own precision, and names the rows with nearly the largest. The caller computes the
//! keys of these in f64; the least of them that is wanted is a bar. One pass with the carrier's bounds then names every
//! other row that may reach the bar. A row that is not named therefore is not among the best.

use std::collections::HashMap;

use super::cold::ColdRows;
use super::{SelectionState, carried, fits_single};
use crate::engine::order::{ScoredRow, TIE};
use crate::engine::work::Work;
use crate::law::Law;
use crate::law::targets::Targets;
use crate::rules::rule_with;
use crate::shard::KeyForm;
use crate::task::survey::Norms;
use crate::{Embeddings, Linear, Result, Wants};

use super::block_steps::RowMeaning;

/// Number of rows that are named in addition to those that are wanted, because keys in f32 may change places.
const SPARE: usize = 64;

/// Largest number of rows that a carrier is asked to rank, because it copies their vectors.
const MOST: usize = 1 << 16;

/// The rows of a pool that its carrier ranks.
pub(crate) struct RankedRows<'a> {
    pool: Embeddings<'a>,
    state: SelectionState,
    cold: ColdRows<'a>,
    open: Vec<bool>,
    passes: usize,
}

impl<'a> RankedRows<'a> {
    /// Prepares to rank rows by keys of a form, and computes nothing yet. Returns `None` if the pool's carrier cannot, or for
    /// norms beyond f32.
    pub fn new(
        pool: Embeddings<'a>,
        norms: &Norms,
        form: KeyForm,
        mut state: SelectionState,
        open: Vec<bool>,
    ) -> Option<Self> {
        if !fits_single(norms, &state) {
            return None;
        }
        state.fold();
        let shards = carried(pool, RowMeaning { rule: rule_with(form), noise_var: state.noise_var }, false);
        if shards.is_empty() {
            return None;
        }
        let cold = ColdRows::unstarted(shards, pool.dim(), open.len());
        Some(Self { pool, state, cold, open, passes: 0 })
    }

    /// Ranks by another state, and among other open rows, from now on.
    pub fn turn_to(&mut self, state: SelectionState, open: &[bool]) {
        (self.state, self.open) = (state, open.to_vec());
    }

    /// Returns open rows among which the best `count` are, scored by `score`, which takes rows in increasing order. `None` if
    /// too many rows are within rounding, or if the carrier fails.
    pub fn best(
        &mut self,
        count: usize,
        mut score: impl FnMut(&[usize]) -> Result<Vec<ScoredRow>>,
    ) -> Result<Option<Vec<ScoredRow>>> {
        let count = count.min(self.open.iter().filter(|&&open| open).count());
        let most = count + SPARE;
        if most > MOST {
            return Ok(None);
        }
        self.passes += 1;
        self.cold.start(&self.state, &self.open);
        let mut first = self.cold.rank((most, most), &[], self.state.standardised().as_deref(), &[]);
        if first.len() < count {
            return Ok(None);
        }
        first.sort_unstable();
        let mut scored = score(&first)?;
        scored.sort_unstable_by(ScoredRow::order);
        let Some(&last) = count.checked_sub(1).and_then(|last| scored.get(last)) else { return Ok(None) };
        let Some(mut others) = self.reaching(&last, &first) else { return Ok(None) };
        if !others.is_empty() {
            others.sort_unstable();
            scored.extend(score(&others)?);
        }
        Ok(Some(scored))
    }

    /// Returns the open rows whose key may reach that of a row or tie with it, except some that are known.
    fn reaching(&mut self, last: &ScoredRow, known: &[usize]) -> Option<Vec<usize>> {
        if !last.key.is_finite() {
            return None;
        }
        let bar = ScoredRow { key: last.key - 4.0 * TIE * last.key.abs(), ..*last };
        // A carrier decides before a drafted pick. This one is never made.
        let mut after = self.state.clone();
        let step = after.observe(&self.pool.row(bar.row), bar).ok()?;
        let known: HashMap<usize, usize> = known.iter().map(|&row| (row, 0)).collect();
        self.passes += 1;
        let found = self.cold.verify((&[], &[step]), after.standardised().as_deref(), None, &known);
        (found.complete == 1).then(|| found.rows.into_iter().map(|(_, row)| row).collect())
    }

    pub fn work(&self) -> Work {
        Work { passes: self.passes, probes: self.cold.probes(), left_carrier: false }
    }
}

/// Returns the state in which the standardised covariance of a row with some targets, divided by its standard deviation, is
/// the mean of its cosines with them, which is the key of such a rule: nothing is observed. Noise of the size `scale` does not matter to them.
pub(crate) fn cosine_state(targets: &[f64], dim: usize, scale: f64) -> Option<SelectionState> {
    let mut prior = Law::prior(&Linear, dim);
    let targets = Targets::new(targets.to_vec(), dim, &mut prior);
    let targets = Targets { weight: 1.0 / targets.vars.len() as f64, ..targets };
    let wants = Wants { var: true, std_cov: true, ..Wants::default() };
    SelectionState::new(prior, None, Some(targets), wants, scale)
}
