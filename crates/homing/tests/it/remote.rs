//! Pools in other processes: the same picks for every split, rule and fault, and no message that breaks a shard.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle, scope};

use homing::remote::{PoolPart, RemotePool, Transport, serve};
use homing::rules::MaxDist;
use homing::{
    BatchMethod, Embeddings, Engine, Error, Noise, PickMethod, Plan, STRATEGIES, Selection, Strategy, Task,
    resume_with, select,
};
use rand::RngExt;

use crate::engines::{RULES, clustered};
use crate::oracle::{rng, run};

type Line = (Sender<Vec<u8>>, Receiver<Vec<u8>>);

/// Rows of a pool, split into shards, which threads serve.
struct Threads<'s, 'e> {
    scope: &'s Scope<'s, 'e>,
    parts: Vec<Option<PoolPart<'e>>>,
    lines: Mutex<Vec<Option<Line>>>,
    handles: Mutex<Vec<ScopedJoinHandle<'s, ()>>>,
    asked: AtomicUsize,
    sent: AtomicUsize,
    /// After every so many questions, one shard forgets everything.
    loses_every: usize,
}

impl<'s, 'e: 's> Threads<'s, 'e> {
    fn new(scope: &'s Scope<'s, 'e>, parts: Vec<Option<PoolPart<'e>>>, loses_every: usize) -> Self {
        let lines = Mutex::new(parts.iter().map(|_| None).collect());
        let (handles, asked, sent) = Default::default();
        Self { scope, parts, lines, handles, asked, sent, loses_every }
    }

    fn started(&self, shard: usize) -> Line {
        let (to, messages) = channel::<Vec<u8>>();
        let (answers, from) = channel();
        let part = self.parts[shard].unwrap();
        let serving = move || serve(part, || messages.recv().ok(), |answer| drop(answers.send(answer)));
        self.handles.lock().unwrap().push(self.scope.spawn(serving));
        (to, from)
    }
}

impl<'s, 'e: 's> Transport for &Threads<'s, 'e> {
    fn ask(&self, shards: &[usize], message: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        self.sent.fetch_add(message.len() * shards.len(), Ordering::Relaxed);
        let mut lines = self.lines.lock().unwrap();
        if self.loses_every > 0 && asked % self.loses_every == self.loses_every - 1 {
            lines[shards[asked / self.loses_every % shards.len()]] = None;
        }
        for &shard in shards {
            let line = lines[shard].get_or_insert_with(|| self.started(shard));
            line.0.send(message.to_vec()).map_err(|_| "a shard has ended".to_owned())?;
        }
        let answer =
            |&shard: &usize| lines[shard].as_ref().unwrap().1.recv().map_err(|_| "a shard has ended".to_owned());
        shards.iter().map(answer).collect()
    }
}

struct Data {
    values: Vec<f32>,
    dim: usize,
    targets: Vec<f32>,
    probabilities: Vec<f64>,
}

const CLASSES: usize = 3;

impl Data {
    fn new(seed: u64, rows: usize, dim: usize) -> Self {
        let mut rng = rng(seed);
        let values = clustered(&mut rng, rows, dim, 15);
        let targets = clustered(&mut rng, 6, dim, 3);
        let logits: Vec<f64> = (0..rows * CLASSES).map(|_| rng.random_range(0.0..3.0f64).exp()).collect();
        let normalised = |p: &[f64]| p.iter().map(|x| x / p.iter().sum::<f64>()).collect::<Vec<_>>();
        let probabilities = logits.chunks(CLASSES).flat_map(normalised).collect();
        Self { values, dim, targets, probabilities }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.dim
    }

    fn parts(&self, ends: &[usize]) -> (Vec<Option<PoolPart<'_>>>, Vec<usize>) {
        let mut start = 0;
        let part = |&end: &usize| {
            let first = std::mem::replace(&mut start, end);
            let rows = Embeddings::new(&self.values[first * self.dim..end * self.dim], self.dim).ok();
            let probabilities = Embeddings::new(&self.probabilities[first * CLASSES..end * CLASSES], CLASSES).ok();
            (rows.map(|rows| PoolPart { rows, probabilities, first }), end - first)
        };
        ends.iter().map(part).unzip()
    }

    /// Calls `f` with the task on this machine and the same task on shards.
    fn with_both<T>(
        &self,
        ends: &[usize],
        loses_every: usize,
        is_prepared: bool,
        f: impl FnOnce(&Task<'_>, &Task<'_>, &Threads<'_, '_>) -> T,
    ) -> T {
        let (parts, rows) = self.parts(ends);
        scope(|scope| {
            let threads = Threads::new(scope, parts, loses_every);
            let pool = RemotePool::new(&threads, &rows, self.dim, true).unwrap();
            let probabilities = RemotePool::probabilities(&threads, &rows, CLASSES, false).unwrap();
            let (here, there) = (Embeddings::new(&self.values, self.dim).unwrap(), pool.embeddings());
            let mean = here.mean();
            assert_eq!(there.mean(), mean, "the mean does not depend on the split");
            let done = {
                let prepared = |view| if is_prepared { prepared(view, &mean) } else { view };
                let given = Embeddings::new(&self.probabilities, CLASSES).unwrap();
                let targets = prepared(Embeddings::new(&self.targets, self.dim).unwrap());
                let (observed, forbidden) = ([7, self.rows() - 2], [8, 0]);
                let task = |pool, given| {
                    let task = Task::new(pool, targets).probabilities(given);
                    task.observed_rows(&observed).forbidden(&forbidden)
                };
                f(&task(prepared(here), given), &task(prepared(there), probabilities.embeddings()), &threads)
            };
            threads.lines.lock().unwrap().clear();
            done
        })
    }
}

fn prepared<'v>(view: Embeddings<'v>, mean: &'v [f64]) -> Embeddings<'v> {
    view.centered(mean).normalized()
}

/// One shard, two, three and eight uneven ones; among them shards without rows and of one row.
fn splits(rows: usize) -> Vec<Vec<usize>> {
    vec![vec![rows], vec![rows / 3, rows], vec![0, 1, rows], vec![5, 5, 6, 300, 812, 813, rows - 700, rows]]
}

fn assert_identical(here: &Selection, there: &Selection, what: &str) {
    assert_eq!(here.rows(), there.rows(), "{what}");
    assert_eq!(here.noise_var.to_bits(), there.noise_var.to_bits(), "{what}");
    for (a, b) in here.picks.iter().zip(&there.picks) {
        assert_eq!(a.information.to_bits(), b.information.to_bits(), "{what}, rank {}", a.rank);
        assert!((a.score - b.score).abs() <= 1e-9 * (1.0 + a.score.abs()), "{what}: {} {}", a.score, b.score);
    }
}

fn strategies() -> Vec<Strategy> {
    let mut all: Vec<Strategy> = STRATEGIES.iter().map(Strategy::from).collect();
    all.push(Strategy::information_density(2.5).unwrap());
    all.push("badge".parse::<Strategy>().unwrap().of_given_gradients());
    all
}

#[test]
fn the_same_picks_for_every_split_and_rule() {
    let data = Data::new(51, 2500, 16);
    for ends in splits(data.rows()) {
        for is_prepared in [false, true] {
            data.with_both(&ends, 0, is_prepared, |here, there, _| {
                for strategy in strategies() {
                    let what = format!("{}, {} shards, prepared {is_prepared}", strategy.name(), ends.len());
                    let plan = Plan::default().strategy(strategy).count(25).seed(3);
                    assert_identical(&run(here, &plan), &run(there, &plan), &what);
                }
            });
        }
    }
}

/// Shards make strategies from their names. One of the same name with another rule, and probabilities that shards lack, stay here.
#[test]
fn what_shards_cannot_make_from_a_name_is_computed_here() {
    let data = Data::new(60, 1500, 8);
    data.with_both(&[400, 1500], 0, false, |here, there, _| {
        let own = |batch, method| Strategy::new("cosine", MaxDist, batch, method);
        let plan = Plan::default().count(6).seed(2);
        for batch in [BatchMethod::Sequential, BatchMethod::TopB] {
            let plan = plan.clone().strategy(own(batch, PickMethod::Largest));
            assert_identical(&run(here, &plan), &run(there, &plan), "a rule of one's own");
        }
        for rule in ["badge", "max-entropy", "information-density"] {
            let plan = plan.clone().strategy(rule.parse().unwrap());
            let there = (*there).probabilities(here.probabilities);
            assert_identical(&run(here, &plan), &run(&there, &plan), rule);
        }
    });
}

#[test]
fn rounds_and_samples_of_the_targets_and_little_noise() {
    let data = Data::new(52, 2000, 16);
    data.with_both(&[300, 301, 2000], 0, false, |here, there, _| {
        for rule in RULES.into_iter().chain(["cosine", "k-means++", "nearest-each"]) {
            for noise in [1e-4, 1.0] {
                let plan = Plan::default().strategy(rule.parse().unwrap()).count(20).noise(Noise::Relative(noise));
                let plan = plan.picks_per_round(6).target_sampling(homing::TargetSampling::Size(3)).seed(9);
                assert_identical(&run(here, &plan), &run(there, &plan), rule);
                let plan = plan.engine(Engine::Plain);
                assert_identical(&run(here, &plan), &run(there, &plan), rule);
            }
        }
    });
}

#[test]
fn copies_and_ties_across_shards_go_to_the_smaller_row() {
    let mut data = Data::new(53, 2000, 12);
    let dim = data.dim;
    for row in 0..1000 {
        data.values.copy_within(row * dim..(row + 1) * dim, (1999 - row) * dim);
        data.probabilities.copy_within(row * CLASSES..(row + 1) * CLASSES, (1999 - row) * CLASSES);
    }
    data.values[500 * dim..503 * dim].fill(0.0);
    data.values[1500 * dim..1502 * dim].fill(0.0);
    for ends in [vec![1000, 2000], vec![1, 250, 999, 1001, 2000]] {
        data.with_both(&ends, 0, false, |here, there, _| {
            for strategy in strategies() {
                let what = strategy.name();
                let plan = Plan::default().strategy(strategy).count(30);
                assert_identical(&run(here, &plan), &run(there, &plan), what);
            }
        });
    }
}

#[test]
fn shards_that_are_lost_and_started_anew_change_nothing() {
    let data = Data::new(54, 2500, 16);
    for every in [1, 2, 3, 7] {
        data.with_both(&[700, 1100, 2500], every, true, |here, there, threads| {
            for rule in ["itl", "vtl", "ctl", "uncertainty", "max-dist", "k-means++", "cosine", "max-entropy"] {
                let plan = Plan::default().strategy(rule.parse().unwrap()).count(20);
                assert_identical(&run(here, &plan), &run(there, &plan), &format!("{rule}, every {every}"));
            }
            assert!(threads.handles.lock().unwrap().len() > 20, "shards were lost");
        });
    }
}

#[test]
fn a_selection_continues_from_its_first_picks() {
    let data = Data::new(55, 2000, 16);
    data.with_both(&[900, 2000], 0, false, |here, there, _| {
        for strategy in strategies() {
            let name = strategy.name();
            let plan = Plan::default().strategy(strategy).count(18).picks_per_round(7);
            let plan = plan.target_sampling(homing::TargetSampling::Size(4));
            let whole = run(here, &plan);
            for made in [0, 3, 7, 11, 18] {
                let first: Vec<(usize, f64)> = whole.picks[..made].iter().map(|pick| (pick.row, pick.score)).collect();
                for task in [here, there] {
                    let mut seen = 0;
                    let resumed = resume_with(task, &plan, &first, |_| {
                        seen += 1;
                        ControlFlow::Continue(())
                    });
                    assert_identical(&whole, &resumed.unwrap(), &format!("{name}, from {made}"));
                    assert_eq!(seen, 18);
                }
            }
        }
        let plan = Plan::default().count(5);
        let refused =
            |made: &[(usize, f64)]| resume_with(here, &plan, made, |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(refused(&[(2000, 1.0)]), Error::NoSuchRow { .. }));
        assert!(matches!(refused(&[(4, 1.0), (4, 1.0)]), Error::BadValue { .. }));
        assert!(matches!(refused(&[(8, 1.0)]), Error::BadValue { .. }));
    });
}

#[test]
fn few_messages_and_few_rows_travel() {
    let data = Data::new(56, 20_000, 32);
    data.with_both(&[5000, 12_000, 20_000], 0, true, |_, there, threads| {
        let before = (threads.asked.load(Ordering::Relaxed), threads.sent.load(Ordering::Relaxed));
        let selection = run(there, &Plan::default().count(100));
        let asked = threads.asked.load(Ordering::Relaxed) - before.0;
        assert!(asked < 12 * selection.passes, "{asked} questions in {} passes", selection.passes);
        assert!(selection.passes < 40, "{} passes", selection.passes);
    });
}

/// A line that is cut.
struct Cut;

impl Transport for Cut {
    fn ask(&self, _: &[usize], _: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        Err("the cluster is gone; start it again".into())
    }
}

#[test]
fn a_bad_row_and_a_lost_line_are_named() {
    let mut data = Data::new(57, 1500, 8);
    data.values[1203 * 8 + 2] = f32::NAN;
    let (parts, rows) = data.parts(&[600, 1500]);
    scope(|scope| {
        let threads = Threads::new(scope, parts, 0);
        let pool = RemotePool::new(&threads, &rows, 8, true).unwrap();
        let task = Task::undirected(pool.embeddings());
        let plan = Plan::default().strategy("uncertainty".parse().unwrap()).count(3);
        assert_eq!(select(&task, &plan), Err(Error::NotFinite { what: "pool", row: 1203 }));
        threads.lines.lock().unwrap().clear();
    });

    let pool = RemotePool::new(Cut, &[1000, 4000], 8, true).unwrap();
    for rule in ["itl", "uncertainty", "max-dist", "cosine", "nearest-each"] {
        let targets = Embeddings::new(&data.targets, 8).unwrap();
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(3);
        let found = select(&Task::new(pool.embeddings(), targets), &plan);
        assert_eq!(found, Err(Error::Unreadable("the cluster is gone; start it again".into())));
    }
}

/// A line that gives answers of its own, the last one first.
struct Forged(Mutex<Vec<Vec<u8>>>);

impl Transport for Forged {
    fn ask(&self, shards: &[usize], _: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let mut answers = self.0.lock().unwrap();
        Ok(shards.iter().map(|_| answers.pop().unwrap_or_default()).collect())
    }
}

/// Records all messages of a selection.
struct Recorder<'t, T> {
    inner: T,
    messages: &'t Mutex<Vec<Vec<u8>>>,
}

impl<T: Transport> Transport for Recorder<'_, T> {
    fn ask(&self, shards: &[usize], message: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.messages.lock().unwrap().push(message.to_vec());
        self.inner.ask(shards, message)
    }
}

#[test]
fn forged_messages_are_refused_and_leave_the_shard_alive() {
    let data = Data::new(58, 1200, 6);
    let messages = Mutex::new(Vec::new());
    let (parts, rows) = data.parts(&[1200]);
    let part = parts[0].unwrap();
    scope(|scope| {
        let threads = Threads::new(scope, parts, 0);
        let pool = RemotePool::new(Recorder { inner: &threads, messages: &messages }, &rows, 6, true).unwrap();
        pool.embeddings().mean();
        let targets = Embeddings::new(&data.targets, 6).unwrap();
        for rule in ["itl", "vtl", "ctl", "max-dist", "cosine"] {
            run(&Task::new(pool.embeddings(), targets), &Plan::default().strategy(rule.parse().unwrap()).count(4));
        }
        threads.lines.lock().unwrap().clear();
    });
    let genuine = messages.into_inner().unwrap();
    let mut rng = rng(59);
    let mut forged = Vec::new();
    for message in &genuine {
        for _ in 0..12 {
            let mut copy = message.clone();
            match rng.random_range(0..4) {
                0 => copy.truncate(rng.random_range(0..=copy.len())),
                1 => copy.push(rng.random()),
                2 => copy[4] = 99,
                _ => {
                    for _ in 0..rng.random_range(1..4) {
                        // The beginning holds lengths and kinds.
                        let most = if rng.random() { copy.len() } else { copy.len().min(40) };
                        copy[rng.random_range(0..most)] = rng.random();
                    }
                }
            }
            forged.push(copy);
        }
        forged.push(message.clone());
    }
    let count = forged.len();
    let (mut next, mut answers) = (forged.into_iter(), Vec::new());
    serve(part, || next.next(), |answer| answers.push(answer));
    assert_eq!(answers.len(), count, "every message is answered");
    let refused = answers.iter().filter(|answer| String::from_utf8_lossy(answer).contains("cannot be read")).count();
    assert!(refused > count / 4, "{refused} of {count} were refused");

    // Coordinators, too, refuse answers that are none.
    for start in (0..answers.len()).step_by(7) {
        let mut some = answers[start..].iter().take(30).cloned().collect::<Vec<_>>();
        for answer in &mut some {
            if rng.random() {
                let at = rng.random_range(0..answer.len());
                answer[at] = rng.random();
            }
        }
        let pool = RemotePool::new(Forged(Mutex::new(some)), &[1200], 6, true).unwrap();
        let targets = Embeddings::new(&data.targets, 6).unwrap();
        assert!(select(&Task::new(pool.embeddings(), targets), &Plan::default().count(3)).is_err());
    }
}
