//! Algorithm 1: few-shot training of a network. The numbers (1) to (13) in comments are the lines of the algorithm.

use std::time::{Duration, Instant};

use homing::{Noise, Plan, Strategy, Task, select};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::candidates::{CandidateRequest, Candidates};
use crate::embed::{Embedder, EmbeddingKind, ExampleEmbeddings};
use crate::labels::{Answer, Oracle, Question};
use crate::learner::{Examples, LabelledExamples, Learner, Lesson, LessonCurve, LessonEnd, accuracy, null_as_nan};
use crate::remedy::Parameter;
use crate::run::RuleRun;
use crate::sigma::Sigma;
use crate::strategy::NamedStrategy;
use crate::{Error, Inputs, Result};

/// Examples that the loop works on.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The pool, over which P_S is a distribution.
    pub pool: &'a Inputs,
    /// Rows of the pool that may be chosen, in ascending order.
    pub open: &'a [usize],
    /// A, the small sample of P_A.
    pub targets: Examples<'a>,
    /// The network's class for each class of the pool; none if the network does not learn it.
    pub classes: &'a [Option<u32>],
    /// Validation examples, which decide the best epoch.
    pub valid: Option<LabelledExamples<'a>>,
    /// Test examples, which the accuracy is measured on.
    pub test: Option<LabelledExamples<'a>>,
}

/// Settings of the loop: everything that the result depends on except the problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The selection rule.
    pub rule: NamedStrategy,
    /// How each round chooses.
    pub choosing: ChoosingSettings,
    /// How each round learns.
    pub learning: LearningSettings,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Seed for all random choices.
    pub seed: u64,
}

/// How each round chooses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChoosingSettings {
    /// Number of rounds; each chooses, labels and learns.
    pub rounds: usize,
    /// Picks per round, b.
    pub picks_per_round: usize,
    /// Source of the candidates S.
    pub candidates: Candidates,
    /// Targets per round, m, drawn from all targets; if none, each round uses all of them.
    pub targets_per_round: Option<usize>,
    /// Kind of embedding φ.
    pub embedding: EmbeddingKind,
    /// Covariance Σ of the weights.
    pub sigma: Sigma,
    /// Noise standard deviation ρ; if none, it is derived from the data.
    pub noise_std: Option<f64>,
    /// Whether to condition on the picks of earlier rounds; the paper starts every round from the prior, as does a Laplace
    /// covariance, which contains them already.
    pub condition: bool,
}

/// How each round learns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearningSettings {
    /// When a lesson ends.
    pub until: LessonEnd,
    /// Whether each round starts from the network of the previous round instead of from initial weights.
    pub warm_start: bool,
    /// Maximum number of examples per optimiser step.
    pub minibatch_size: usize,
    /// Whether every example has the same weight, instead of every class.
    pub unweighted_loss: bool,
}

/// One pick and its label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelledPick {
    /// Row of the pool.
    pub row: usize,
    /// Score by the rule.
    #[serde(deserialize_with = "null_as_nan")]
    pub score: f64,
    /// Information about the targets in the picks of the round up to this one, in nats.
    #[serde(deserialize_with = "null_as_nan")]
    pub information: f64,
    /// Class in the pool; none if the pick was skipped.
    pub label: Option<u32>,
}

/// Record of one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Number of the round, counted from 1.
    pub round: usize,
    /// The batch B.
    pub picks: Vec<LabelledPick>,
    /// Number of examples that the network has learned from.
    pub learned: usize,
    /// Course of the lesson; none if there was nothing to learn from yet.
    pub curve: Option<LessonCurve>,
    /// Accuracy on the test examples, if there are any.
    pub accuracy: Option<f64>,
}

/// Duration of a round, without labelling and testing.
#[derive(Clone, Copy, Debug)]
pub struct RoundTiming {
    /// Time for embedding and selecting.
    pub choosing: Duration,
    /// Time for updating the network.
    pub learning: Duration,
}

/// Streams of random numbers of the seed.
const TARGETS: u64 = 1;
const CANDIDATES: u64 = 2;
const RULE: u64 = 3;
const WEIGHTS: u64 = 4;
const LESSON: u64 = 5;

impl Settings {
    /// Returns a seed for one purpose in one round. Because each round has its own seeds, a resumed run draws the same
    /// numbers.
    fn seed_of(&self, purpose: u64, round: usize) -> u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(purpose << 32 | round as u64);
        rand::RngExt::random(&mut rng)
    }

    /// Refuses settings that are out of range or contradict each other.
    pub fn check(&self, problem: &Problem<'_>) -> Result<()> {
        let choosing = &self.choosing;
        if let Sigma::Laplace(_) = choosing.sigma {
            if matches!(choosing.embedding, EmbeddingKind::Outputs | EmbeddingKind::NetworkGradient(_)) {
                return Err(Error::LaplaceEmbedding);
            }
            if choosing.condition {
                return Err(Error::LaplaceConditioning);
            }
        }
        Parameter::LearningRate.check(self.learning_rate, self.learning_rate)?;
        if let Some(std) = choosing.noise_std {
            Parameter::NoiseStd.check(std, format_args!("{std:?}"))?;
        }
        Parameter::Rounds.check_count(choosing.rounds as u64)?;
        Parameter::PicksPerRound.check_count(choosing.picks_per_round as u64)?;
        match self.learning.until {
            _ if problem.open.is_empty() => Err(Error::EmptyPool),
            _ if problem.targets.rows.is_empty() => Err(Error::NoExamples { of: "targets" }),
            LessonEnd::ValidationDrops { .. } if problem.valid.is_none() => Err(Error::NoValidation),
            _ => Ok(()),
        }
    }
}

/// Continues `run` until all rounds are done, and calls `after` after each round. Rounds that `run` already holds are not
/// repeated.
///
/// (1) Given: a model f, a small sample A ~ P_A.
pub fn fine_tune(
    problem: &Problem<'_>,
    settings: &Settings,
    learner: &mut dyn Learner,
    oracle: &mut dyn Oracle,
    run: &mut RuleRun,
    mut after: impl FnMut(&RoundRecord, RoundTiming) -> std::io::Result<()>,
) -> Result<()> {
    settings.check(problem)?;
    let tested = [problem.valid, problem.test].into_iter().flatten().map(|labelled| labelled.examples.inputs);
    for inputs in [problem.pool, problem.targets.inputs].into_iter().chain(tested) {
        learner.hold(inputs)?;
    }
    // (2) D = ∅, or the examples that were labelled before an interruption.
    if let Some(weights) = run.weights()? {
        learner.load(weights)?;
    } else {
        learner.restart(settings.seed_of(WEIGHTS, 0));
    }
    let per_round = settings.choosing.picks_per_round;
    // (3) repeat
    for number in run.rounds().len() + 1..=settings.choosing.rounds {
        let start = Instant::now();
        let pending = run.pending();
        let chosen = match pending {
            Some(picks) => Some(picks),
            None => choose(problem, settings, learner, run, &Batch { number, picks: &[], count: per_round })?,
        };
        let Some(mut picks) = chosen else { break };
        let mut choosing = start.elapsed();
        if run.pending().is_none() {
            run.keep_pending(&picks, 0)?;
        }
        loop {
            label(&mut picks, number, per_round, oracle, run)?;
            let count = replacements(&picks, per_round);
            if count == 0 {
                break;
            }
            let start = Instant::now();
            let Some(more) = choose(problem, settings, learner, run, &Batch { number, picks: &picks, count })? else {
                break;
            };
            choosing += start.elapsed();
            let answered = picks.len();
            picks.extend(more);
            run.keep_pending(&picks, answered)?;
        }
        let start = Instant::now();
        let (curve, learned) = update(problem, settings, learner, run, &picks, number)?;
        let timing = RoundTiming { choosing, learning: start.elapsed() };
        let accuracy = problem.test.map(|test| accuracy(learner, test)).transpose()?;
        let round = RoundRecord { round: number, picks, learned, curve, accuracy };
        run.commit(&round, &learner.save()?)?;
        after(&round, timing).map_err(Error::io(run.folder()))?;
    }
    run.finish()
}

/// Returns how many rows are chosen to take the place of those that were skipped: so many that enough of them are probably
/// labelled, if as large a share is skipped as before. Those that are not needed are dropped.
fn replacements(picks: &[LabelledPick], per_round: usize) -> usize {
    const MOST: usize = 4;
    let labelled = picks.iter().filter(|pick| pick.label.is_some()).count();
    let lacking = (picks.len() - labelled).min(per_round - labelled);
    (lacking * picks.len()).div_ceil(labelled.max(1)).min(MOST * lacking)
}

/// The part of a batch that is chosen next.
struct Batch<'a> {
    /// Number of the round.
    number: usize,
    /// Picks of the round, which have been answered.
    picks: &'a [LabelledPick],
    /// Number of further picks.
    count: usize,
}

/// Returns the batch B or a part of it, or none if the pool is used up.
fn choose(
    problem: &Problem<'_>,
    settings: &Settings,
    learner: &dyn Learner,
    run: &RuleRun,
    batch: &Batch<'_>,
) -> Result<Option<Vec<LabelledPick>>> {
    let number = batch.number;
    let mut labelled = run.labelled();
    labelled.extend(batch.picks.iter().map(|pick| pick.row));
    labelled.sort_unstable();
    let open: Vec<usize> = problem.open.iter().copied().filter(|row| labelled.binary_search(row).is_err()).collect();
    if open.is_empty() {
        return Ok(None);
    }
    // (5) A′ from A, uniformly at random.
    let subset = subsample(problem.targets.rows, settings, number);
    let targets = Examples { inputs: problem.targets.inputs, rows: &subset };
    let lessons = Lessons::new(problem, run.rounds().iter().flat_map(|round| &round.picks));
    let embedder = if settings.rule.makes_loss_gradients() {
        Embedder::new(learner, EmbeddingKind::LastLayer, None)
    } else {
        let sigma = settings.choosing.sigma.covariance(
            learner,
            lessons.labelled(problem),
            !settings.learning.unweighted_loss,
        )?;
        Embedder::new(learner, settings.choosing.embedding, sigma)
    };
    let embed = |rows: &[usize]| embedder.embed(Examples { inputs: problem.pool, rows });
    let target_embeddings = embedder.embed(targets)?;
    // (4) S ~ P_S.
    let request = CandidateRequest {
        open: &open,
        seed: settings.seed_of(CANDIDATES, number),
        embed: &embed,
        targets: &target_embeddings,
    };
    let candidates = settings.choosing.candidates.rows(&request)?;
    // (7) The kernel over [S, A′], without forming its matrix.
    let pool = embed(&candidates)?;
    let earlier = run.rounds().iter().flat_map(|round| &round.picks).filter(|_| settings.choosing.condition);
    // A batch is always conditioned on its own picks. Of a skipped row it is known that it has none of the classes; otherwise, rows
    // like it would be picked again and again.
    let known: Vec<usize> = earlier.chain(batch.picks).map(|pick| pick.row).collect();
    let observed = if known.is_empty() { None } else { Some(embed(&known)?) };
    let task = Task::new(pool.points()?, target_embeddings.points()?)
        .kernel(embedder.kernel())
        .probabilities(pool.probabilities()?)
        .observed_points(observed.as_ref().map(ExampleEmbeddings::points).transpose()?);
    let plan = Plan::default()
        .strategy(Strategy::clone(&settings.rule))
        .count(batch.count.min(candidates.len()))
        .noise(settings.choosing.noise_std.map_or_else(Noise::default, Noise::Std))
        .seed(settings.seed_of(RULE, number));
    // (6) B = ∅; (8) repeat b times: (9) acquisition function, (10) its maximiser joins B, (11) condition on it.
    let chosen = select(&task, &plan)?;
    // The picks before have their part of the round's information: I(A; B₁, B₂) = I(A; B₁) + I(A; B₂ | B₁).
    let before = batch.picks.last().map_or(0.0, |pick| pick.information);
    let pick = |pick: &homing::Pick| LabelledPick {
        row: candidates[pick.row],
        score: pick.score,
        information: before + pick.information,
        label: None,
    };
    Ok(Some(chosen.picks.iter().map(pick).collect()))
}

fn subsample(targets: &[usize], settings: &Settings, number: usize) -> Vec<usize> {
    let Some(count) = settings.choosing.targets_per_round.filter(|&count| count < targets.len()) else {
        return targets.to_vec();
    };
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed_of(TARGETS, number));
    let mut at = sample(&mut rng, targets.len(), count).into_vec();
    at.sort_unstable();
    at.into_iter().map(|at| targets[at]).collect()
}

/// (12) Labels B, until `count` picks have a label. Each answer is saved at once, so that a resumed run does not ask again.
fn label(
    picks: &mut Vec<LabelledPick>,
    round: usize,
    count: usize,
    oracle: &mut dyn Oracle,
    run: &mut RuleRun,
) -> Result<()> {
    let mut at = run.answers();
    while at < picks.len() {
        let labelled = picks[..at].iter().filter(|pick| pick.label.is_some()).count();
        if labelled == count {
            // An answer was corrected, so that nothing takes its place.
            picks.truncate(at);
            break;
        }
        let next: Vec<usize> = picks[at + 1..].iter().map(|pick| pick.row).collect();
        let number = labelled + 1;
        let question =
            Question { row: picks[at].row, next: &next, number, count: count.min(number + next.len()), round };
        match oracle.label(&question)? {
            Answer::Undo => {
                at = at.saturating_sub(1);
                picks[at].label = None;
            }
            Answer::Class(class) => {
                picks[at].label = Some(class);
                at += 1;
            }
            Answer::Skip => at += 1,
        }
        run.keep_pending(picks, at)?;
    }
    Ok(())
}

/// (13) Updates f with the data D. Returns the course of the lesson and the number of examples of D that the network learns
/// from.
fn update(
    problem: &Problem<'_>,
    settings: &Settings,
    learner: &mut dyn Learner,
    run: &RuleRun,
    picks: &[LabelledPick],
    number: usize,
) -> Result<(Option<LessonCurve>, usize)> {
    let lessons = Lessons::new(problem, run.rounds().iter().flat_map(|round| &round.picks).chain(picks));
    if lessons.rows.is_empty() {
        return Ok((None, 0));
    }
    if !settings.learning.warm_start {
        learner.restart(settings.seed_of(WEIGHTS, number));
    }
    let lesson = Lesson {
        train: lessons.labelled(problem),
        valid: problem.valid,
        until: settings.learning.until,
        learning_rate: settings.learning_rate,
        minibatch_size: settings.learning.minibatch_size,
        reweight: !settings.learning.unweighted_loss,
        seed: settings.seed_of(LESSON, number),
    };
    let curve = learner.fit(&lesson)?;
    if !learner.last_layer().iter().all(|weight| weight.is_finite()) {
        return Err(Error::InfiniteWeights { round: number });
    }
    Ok((Some(curve), lessons.rows.len()))
}

/// The part of D that the network learns from: rows of the pool and their classes in the network.
struct Lessons {
    rows: Vec<usize>,
    labels: Vec<u32>,
}

impl Lessons {
    fn new<'a>(problem: &Problem<'_>, picks: impl Iterator<Item = &'a LabelledPick>) -> Self {
        let known = |pick: &LabelledPick| Some((pick.row, problem.classes[pick.label? as usize]?));
        let (rows, labels) = picks.filter_map(known).unzip();
        Self { rows, labels }
    }

    fn labelled<'a>(&'a self, problem: &Problem<'a>) -> LabelledExamples<'a> {
        LabelledExamples { examples: Examples { inputs: problem.pool, rows: &self.rows }, labels: &self.labels }
    }
}
