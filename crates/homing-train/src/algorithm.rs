//! Algorithm 1: few-shot training of a network. Its lines stand beside the code as (1) to (13).

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use homing::{Noise, Plan, Strategy, Task, select};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::candidates::{Round as Asked, source};
use crate::embed::{Embedded, Embedder, Kind};
use crate::labels::{Answer, Oracle};
use crate::learner::{Curve, Examples, Labelled, Learner, Lesson, Until, accuracy, null_as_nan};
use crate::run::Run;
use crate::sigma::Sigma;
use crate::{Error, Inputs, Result};

/// What the loop is given.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The pool that P_S is over.
    pub pool: &'a Inputs,
    /// Rows of it that may be chosen, in ascending order.
    pub open: &'a [usize],
    /// A, the small sample of P_A.
    pub targets: Examples<'a>,
    /// For each class of the pool the network's own, or none where the network does not learn it.
    pub classes: &'a [Option<u32>],
    /// What the best epoch is chosen on.
    pub valid: Option<Labelled<'a>>,
    /// What the accuracy is measured on.
    pub test: Option<Labelled<'a>>,
}

/// How the loop goes. Everything that the result depends on beside the problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The rule, by its name in the table.
    pub rule: String,
    /// How often to choose, label and learn.
    pub rounds: usize,
    /// b, picks a round.
    pub batch_size: usize,
    /// Where S comes from: `all`, `sample:COUNT`, `nearest:COUNT`.
    pub candidates: String,
    /// m, targets a round; none: all.
    pub targets_a_round: Option<usize>,
    /// φ.
    pub embedding: Kind,
    /// Σ.
    pub sigma: Sigma,
    /// ρ; none: from the data.
    pub noise_std: Option<f64>,
    /// Whether the picks of earlier rounds are conditioned on; the paper starts every round from the prior.
    pub condition: bool,
    /// Whether every round learns from fresh weights; else from those of the round before.
    pub scratch: bool,
    /// How long to learn.
    pub until: Until,
    /// Adam's learning rate.
    pub rate: f64,
    /// Examples a step.
    pub step_size: usize,
    /// Whether every class weighs as much as any other.
    pub reweight: bool,
    /// Of everything random.
    pub seed: u64,
}

/// One pick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pick {
    /// Its row in the pool.
    pub row: usize,
    /// What the rule said of it.
    #[serde(deserialize_with = "null_as_nan")]
    pub score: f64,
    /// What the picks of the round up to this one tell about the targets, in nats.
    #[serde(deserialize_with = "null_as_nan")]
    pub information: f64,
    /// Its class in the pool; none where it was skipped.
    pub label: Option<u32>,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Counted from 1.
    pub round: usize,
    /// B.
    pub picks: Vec<Pick>,
    /// How many examples the network has learned from.
    pub learned: usize,
    /// How the lesson went; none where there was nothing to learn yet.
    pub curve: Option<Curve>,
    /// Accuracy on the test examples, where there are any.
    pub accuracy: Option<f64>,
}

/// How long a round took, labelling and testing apart.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Embedding and selecting.
    pub choosing: Duration,
    /// Updating the network.
    pub learning: Duration,
}

/// Streams of the seed.
const TARGETS: u64 = 1;
const CANDIDATES: u64 = 2;
const RULE: u64 = 3;
const WEIGHTS: u64 = 4;
const LESSON: u64 = 5;

/// The least ρ; its reciprocal is the largest. Their squares are numbers with all of their digits.
const LEAST_NOISE: f64 = 1e-150;

/// More than any pool is good for; each has a file.
const MOST_ROUNDS: usize = 1_000_000;

impl Settings {
    /// A seed for one purpose of one round, so that a round depends on no generator's past.
    fn seed_of(&self, purpose: u64, round: usize) -> u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(purpose << 32 | round as u64);
        rand::RngExt::random(&mut rng)
    }

    /// The rule itself.
    pub fn strategy(&self) -> Result<Strategy> {
        Ok(self.rule.parse()?)
    }

    /// Refuses settings that cannot be, before the work.
    pub fn check(&self, problem: &Problem<'_>) -> Result<()> {
        self.strategy()?;
        source(&self.candidates)?;
        let refuse = |message: &str| Err(Error::Setting(message.into()));
        if matches!(self.sigma, Sigma::Laplace(_)) && matches!(self.embedding, Kind::Outputs | Kind::NetworkGradient(_))
        {
            return refuse(
                "a Laplace covariance is one of the last layer's weights; use it with last-layer, output-gradient or loss-gradient",
            );
        }
        if self.condition && matches!(self.sigma, Sigma::Laplace(_)) {
            return refuse("a Laplace covariance knows the labelled examples already; leave --condition out");
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return refuse("a learning rate is a positive number; give --rate 0.001, say");
        }
        if self.noise_std.is_some_and(|std| !(LEAST_NOISE..=LEAST_NOISE.recip()).contains(&std)) {
            let reason = format!(
                "the noise is {:?}; give --noise-std a number from {LEAST_NOISE:e} to {:e}, or leave it out",
                self.noise_std.unwrap_or(0.0),
                LEAST_NOISE.recip()
            );
            return Err(Error::Setting(reason));
        }
        match self.until {
            _ if !(1..=MOST_ROUNDS).contains(&self.rounds) => {
                Err(Error::Setting(format!("there are {} rounds; give --rounds from 1 to {MOST_ROUNDS}", self.rounds)))
            }
            _ if self.batch_size == 0 => refuse("a round needs at least one pick; give --batch-size 1 or more"),
            _ if problem.open.is_empty() => {
                refuse("no row of the pool is left to choose from; give a larger pool, or leave less of it out")
            }
            _ if problem.targets.rows.is_empty() => refuse("there are no targets; give at least one"),
            Until::ValidationDrops { .. } if problem.valid.is_none() => {
                refuse("learning until the validation accuracy drops needs validation examples; give some, or --epochs")
            }
            _ => Ok(()),
        }
    }
}

/// Goes on with `run` until its rounds are done, calling `after` behind each; what `run` holds already is not done again.
///
/// (1) Given: a model f, a small sample A ~ P_A.
pub fn fine_tune(
    problem: &Problem<'_>,
    settings: &Settings,
    learner: &mut dyn Learner,
    oracle: &mut dyn Oracle,
    run: &mut Run,
    mut after: impl FnMut(&Round, Spent) -> std::io::Result<()>,
) -> Result<()> {
    settings.check(problem)?;
    let tested = [problem.valid, problem.test].into_iter().flatten().map(|labelled| labelled.examples.inputs);
    for inputs in [problem.pool, problem.targets.inputs].into_iter().chain(tested) {
        learner.hold(inputs)?;
    }
    // (2) D = ∅, or what was labelled before an interruption.
    if let Some(weights) = run.weights()? {
        learner.load(weights)?;
    } else {
        learner.restart(settings.seed_of(WEIGHTS, 0));
    }
    // (3) repeat
    for number in run.rounds().len() + 1..=settings.rounds {
        let start = Instant::now();
        let Some(picks) = choose(problem, settings, learner, run, number)? else { break };
        let choosing = start.elapsed();
        if run.pending().is_none() {
            run.keep_pending(&picks, 0)?;
        }
        let picks = label(picks, oracle, run)?;
        let start = Instant::now();
        let (curve, learned) = update(problem, settings, learner, run, &picks, number)?;
        let spent = Spent { choosing, learning: start.elapsed() };
        let accuracy = problem.test.map(|test| accuracy(learner, test)).transpose()?;
        let round = Round { round: number, picks, learned, curve, accuracy };
        run.commit(&round, &learner.save()?)?;
        after(&round, spent).map_err(Error::io(run.folder()))?;
    }
    run.finish()
}

/// The batch B; none where the pool is used up.
fn choose(
    problem: &Problem<'_>,
    settings: &Settings,
    learner: &dyn Learner,
    run: &Run,
    number: usize,
) -> Result<Option<Vec<Pick>>> {
    if let Some(picks) = run.pending() {
        return Ok(Some(picks));
    }
    let labelled = run.labelled();
    let open: Vec<usize> = problem.open.iter().copied().filter(|row| labelled.binary_search(row).is_err()).collect();
    if open.is_empty() {
        return Ok(None);
    }
    // (5) A′ from A, uniformly at random.
    let subset = subsample(problem.targets.rows, settings, number);
    let targets = Examples { inputs: problem.targets.inputs, rows: &subset };
    let strategy = settings.strategy()?;
    let lessons = Lessons::new(problem, run.rounds().iter().flat_map(|round| &round.picks));
    let embedder = if strategy.makes_loss_gradients() {
        Embedder::new(learner, Kind::LastLayer, None)
    } else {
        let sigma = settings.sigma.covariance(learner, lessons.labelled(problem), settings.reweight)?;
        Embedder::new(learner, settings.embedding, sigma)
    };
    let embed = |rows: &[usize]| embedder.embed(Examples { inputs: problem.pool, rows });
    let aims = embedder.embed(targets)?;
    // (4) S ~ P_S.
    let asked = Asked { open: &open, seed: settings.seed_of(CANDIDATES, number), embed: &embed, targets: &aims };
    let candidates = source(&settings.candidates)?.candidates(&asked)?;
    // (7) The kernel over [S, A′]; no matrix of it is formed.
    let pool = embed(&candidates)?;
    let known = run.rounds().iter().flat_map(|round| &round.picks).filter(|pick| pick.label.is_some());
    let known: Vec<usize> = known.map(|pick| pick.row).collect();
    let observed = if settings.condition && !known.is_empty() { Some(embed(&known)?) } else { None };
    let task = Task {
        kernel: embedder.kernel(),
        probabilities: Some(pool.probabilities()?),
        observed_points: observed.as_ref().map(Embedded::points).transpose()?,
        ..Task::new(pool.points()?, Some(aims.points()?))
    };
    let plan = Plan {
        strategy,
        count: settings.batch_size.min(candidates.len()),
        noise: settings.noise_std.map_or_else(Noise::default, Noise::Std),
        seed: settings.seed_of(RULE, number),
        ..Plan::default()
    };
    // (6) B = ∅; (8) repeat b times: (9) acquisition function, (10) its maximiser joins B, (11) condition on it.
    let chosen = select(&task, &plan, |_| ControlFlow::Continue(()))?;
    let pick = |pick: &homing::Pick| Pick {
        row: candidates[pick.index],
        score: pick.score,
        information: pick.information,
        label: None,
    };
    Ok(Some(chosen.picks.iter().map(pick).collect()))
}

fn subsample(targets: &[usize], settings: &Settings, number: usize) -> Vec<usize> {
    let Some(count) = settings.targets_a_round.filter(|&count| count < targets.len()) else {
        return targets.to_vec();
    };
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed_of(TARGETS, number));
    let mut at = sample(&mut rng, targets.len(), count).into_vec();
    at.sort_unstable();
    at.into_iter().map(|at| targets[at]).collect()
}

/// (12) Labels for B. Answers are kept as they come, so that none is asked for twice.
fn label(mut picks: Vec<Pick>, oracle: &mut dyn Oracle, run: &mut Run) -> Result<Vec<Pick>> {
    for at in run.answers()..picks.len() {
        picks[at].label = match oracle.label(picks[at].row)? {
            Answer::Class(class) => Some(class),
            Answer::Skip => None,
        };
        run.keep_pending(&picks, at + 1)?;
    }
    Ok(picks)
}

/// (13) Update f using the data D; how the lesson went, and how many examples of D the network learns from.
fn update(
    problem: &Problem<'_>,
    settings: &Settings,
    learner: &mut dyn Learner,
    run: &Run,
    picks: &[Pick],
    number: usize,
) -> Result<(Option<Curve>, usize)> {
    let lessons = Lessons::new(problem, run.rounds().iter().flat_map(|round| &round.picks).chain(picks));
    if lessons.rows.is_empty() {
        return Ok((None, 0));
    }
    if settings.scratch {
        learner.restart(settings.seed_of(WEIGHTS, number));
    }
    let lesson = Lesson {
        train: lessons.labelled(problem),
        valid: problem.valid,
        until: settings.until,
        rate: settings.rate,
        batch: settings.step_size,
        reweight: settings.reweight,
        seed: settings.seed_of(LESSON, number),
    };
    let curve = learner.fit(&lesson)?;
    if !learner.last_layer().iter().all(|weight| weight.is_finite()) {
        let reason = format!("the network went astray in round {number}: its weights are no finite numbers any more");
        return Err(Error::Setting(format!(
            "{reason}; start a run with a smaller --rate, or with smaller numbers in the data"
        )));
    }
    Ok((Some(curve), lessons.rows.len()))
}

/// What the network learns of D: rows of the pool and the network's own labels.
struct Lessons {
    rows: Vec<usize>,
    labels: Vec<u32>,
}

impl Lessons {
    fn new<'a>(problem: &Problem<'_>, picks: impl Iterator<Item = &'a Pick>) -> Self {
        let known = |pick: &Pick| Some((pick.row, problem.classes[pick.label? as usize]?));
        let (rows, labels) = picks.filter_map(known).unzip();
        Self { rows, labels }
    }

    fn labelled<'a>(&'a self, problem: &Problem<'a>) -> Labelled<'a> {
        Labelled { examples: Examples { inputs: problem.pool, rows: &self.rows }, labels: &self.labels }
    }
}
