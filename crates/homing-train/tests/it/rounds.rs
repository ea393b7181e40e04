//! Algorithm 1: what a round does, and that interruptions leave no trace.

use std::fs;
use std::path::Path;

use homing_train::{Answer, Error, Known, Oracle, Problem, Round, Run, Settings, Sigma, Until, fine_tune};

use crate::files::files;
use crate::world::{Bars, cnn};

fn settings() -> Settings {
    Settings {
        rule: "itl".into(),
        rounds: 4,
        batch_size: 3,
        candidates: "sample:40".into(),
        targets_a_round: Some(4),
        embedding: "last-layer".parse().unwrap(),
        sigma: Sigma::Identity,
        noise_std: Some(0.1),
        condition: false,
        scratch: false,
        until: Until::Epochs(2),
        rate: 1e-3,
        step_size: 8,
        reweight: true,
        seed: 11,
    }
}

struct World {
    pool: Bars,
    known: Vec<Option<u32>>,
    targets: Bars,
    test: Bars,
    classes: Vec<Option<u32>>,
}

impl World {
    /// Six kinds of bars, of which the first three are the task.
    fn new() -> Self {
        let pool = Bars::new(120, 6, 1);
        let known = pool.labels.iter().copied().map(Some).collect();
        let task = |count, seed| {
            let all = Bars::new(count, 6, seed);
            let rows: Vec<usize> = (0..count).filter(|row| all.labels[*row] < 3).collect();
            Bars { labels: rows.iter().map(|&row| all.labels[row]).collect(), rows, inputs: all.inputs }
        };
        let classes = vec![Some(0), Some(1), Some(2), None, None, None];
        Self { pool, known, targets: task(24, 2), test: task(60, 3), classes }
    }

    fn problem(&self) -> Problem<'_> {
        Problem {
            pool: &self.pool.inputs,
            open: &self.pool.rows,
            targets: self.targets.examples(),
            classes: &self.classes,
            valid: None,
            test: Some(self.test.labelled()),
        }
    }

    fn go(&self, settings: &Settings, folder: &Path, oracle: &mut dyn Oracle) -> Result<Vec<Round>, Error> {
        let problem = self.problem();
        let mut run = Run::open(folder, &problem, settings)?;
        let mut rounds = run.rounds().to_vec();
        fine_tune(&problem, settings, &mut cnn(3, 0), oracle, &mut run, |round, _| {
            rounds.push(round.clone());
            Ok(())
        })?;
        Ok(rounds)
    }
}

/// Answers so often, then fails.
struct Tired<'a>(Known<'a>, usize);

impl Oracle for Tired<'_> {
    fn label(&mut self, row: usize) -> Result<Answer, Error> {
        self.1 = self.1.checked_sub(1).ok_or_else(|| Error::Setting("nobody answers".into()))?;
        self.0.label(row)
    }
}

#[test]
fn rounds_pick_new_rows_label_them_and_learn_the_task() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let rounds = world.go(&settings(), folder.path(), &mut Known(&world.known)).unwrap();
    assert_eq!(rounds.len(), 4);
    let picked: Vec<usize> = rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect();
    let mut once = picked.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), 12, "a row was picked twice");
    for pick in rounds.iter().flat_map(|round| &round.picks) {
        assert_eq!(pick.label, world.known[pick.row]);
    }
    // The network learns from the picks of the task alone.
    let of_task = picked.iter().filter(|&&row| world.pool.labels[row] < 3).count();
    assert_eq!(rounds[3].learned, of_task);
    assert!(rounds.iter().all(|round| round.accuracy.is_some()));
    let names: Vec<String> = files(folder.path()).into_keys().collect();
    assert_eq!(
        names,
        ["model.safetensors", "rounds/0001.json", "rounds/0002.json", "rounds/0003.json", "rounds/0004.json"]
    );
}

#[test]
fn an_interrupted_run_ends_with_the_same_bytes() {
    let world = World::new();
    for scratch in [true, false] {
        let settings = Settings { scratch, ..settings() };
        let unbroken = tempfile::tempdir().unwrap();
        world.go(&settings, unbroken.path(), &mut Known(&world.known)).unwrap();
        let want = files(unbroken.path());
        // Interrupted while the 1st, 2nd, … example is being labelled, and once more after each of the following two.
        for answers in [0, 1, 4, 8] {
            let broken = tempfile::tempdir().unwrap();
            for _ in 0..3 {
                let error =
                    world.go(&settings, broken.path(), &mut Tired(Known(&world.known), answers / 3)).unwrap_err();
                assert_eq!(error.to_string(), "nobody answers");
            }
            world.go(&settings, broken.path(), &mut Known(&world.known)).unwrap();
            assert_eq!(files(broken.path()), want, "after {answers} answers");
        }
        // A second call finds nothing to do.
        world.go(&settings, unbroken.path(), &mut Tired(Known(&world.known), 0)).unwrap();
        assert_eq!(files(unbroken.path()), want);
    }
}

#[test]
fn leftovers_of_a_crash_are_cleared_away() {
    let world = World::new();
    let (whole, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    world.go(&settings(), whole.path(), &mut Known(&world.known)).unwrap();
    let two = Settings { rounds: 2, ..settings() };
    world.go(&two, broken.path(), &mut Known(&world.known)).unwrap();
    // As if killed between writing the network of round 3 and its record, in the middle of another file.
    fs::write(broken.path().join("model-0003.safetensors"), b"half").unwrap();
    fs::write(broken.path().join(".homing-aB3xYz"), b"half").unwrap();
    fs::write(broken.path().join("rounds/.homing-000000"), b"half").unwrap();
    world.go(&settings(), broken.path(), &mut Known(&world.known)).unwrap();
    assert_eq!(files(broken.path()), files(whole.path()));
}

#[test]
fn files_that_the_run_did_not_make_stay() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let two = Settings { rounds: 2, ..settings() };
    world.go(&two, folder.path(), &mut Known(&world.known)).unwrap();
    let own = [
        "model-notes.txt",
        "model-best.safetensors",
        "model-0001.safetensors.bak",
        "model-1.safetensors",
        "model-0009.safetensors",
        ".homing-settings",
        "rounds/.homing-",
    ];
    own.iter().for_each(|name| fs::write(folder.path().join(name), "mine").unwrap());
    world.go(&settings(), folder.path(), &mut Known(&world.known)).unwrap();
    for name in own {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"mine", "{name}");
    }
}

/// JSON has no such number.
#[test]
fn a_lesson_whose_loss_was_no_number_can_be_taken_up() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let two = Settings { rounds: 2, ..settings() };
    world.go(&two, folder.path(), &mut Known(&world.known)).unwrap();
    let path = folder.path().join("rounds/0002.json");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["curve"]["epochs"][1]["loss"] = serde_json::Value::Null;
    record["picks"][0]["score"] = serde_json::Value::Null;
    fs::write(&path, record.to_string()).unwrap();
    let rounds = world.go(&settings(), folder.path(), &mut Known(&world.known)).unwrap();
    assert!(rounds[1].curve.as_ref().unwrap().epochs[1].loss.is_nan() && rounds[1].picks[0].score.is_nan());
}

#[test]
fn skipped_examples_are_not_asked_for_again_and_not_learned_from() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let nothing = vec![None; world.known.len()];
    let rounds = world.go(&settings(), folder.path(), &mut Known(&nothing)).unwrap();
    assert!(rounds.iter().all(|round| round.learned == 0 && round.curve.is_none()));
    let rows: std::collections::BTreeSet<usize> = rounds.iter().flat_map(|r| &r.picks).map(|pick| pick.row).collect();
    assert_eq!(rows.len(), 12);
}

#[test]
fn candidates_come_from_three_sources() {
    let world = World::new();
    for candidates in ["all", "sample:30", "nearest:30"] {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { candidates: candidates.into(), rounds: 2, ..settings() };
        let rounds = world.go(&settings, folder.path(), &mut Known(&world.known)).unwrap();
        assert_eq!(rounds.iter().map(|round| round.picks.len()).sum::<usize>(), 6, "{candidates}");
    }
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { candidates: "some".into(), ..settings() };
    let error = world.go(&settings, folder.path(), &mut Known(&world.known)).unwrap_err().to_string();
    assert!(error.contains("use all, sample:1000 or nearest:1000"), "{error}");
}

#[test]
fn a_pool_that_is_used_up_ends_the_run() {
    let mut world = World::new();
    world.pool.rows.truncate(5);
    let folder = tempfile::tempdir().unwrap();
    let rounds = world.go(&settings(), folder.path(), &mut Known(&world.known)).unwrap();
    assert_eq!(rounds.iter().map(|round| round.picks.len()).collect::<Vec<_>>(), [3, 2]);
}

#[test]
fn every_rule_and_embedding_runs() {
    let world = World::new();
    for entry in homing::STRATEGIES {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { rule: entry.name.into(), rounds: 1, until: Until::Epochs(1), ..settings() };
        world.go(&settings, folder.path(), &mut Known(&world.known)).unwrap();
    }
    for embedding in ["last-layer", "loss-gradient", "output-gradient", "network-gradient:128", "outputs"] {
        for condition in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let embedding = embedding.parse().unwrap();
            let settings = Settings { embedding, condition, rounds: 2, until: Until::Epochs(1), ..settings() };
            world.go(&settings, folder.path(), &mut Known(&world.known)).unwrap();
        }
    }
}

#[test]
fn every_covariance_runs_and_changes_the_scores() {
    let world = World::new();
    let scores = |sigma: &str, embedding: &str| -> Vec<f64> {
        let folder = tempfile::tempdir().unwrap();
        let (sigma, embedding) = (sigma.parse().unwrap(), embedding.parse().unwrap());
        let settings = Settings { sigma, embedding, rounds: 3, ..settings() };
        let rounds = world.go(&settings, folder.path(), &mut Known(&world.known)).unwrap();
        rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.score).collect()
    };
    for embedding in ["last-layer", "loss-gradient"] {
        let plain = scores("identity", embedding);
        for sigma in ["laplace-diagonal", "laplace-kronecker", "laplace-damped", "laplace-full"] {
            let under = scores(sigma, embedding);
            assert_eq!(under[..3], plain[..3], "nothing is learned before the first round");
            assert_ne!(under, plain, "{sigma} {embedding}");
        }
    }
}

/// It is defined on loss gradients, whatever the others look at.
#[test]
fn badge_makes_its_own_embeddings() {
    let world = World::new();
    let picks = |embedding: &str, sigma: &str| -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let (sigma, embedding) = (sigma.parse().unwrap(), embedding.parse().unwrap());
        let settings = Settings { rule: "badge".into(), sigma, embedding, rounds: 3, ..settings() };
        let rounds = world.go(&settings, folder.path(), &mut Known(&world.known)).unwrap();
        rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect()
    };
    let plain = picks("last-layer", "identity");
    assert_eq!(picks("outputs", "identity"), plain);
    assert_eq!(picks("loss-gradient", "laplace-full"), plain);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let world = World::new();
    let refused = |settings: Settings| {
        let folder = tempfile::tempdir().unwrap();
        world.go(&settings, folder.path(), &mut Known(&world.known)).unwrap_err().to_string()
    };
    let sigma = "laplace-full".parse().unwrap();
    let message = refused(Settings { sigma, embedding: "outputs".parse().unwrap(), ..settings() });
    assert!(message.contains("use it with last-layer"), "{message}");
    let message = refused(Settings { batch_size: 0, ..settings() });
    assert!(message.contains("at least one pick"), "{message}");
    let message = refused(Settings { until: Until::ValidationDrops { patience: 1, most: 9 }, ..settings() });
    assert!(message.contains("needs validation examples"), "{message}");
    let message = refused(Settings { noise_std: Some(0.0), ..settings() });
    assert!(message.contains("the noise is 0"), "{message}");
    let message = refused(Settings { rounds: 0, ..settings() });
    assert!(message.contains("from 1 to"), "{message}");
    let message = refused(Settings { rule: "itll".into(), ..settings() });
    assert!(message.contains("itl"), "{message}");
    assert!("laplace".parse::<Sigma>().unwrap_err().to_string().contains("laplace-kronecker"));
}
