//! Scoring a shard's rows, one pass per pick, by the plain engine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::line::{Line, Steps, broken, run_steps};
use super::part::PoolPart;
use super::wire::{Answer, Command, OwnedOpening};
use crate::engine::order::ScoredRow;
use crate::engine::plain::Tracker;
use crate::engine::scoring::{Scorer, all_contenders, top_candidates};
use crate::engine::setup::RoundSetup;
use crate::kernels::Product;
use crate::rules::TargetNoise;
use crate::rules::strategy::Space;
use crate::select::ledger::open_ledger;
use crate::select::round::tracker_near;
use crate::shard::Scored;
use crate::task::limits::Limits;
use crate::{Embeddings, Kernel, Linear, Plan, Points, Result, Strategy, TargetSampling, Task};

/// Runs a selection with one pass per pick. Returns the steps that begin another one.
pub(super) fn score_part(
    line: &mut Line<'_, impl FnMut() -> Option<Vec<u8>>, impl FnMut(Vec<u8>)>,
    session: u64,
    opening: &OwnedOpening,
    commands: Vec<Command>,
) -> Option<Steps> {
    let part = line.part;
    let view = part.view(opening.offset.as_deref(), opening.to_unit);
    let Ok(strategy) = strategy_of(opening) else { return line.exchange(&broken()) };
    let probabilities = part.probabilities;
    let product = probabilities.map(|p| Product::new(p.dim(), true));
    let (pool, kernel): (Points<'_>, &dyn Kernel) = match (strategy.space, probabilities, &product) {
        (Space::Given, ..) => (view.into(), &Linear),
        (Space::LossGradient, Some(probabilities), Some(product)) => {
            let Ok(points) = Points::loss_gradient(view, probabilities) else { return line.exchange(&broken()) };
            (points, product)
        }
        (Space::LossGradient, ..) => {
            return line.exchange(&Answer::Failed("the rows have no class probabilities".into()));
        }
    };
    let observed = Embeddings::new(&opening.observed[..], view.dim()).ok();
    let targets = opening.targets.as_deref().and_then(|values| Embeddings::new(values, view.dim()).ok());
    let fits = opening.drawn.iter().flatten().all(|&a| targets.is_some_and(|targets| a < targets.rows()));
    let lacks = strategy.needs_targets() && opening.drawn.as_ref().is_none_or(Vec::is_empty);
    let is_scored = strategy.needs_probabilities() && probabilities.is_none();
    if !fits || lacks || is_scored || !opening.near.len().is_multiple_of(pool.dim()) {
        return line.exchange(&broken());
    }
    let task = Task::undirected(view).targets(targets.map(Points::from)).observed_points(observed.map(Points::from));
    let task = task.probabilities(probabilities);
    let target_sampling = if opening.is_whole { TargetSampling::All } else { TargetSampling::Size(1) };
    let plan = Plan { strategy, target_sampling, seed: opening.seed, ..Plan::default() };
    let setup =
        RoundSetup { task: &task, plan: &plan, pool, kernel, noise_var: opening.noise_var, mean_var: 0.0, norms: None };
    // Numbers that are none can be far inside a message that is well-formed.
    let tracker = catch_unwind(AssertUnwindSafe(|| tracker_after(&setup, opening)));
    let Ok(Some(tracker)) = tracker else { return line.exchange(&broken()) };
    let mut open = vec![true; view.rows()];
    part.own(&opening.closed).into_iter().for_each(|row| open[row] = false);
    let mut scoring = PartScoring { part, setup, tracker, limits: Limits::mask(open) };
    run_steps(line, session, commands, |command| scoring.answer(command))
}

fn strategy_of(opening: &OwnedOpening) -> Result<Strategy> {
    let strategy: Strategy = match opening.beta {
        Some(beta) => Strategy::information_density(beta)?,
        None => opening.strategy.parse()?,
    };
    Ok(if opening.in_given_space { strategy.of_given_gradients() } else { strategy })
}

/// Returns the numbers of all rows given the picks so far; `None` if the message's numbers are none.
fn tracker_after<'a>(setup: &RoundSetup<'_, 'a>, opening: &OwnedOpening) -> Option<Tracker<'a>> {
    let target_noise = setup.plan.strategy.wants().var_given_targets.unwrap_or(TargetNoise::Noisy);
    let mut ledger = open_ledger(setup.task, setup.noise_var, target_noise).ok()?;
    for pick in opening.picks.chunks_exact(setup.task.pool.dim()) {
        ledger.observe(pick, setup.noise_var);
    }
    let drawn = opening.drawn.as_deref();
    let probabilities = setup.task.probabilities;
    Some(tracker_near(setup, setup.pool, probabilities, &mut ledger, opening.turns, drawn, &opening.near))
}

struct PartScoring<'s, 'a> {
    part: PoolPart<'a>,
    setup: RoundSetup<'s, 'a>,
    tracker: Tracker<'a>,
    limits: Limits<'s>,
}

impl PartScoring<'_, '_> {
    fn scorer(&self, picks: u64) -> Scorer<'_, '_, impl Fn(usize) -> f64 + Sync> {
        Scorer { first: self.part.first, pick: picks, ..self.setup.scorer(&self.tracker, 0) }
    }

    /// Does a step; `None` if it does not fit the steps before.
    fn answer(&mut self, command: Command) -> Option<Answer> {
        let scored = match command {
            Command::Best { picks } => all_contenders(&self.scorer(picks), &self.limits),
            Command::Top { count, picks } => top_candidates(&self.scorer(picks), &self.limits, count),
            Command::Observe { row, point } => {
                if point.len() != self.setup.pool.dim() {
                    return None;
                }
                self.tracker.observe_point(&point, self.setup.noise_var);
                if self.part.range().contains(&row) && self.limits.allows(row - self.part.first) {
                    self.limits.take(row - self.part.first);
                }
                return Some(Answer::Done);
            }
            _ => return None,
        };
        let numbered = |ScoredRow { row, score, key }: ScoredRow| Scored { row: self.part.first + row, score, key };
        Some(Answer::Scored(scored.into_iter().map(numbered).collect()))
    }
}
