//! Tests of Algorithm 1: what a round does, and that interruptions do not change the result.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use homing_train::{
    AdamSettings, Answer, Candidates, ChoosingSettings, EmbeddingKind, Error, KnownLabels, LearningSettings, LessonEnd,
    NamedStrategy, Oracle, Problem, Question, RoundRecord, RoundTargets, RuleRun, Settings, Sigma, fine_tune,
};

use crate::files::files;
use crate::world::{Bars, cnn};

fn settings() -> Settings {
    Settings {
        rule: "itl".parse().unwrap(),
        choosing: ChoosingSettings {
            rounds: 4,
            picks_per_round: 3,
            random_start: 0,
            repeat: false,
            candidates: Candidates::Sample(40),
            targets_per_round: RoundTargets::Sample(4),
            embedding: EmbeddingKind::LastLayer,
            sigma: Sigma::Identity,
            noise_std: Some(0.1),
            noise_share: None,
            condition: false,
        },
        learning: LearningSettings {
            until: LessonEnd::Epochs(2),
            warm_start: true,
            minibatch_size: 8,
            full_minibatches: false,
            unweighted_loss: false,
            keep_last_best: false,
            skip_idle_rounds: false,
            keep_optimizer: false,
            adam_epsilon: AdamSettings::EPSILON,
        },
        learning_rate: 1e-3,
        seed: 11,
    }
}

/// Returns the settings with a change.
pub fn with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = settings();
    change(&mut settings);
    settings
}

pub struct World {
    pub pool: Bars,
    pub known: Vec<Option<u32>>,
    targets: Bars,
    test: Bars,
    classes: Vec<Option<u32>>,
}

impl World {
    /// Makes six kinds of bars, the first three of which are the task.
    pub fn new() -> Self {
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

    pub fn problem(&self) -> Problem<'_> {
        Problem {
            pool: &self.pool.inputs,
            open: &self.pool.rows,
            targets: self.targets.examples(),
            classes: &self.classes,
            valid: None,
            test: Some(self.test.labelled()),
        }
    }

    pub fn go(&self, settings: &Settings, folder: &Path, oracle: &mut dyn Oracle) -> Result<Vec<RoundRecord>, Error> {
        let problem = self.problem();
        let mut run = RuleRun::open(folder, &problem, settings)?;
        let mut rounds = run.rounds().to_vec();
        fine_tune(&problem, settings, &mut cnn(3, 0), oracle, &mut run, |round, _| {
            rounds.push(round.clone());
            Ok(())
        })?;
        Ok(rounds)
    }
}

/// An oracle that fails after a number of answers.
pub struct FailingOracle<'a>(pub KnownLabels<'a>, pub usize);

impl Oracle for FailingOracle<'_> {
    fn label(&mut self, question: &Question<'_>) -> Result<Answer, Error> {
        self.1 = self.1.checked_sub(1).ok_or(Error::NoAnswer)?;
        self.0.label(question)
    }
}

#[test]
fn rounds_pick_new_rows_label_them_and_learn_the_task() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let rounds = world.go(&settings(), folder.path(), &mut KnownLabels(&world.known)).unwrap();
    assert_eq!(rounds.len(), 4);
    let picked: Vec<usize> = rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect();
    let mut once = picked.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), 12, "a row was picked twice");
    for pick in rounds.iter().flat_map(|round| &round.picks) {
        assert_eq!(pick.label, world.known[pick.row]);
    }
    // The network learns only from the picks that belong to the task.
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
    for warm_start in [false, true] {
        let settings = with(|settings| settings.learning.warm_start = warm_start);
        let unbroken = tempfile::tempdir().unwrap();
        world.go(&settings, unbroken.path(), &mut KnownLabels(&world.known)).unwrap();
        let expected = files(unbroken.path());
        // The run is interrupted three times, each time after a third of the answers.
        for answers in [0, 1, 4, 8] {
            let broken = tempfile::tempdir().unwrap();
            for _ in 0..3 {
                let error = world
                    .go(&settings, broken.path(), &mut FailingOracle(KnownLabels(&world.known), answers / 3))
                    .unwrap_err();
                assert!(matches!(error, Error::NoAnswer), "{error}");
            }
            world.go(&settings, broken.path(), &mut KnownLabels(&world.known)).unwrap();
            assert_eq!(files(broken.path()), expected, "after {answers} answers");
        }
        // A second call has nothing to do.
        world.go(&settings, unbroken.path(), &mut FailingOracle(KnownLabels(&world.known), 0)).unwrap();
        assert_eq!(files(unbroken.path()), expected);
    }
}

#[test]
fn temporary_files_of_a_killed_process_are_removed() {
    let world = World::new();
    let (whole, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    world.go(&settings(), whole.path(), &mut KnownLabels(&world.known)).unwrap();
    let two = with(|settings| settings.choosing.rounds = 2);
    world.go(&two, broken.path(), &mut KnownLabels(&world.known)).unwrap();
    // The process was killed between the network of round 3 and its record, in the middle of writing another file.
    fs::write(broken.path().join("model-0003.safetensors"), b"half").unwrap();
    fs::write(broken.path().join(".homing-aB3xYz"), b"half").unwrap();
    fs::write(broken.path().join("rounds/.homing-000000"), b"half").unwrap();
    world.go(&settings(), broken.path(), &mut KnownLabels(&world.known)).unwrap();
    assert_eq!(files(broken.path()), files(whole.path()));
}

#[test]
fn files_that_the_run_did_not_create_stay() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let two = with(|settings| settings.choosing.rounds = 2);
    world.go(&two, folder.path(), &mut KnownLabels(&world.known)).unwrap();
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
    world.go(&settings(), folder.path(), &mut KnownLabels(&world.known)).unwrap();
    for name in own {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"mine", "{name}");
    }
}

/// JSON stores NaN as null.
#[test]
fn a_run_with_a_loss_of_nan_can_be_resumed() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let two = with(|settings| settings.choosing.rounds = 2);
    world.go(&two, folder.path(), &mut KnownLabels(&world.known)).unwrap();
    let path = folder.path().join("rounds/0002.json");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["curve"]["epochs"][1]["loss"] = serde_json::Value::Null;
    record["picks"][0]["score"] = serde_json::Value::Null;
    fs::write(&path, record.to_string()).unwrap();
    let rounds = world.go(&settings(), folder.path(), &mut KnownLabels(&world.known)).unwrap();
    assert!(rounds[1].curve.as_ref().unwrap().epochs[1].loss.is_nan() && rounds[1].picks[0].score.is_nan());
}

#[test]
fn other_examples_take_the_place_of_skipped_ones() {
    let world = World::new();
    // Every third row cannot be labelled.
    let some: Vec<Option<u32>> =
        world.known.iter().enumerate().map(|(row, label)| label.filter(|_| row % 3 > 0)).collect();
    for condition in [false, true] {
        let settings = with(|settings| settings.choosing.condition = condition);
        let whole = tempfile::tempdir().unwrap();
        let rounds = world.go(&settings, whole.path(), &mut KnownLabels(&some)).unwrap();
        let picks = || rounds.iter().flat_map(|round| &round.picks);
        let rows: BTreeSet<usize> = picks().map(|pick| pick.row).collect();
        assert_eq!(rows.len(), picks().count(), "a row was picked twice");
        assert!(picks().any(|pick| pick.label.is_none()), "no row was skipped");
        for round in &rounds {
            assert_eq!(round.picks.iter().filter(|pick| pick.label.is_some()).count(), 3);
        }
        // Interrupted anywhere, also among the replacements, the run ends with the same files.
        for answers in 0..picks().count() {
            let broken = tempfile::tempdir().unwrap();
            world.go(&settings, broken.path(), &mut FailingOracle(KnownLabels(&some), answers)).unwrap_err();
            world.go(&settings, broken.path(), &mut KnownLabels(&some)).unwrap();
            assert_eq!(files(broken.path()), files(whole.path()), "after {answers} answers");
        }
    }
}

#[test]
fn a_pool_without_labels_is_asked_about_once_and_teaches_nothing() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let nothing = vec![None; world.known.len()];
    let rounds = world.go(&settings(), folder.path(), &mut KnownLabels(&nothing)).unwrap();
    assert!(rounds.iter().all(|round| round.learned == 0 && round.curve.is_none()));
    let picks: Vec<usize> = rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect();
    assert_eq!(picks.iter().collect::<BTreeSet<_>>().len(), world.pool.rows.len());
    assert_eq!(picks.len(), world.pool.rows.len());
}

/// Answers with a list of answers, and notes the questions.
struct Script<'a> {
    known: &'a [Option<u32>],
    answers: Vec<Answer>,
    asked: Vec<(usize, usize, usize, usize)>,
}

impl Oracle for Script<'_> {
    fn label(&mut self, question: &Question<'_>) -> Result<Answer, Error> {
        self.asked.push((question.row, question.number, question.count, question.round));
        if self.answers.is_empty() {
            return Ok(Answer::Class(self.known[question.row].unwrap()));
        }
        Ok(self.answers.remove(0))
    }
}

#[test]
fn an_answer_can_be_taken_back() {
    let world = World::new();
    let two = with(|settings| settings.choosing.rounds = 1);
    let go = |answers: &[Answer]| {
        let folder = tempfile::tempdir().unwrap();
        let mut script = Script { known: &world.known, answers: answers.to_vec(), asked: Vec::new() };
        let rounds = world.go(&two, folder.path(), &mut script).unwrap();
        (rounds[0].picks.clone(), script.asked)
    };
    let (usual, asked) = go(&[]);
    assert_eq!(
        asked.iter().map(|&(_, number, count, round)| (number, count, round)).collect::<Vec<_>>(),
        [(1, 3, 1), (2, 3, 1), (3, 3, 1)]
    );
    // The first answer cannot be taken back further. A wrong answer and a wrong skip are corrected.
    let (first, second, third) = (usual[0].row, usual[1].row, usual[2].row);
    let (picks, asked) = go(&[Answer::Undo, Answer::Class(5), Answer::Undo]);
    assert_eq!(asked.iter().map(|asked| asked.0).collect::<Vec<_>>(), [first, first, second, first, second, third]);
    assert_eq!(picks, usual);
    // The skip of the third is taken back after another row has taken its place.
    let label = |row: usize| Answer::Class(world.known[row].unwrap());
    let (picks, asked) = go(&[label(first), label(second), Answer::Skip, Answer::Undo]);
    assert_eq!(asked.iter().map(|asked| asked.1).collect::<Vec<_>>(), [1, 2, 3, 3, 3]);
    assert_eq!((asked[2].0, asked[4].0), (third, third));
    assert_eq!(picks, usual);
}

#[test]
fn candidates_come_from_three_sources() {
    let world = World::new();
    for candidates in ["all", "sample:30", "nearest:30"] {
        let folder = tempfile::tempdir().unwrap();
        let settings = with(|settings| {
            settings.choosing.candidates = candidates.parse().unwrap();
            settings.choosing.rounds = 2;
        });
        let rounds = world.go(&settings, folder.path(), &mut KnownLabels(&world.known)).unwrap();
        assert_eq!(rounds.iter().map(|round| round.picks.len()).sum::<usize>(), 6, "{candidates}");
    }
    let error = "some".parse::<Candidates>().unwrap_err().to_string();
    assert!(error.contains("use all, sample:1000 or nearest:1000"), "{error}");
}

#[test]
fn a_pool_that_is_used_up_ends_the_run() {
    let mut world = World::new();
    world.pool.rows.truncate(5);
    let folder = tempfile::tempdir().unwrap();
    let rounds = world.go(&settings(), folder.path(), &mut KnownLabels(&world.known)).unwrap();
    assert_eq!(rounds.iter().map(|round| round.picks.len()).collect::<Vec<_>>(), [3, 2]);
}

#[test]
fn every_rule_and_embedding_runs() {
    let world = World::new();
    for entry in homing::STRATEGIES {
        let folder = tempfile::tempdir().unwrap();
        let settings = with(|settings| {
            settings.rule = entry.name.parse().unwrap();
            settings.choosing.rounds = 1;
            settings.learning.until = LessonEnd::Epochs(1);
        });
        world.go(&settings, folder.path(), &mut KnownLabels(&world.known)).unwrap();
    }
    for embedding in
        ["last-layer", "loss-gradient", "logit-gradient", "output-gradient", "network-gradient:128", "outputs"]
    {
        for condition in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let embedding = embedding.parse().unwrap();
            let settings = with(|settings| {
                settings.choosing.embedding = embedding;
                settings.choosing.condition = condition;
                settings.choosing.rounds = 2;
                settings.learning.until = LessonEnd::Epochs(1);
            });
            world.go(&settings, folder.path(), &mut KnownLabels(&world.known)).unwrap();
        }
    }
}

#[test]
fn every_covariance_runs_and_changes_the_scores() {
    let world = World::new();
    let scores = |sigma: &str, embedding: &str| -> Vec<f64> {
        let folder = tempfile::tempdir().unwrap();
        let (sigma, embedding) = (sigma.parse().unwrap(), embedding.parse().unwrap());
        let settings = with(|settings| {
            settings.choosing.sigma = sigma;
            settings.choosing.embedding = embedding;
            settings.choosing.rounds = 3;
        });
        let rounds = world.go(&settings, folder.path(), &mut KnownLabels(&world.known)).unwrap();
        rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.score).collect()
    };
    for embedding in ["last-layer", "loss-gradient"] {
        let plain = scores("identity", embedding);
        for sigma in ["laplace-diagonal", "laplace-kronecker", "laplace-damped", "laplace-full"] {
            let with_sigma = scores(sigma, embedding);
            assert_eq!(with_sigma[..3], plain[..3], "nothing is learned before the first round");
            assert_ne!(with_sigma, plain, "{sigma} {embedding}");
        }
    }
}

/// BADGE is defined on loss gradients, whatever the embeddings of other rules are.
#[test]
fn badge_makes_its_own_embeddings() {
    let world = World::new();
    let picks = |embedding: &str, sigma: &str| -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let (sigma, embedding) = (sigma.parse().unwrap(), embedding.parse().unwrap());
        let settings = with(|settings| {
            settings.rule = "badge".parse().unwrap();
            settings.choosing.sigma = sigma;
            settings.choosing.embedding = embedding;
            settings.choosing.rounds = 3;
        });
        let rounds = world.go(&settings, folder.path(), &mut KnownLabels(&world.known)).unwrap();
        rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect()
    };
    let plain = picks("last-layer", "identity");
    assert_eq!(picks("outputs", "identity"), plain);
    assert_eq!(picks("loss-gradient", "laplace-full"), plain);
}

#[test]
fn invalid_settings_are_refused() {
    let world = World::new();
    let refused = |settings: Settings| {
        let folder = tempfile::tempdir().unwrap();
        world.go(&settings, folder.path(), &mut KnownLabels(&world.known)).unwrap_err().to_string()
    };
    let sigma = "laplace-full".parse().unwrap();
    let message = refused(with(|settings| {
        settings.choosing.sigma = sigma;
        settings.choosing.embedding = "outputs".parse().unwrap();
    }));
    assert!(message.contains("use it with last-layer"), "{message}");
    let message = refused(with(|settings| settings.choosing.picks_per_round = 0));
    assert!(message.contains("the number of picks per round is 0; set picks_per_round to at least 1"), "{message}");
    let message =
        refused(with(|settings| settings.learning.until = LessonEnd::ValidationDrops { patience: 1, max_epochs: 9 }));
    assert!(message.contains("needs validation examples"), "{message}");
    let message = refused(with(|settings| settings.choosing.noise_std = Some(0.0)));
    assert!(message.contains("the noise is 0"), "{message}");
    let message = refused(with(|settings| settings.choosing.rounds = 0));
    assert!(message.contains("from 1 to"), "{message}");
    let message = "itll".parse::<NamedStrategy>().unwrap_err().to_string();
    assert!(message.contains("itl"), "{message}");
    assert!("laplace".parse::<Sigma>().unwrap_err().to_string().contains("laplace-kronecker"));
}
