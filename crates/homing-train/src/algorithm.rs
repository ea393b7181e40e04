//! Algorithm 1: few-shot training of a network. The numbers (1) to (13) in comments are the lines of the algorithm.

use std::time::{Duration, Instant};

use homing::{BatchMethod, Kernel, Noise, Plan, Points, Strategy, Task, select};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::candidates::{CandidateRequest, Candidates};
use crate::embed::{Embedder, EmbeddingKind, ExampleEmbeddings};
use crate::labels::{Answer, Oracle, Question};
use crate::learner::{
    AdamSettings, Examples, LabelledExamples, Learner, Lesson, LessonCurve, LessonEnd, accuracy, null_as_nan,
};
use crate::remedy::Parameter;
use crate::run::RuleRun;
use crate::sigma::Sigma;
use crate::strategy::NamedStrategy;
use crate::targets::RoundTargets;
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
    /// Number of first picks of the run that are made at random, whatever the rule is.
    pub random_start: usize,
    /// Whether rows may be picked again; the network then learns from them as often as they were picked.
    pub repeat: bool,
    /// Source of the candidates S.
    pub candidates: Candidates,
    /// Targets of a round, A′.
    pub targets_per_round: RoundTargets,
    /// Kind of embedding φ.
    pub embedding: EmbeddingKind,
    /// Covariance Σ of the weights.
    pub sigma: Sigma,
    /// Noise standard deviation ρ; if none, it is derived from the data.
    pub noise_std: Option<f64>,
    /// Noise variance ρ² as a share of the candidates' mean k(x, x) in each round, instead of `noise_std`.
    pub noise_share: Option<f64>,
    /// Whether to condition on the picks of earlier rounds; the paper starts every round from the prior, as does a Laplace
    /// covariance, which contains them already. Rules by distance (MaxDist, k-means++, BADGE) then start from those picks as
    /// their first centroids.
    pub condition: bool,
}

impl ChoosingSettings {
    fn noise(&self) -> Noise {
        let std = self.noise_std.map_or_else(Noise::default, Noise::Std);
        self.noise_share.map_or(std, Noise::Relative)
    }
}

/// How each round learns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct LearningSettings {
    /// When a lesson ends.
    pub until: LessonEnd,
    /// Whether each round starts from the network of the previous round instead of from initial weights.
    pub warm_start: bool,
    /// Maximum number of examples per optimiser step.
    pub minibatch_size: usize,
    /// Whether every step but the last of an epoch has that number of examples, instead of all having nearly the same.
    pub full_minibatches: bool,
    /// Whether every example has the same weight, instead of every class.
    pub unweighted_loss: bool,
    /// Whether the last of several equally good epochs is kept, instead of the first.
    pub keep_last_best: bool,
    /// Whether the network stays as it is in a round without a pick from the task, instead of learning again from all
    /// examples.
    pub skip_idle_rounds: bool,
    /// Whether Adam continues the moments of the previous round, instead of starting anew.
    pub keep_optimizer: bool,
    /// Number ε in the steps of Adam.
    pub adam_epsilon: f64,
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
    /// Mean of k(x, x) over the candidates of the round; none in records of earlier versions.
    pub mean_var: Option<f64>,
    /// Course of the lesson; none if there was nothing to learn from yet, or nothing new.
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

    fn adam(&self) -> AdamSettings {
        let LearningSettings { adam_epsilon: epsilon, keep_optimizer: keeps_moments, .. } = self.learning;
        AdamSettings { learning_rate: self.learning_rate, epsilon, keeps_moments }
    }

    /// Refuses settings that are out of range or contradict each other.
    pub fn check(&self, problem: &Problem<'_>) -> Result<()> {
        let choosing = &self.choosing;
        if let Sigma::Laplace(_) = choosing.sigma {
            if matches!(
                choosing.embedding,
                EmbeddingKind::Outputs | EmbeddingKind::NetworkGradient(_) | EmbeddingKind::LogitGradient
            ) {
                return Err(Error::LaplaceEmbedding);
            }
            if choosing.condition {
                return Err(Error::LaplaceConditioning);
            }
        }
        Parameter::LearningRate.check(self.learning_rate, self.learning_rate)?;
        let epsilon = self.learning.adam_epsilon;
        Parameter::AdamEpsilon.check(epsilon, format_args!("{epsilon:?}"))?;
        if let Some(std) = choosing.noise_std {
            Parameter::NoiseStd.check(std, format_args!("{std:?}"))?;
        }
        if let Some(share) = choosing.noise_share {
            Parameter::NoiseShare.check(share, format_args!("{share:?}"))?;
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
        if settings.learning.keep_optimizer && run.rounds().len() < settings.choosing.rounds {
            run.moments()?.map_or(Ok(()), |moments| learner.load_moments(moments, &settings.adam()))?;
        }
    } else {
        learner.restart(settings.seed_of(WEIGHTS, 0));
    }
    let per_round = settings.choosing.picks_per_round;
    // (3) repeat
    for number in run.rounds().len() + 1..=settings.choosing.rounds {
        let start = Instant::now();
        let (mut picks, mean_var) = if let Some(pending) = run.pending() {
            pending
        } else {
            let Some(chosen) = choose_batch(problem, settings, learner, run, number)? else { break };
            run.keep_pending(&chosen.picks, 0, chosen.mean_var)?;
            (chosen.picks, chosen.mean_var)
        };
        let mut choosing = start.elapsed();
        loop {
            label(&mut picks, number, per_round, oracle, run, mean_var)?;
            let count = replacements(&picks, per_round);
            if count == 0 {
                break;
            }
            let start = Instant::now();
            let batch = Batch { number, picks: &picks, count, rule: &settings.rule };
            let Some(more) = choose(problem, settings, learner, run, &batch)? else { break };
            choosing += start.elapsed();
            let answered = picks.len();
            picks.extend(more.picks);
            run.keep_pending(&picks, answered, mean_var)?;
        }
        let start = Instant::now();
        let (curve, learned) = update(problem, settings, learner, run, &picks, number)?;
        let timing = RoundTiming { choosing, learning: start.elapsed() };
        let accuracy = problem.test.map(|test| accuracy(learner, test)).transpose()?;
        let round = RoundRecord { round: number, picks, learned, mean_var, curve, accuracy };
        let moments = if settings.learning.keep_optimizer { learner.save_moments()? } else { None };
        run.commit(&round, &learner.save()?, moments.as_deref())?;
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
    /// Rule that makes them.
    rule: &'a NamedStrategy,
}

/// The picks of a round, and the mean of k(x, x) over its candidates.
struct Chosen {
    picks: Vec<LabelledPick>,
    mean_var: Option<f64>,
}

/// Returns the batch B, or none if the pool is used up. The first picks of a run may be random.
fn choose_batch(
    problem: &Problem<'_>,
    settings: &Settings,
    learner: &dyn Learner,
    run: &RuleRun,
    number: usize,
) -> Result<Option<Chosen>> {
    let per_round = settings.choosing.picks_per_round;
    let chance = settings.choosing.random_start.saturating_sub(run.labelled().len()).min(per_round);
    if chance == 0 {
        return choose(
            problem,
            settings,
            learner,
            run,
            &Batch { number, picks: &[], count: per_round, rule: &settings.rule },
        );
    }
    let random = "random".parse()?;
    let first = Batch { number, picks: &[], count: chance, rule: &random };
    let Some(mut chosen) = choose(problem, settings, learner, run, &first)? else { return Ok(None) };
    if chance < per_round {
        let rest = Batch { number, picks: &chosen.picks, count: per_round - chance, rule: &settings.rule };
        let rest = choose(problem, settings, learner, run, &rest)?;
        chosen.picks.extend(rest.into_iter().flat_map(|rest| rest.picks));
    }
    Ok(Some(chosen))
}

/// Returns a part of the batch B, or none if the pool is used up.
fn choose(
    problem: &Problem<'_>,
    settings: &Settings,
    learner: &dyn Learner,
    run: &RuleRun,
    batch: &Batch<'_>,
) -> Result<Option<Chosen>> {
    let (number, repeat) = (batch.number, settings.choosing.repeat);
    let earlier = || run.rounds().iter().flat_map(|round| &round.picks);
    // A row that was skipped is not asked about again.
    let is_closed = |pick: &&LabelledPick| !repeat || pick.label.is_none();
    let mut closed: Vec<usize> = earlier().chain(batch.picks).filter(is_closed).map(|pick| pick.row).collect();
    closed.sort_unstable();
    let open: Vec<usize> = problem.open.iter().copied().filter(|row| closed.binary_search(row).is_err()).collect();
    if open.is_empty() {
        return Ok(None);
    }
    // (5) A′ from A, uniformly at random.
    let subset = subsample(problem.targets.rows, settings, number);
    let targets = Examples { inputs: problem.targets.inputs, rows: &subset };
    let lessons = Lessons::new(problem, earlier());
    let embedder = if batch.rule.makes_loss_gradients() {
        Embedder::new(learner, EmbeddingKind::LossGradient, None)
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
        kernel: embedder.kernel(),
    };
    let candidates = settings.choosing.candidates.rows(&request)?;
    // (7) The kernel over [S, A′], without forming its matrix.
    let pool = embed(&candidates)?;
    let mean_var = mean_var(pool.points()?, embedder.kernel());
    // A batch is always conditioned on its own picks. Of a skipped row it is known that it has none of the classes; otherwise, rows
    // like it would be picked again and again.
    let of_earlier_rounds = earlier().filter(|_| settings.choosing.condition);
    let known: Vec<usize> = of_earlier_rounds.chain(batch.picks).map(|pick| pick.row).collect();
    let observed = if known.is_empty() { None } else { Some(embed(&known)?) };
    let task = Task::new(pool.points()?, target_embeddings.points()?)
        .kernel(embedder.kernel())
        .probabilities(pool.probabilities()?)
        .observed_points(observed.as_ref().map(ExampleEmbeddings::points).transpose()?);
    // A rule by top b scores every row once, so its batch holds each row once.
    let repeat = repeat && batch.rule.batch() == BatchMethod::Sequential;
    let plan = Plan::default()
        .strategy(Strategy::clone(batch.rule).of_given_gradients())
        .count(if repeat { batch.count } else { batch.count.min(candidates.len()) })
        .repeat(repeat)
        .target_sampling(settings.choosing.targets_per_round.chosen(targets.rows.len()))
        .noise(settings.choosing.noise())
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
    Ok(Some(Chosen { picks: chosen.picks.iter().map(pick).collect(), mean_var }))
}

/// Returns the mean of k(x, x), if it is finite.
fn mean_var(points: Points<'_>, kernel: &dyn Kernel) -> Option<f64> {
    let sum: f64 = (0..points.rows()).map(|row| kernel.var(&points.row(row))).sum();
    Some(sum / points.rows() as f64).filter(|mean| mean.is_finite())
}

fn subsample(targets: &[usize], settings: &Settings, number: usize) -> Vec<usize> {
    let Some(count) = settings.choosing.targets_per_round.sampled(targets.len()) else {
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
    mean_var: Option<f64>,
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
        run.keep_pending(picks, at, mean_var)?;
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
    let is_idle = settings.learning.skip_idle_rounds && Lessons::new(problem, picks.iter()).rows.is_empty();
    if lessons.rows.is_empty() || is_idle {
        return Ok((None, lessons.rows.len()));
    }
    if !settings.learning.warm_start {
        learner.restart(settings.seed_of(WEIGHTS, number));
    }
    let lesson = Lesson {
        train: lessons.labelled(problem),
        valid: problem.valid,
        until: settings.learning.until,
        keep_last_best: settings.learning.keep_last_best,
        adam: settings.adam(),
        minibatch_size: settings.learning.minibatch_size,
        full_minibatches: settings.learning.full_minibatches,
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
