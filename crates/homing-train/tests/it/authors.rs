//! Options that the authors' settings need: what each of them changes, and that interruptions do not change the result.

use std::collections::BTreeSet;
use std::fs;

use homing_train::{Embedder, EmbeddingKind, Error, KnownLabels, Learner, LessonEnd, RoundRecord, Settings};

use crate::files::files;
use crate::rounds::{FailingOracle, World, with};
use crate::world::{Bars, cnn, mlp, noise};

/// Settings whose rounds pick one row at random, so that some hold no row of the task.
fn one_at_random(change: impl FnOnce(&mut Settings)) -> Settings {
    with(|settings| {
        settings.rule = "random".parse().unwrap();
        settings.choosing.picks_per_round = 1;
        settings.choosing.rounds = 12;
        change(settings);
    })
}

fn rounds_of(settings: &Settings) -> Vec<RoundRecord> {
    let (world, folder) = (World::new(), tempfile::tempdir().unwrap());
    world.go(settings, folder.path(), &mut KnownLabels(&world.known)).unwrap()
}

#[test]
fn a_round_without_an_image_of_the_task_does_not_train() {
    let world = World::new();
    let usual = rounds_of(&one_at_random(|_| ()));
    let skipping = rounds_of(&one_at_random(|settings| settings.learning.skip_idle_rounds = true));
    let in_task = |round: &RoundRecord| world.pool.labels[round.picks[0].row] < 3;
    assert!(skipping.iter().any(in_task) && !skipping.iter().all(in_task));
    let mut learned = 0;
    for (at, round) in skipping.iter().enumerate() {
        learned += usize::from(in_task(round));
        assert_eq!((round.curve.is_some(), round.learned), (in_task(round), learned));
        assert_eq!(usual[at].curve.is_some(), learned > 0);
        if !in_task(round) && at > 0 {
            assert_eq!(round.accuracy, skipping[at - 1].accuracy, "the network has changed");
        }
    }
}

#[test]
fn one_optimiser_lives_through_rounds_and_interruptions() {
    let world = World::new();
    for (warm_start, skip) in [(false, false), (true, true)] {
        let settings = with(|settings| {
            settings.learning.keep_optimizer = true;
            settings.learning.warm_start = warm_start;
            settings.learning.skip_idle_rounds = skip;
        });
        let whole = tempfile::tempdir().unwrap();
        let kept = world.go(&settings, whole.path(), &mut KnownLabels(&world.known)).unwrap();
        let anew = with(|settings| settings.learning.warm_start = warm_start);
        let other = tempfile::tempdir().unwrap();
        let anew = world.go(&anew, other.path(), &mut KnownLabels(&world.known)).unwrap();
        let losses = |rounds: &[RoundRecord], at: usize| -> Vec<f64> {
            rounds[at].curve.iter().flat_map(|curve| &curve.epochs).map(|epoch| epoch.loss).collect()
        };
        assert_eq!(losses(&kept, 0), losses(&anew, 0), "the first lesson has no moments to continue");
        assert_ne!(losses(&kept, 1), losses(&anew, 1), "the second lesson started anew");
        for answers in 0..12 {
            let broken = tempfile::tempdir().unwrap();
            world.go(&settings, broken.path(), &mut FailingOracle(KnownLabels(&world.known), answers)).unwrap_err();
            let moments = broken.path().join(format!("moments-{:04}.bin", answers / 3));
            assert_eq!(moments.exists(), answers >= 3, "{answers}");
            world.go(&settings, broken.path(), &mut KnownLabels(&world.known)).unwrap();
            assert_eq!(files(broken.path()), files(whole.path()), "after {answers} answers");
        }
    }
}

#[test]
fn moments_that_are_lost_or_damaged_are_refused() {
    let world = World::new();
    let settings = with(|settings| settings.learning.keep_optimizer = true);
    let broken = tempfile::tempdir().unwrap();
    world.go(&settings, broken.path(), &mut FailingOracle(KnownLabels(&world.known), 7)).unwrap_err();
    let path = broken.path().join("moments-0002.bin");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let refused = || {
        let error = world.go(&settings, broken.path(), &mut KnownLabels(&world.known)).unwrap_err();
        error.to_string()
    };
    assert!(refused().contains("the moments of the optimiser are damaged"), "{}", refused());
    fs::remove_file(&path).unwrap();
    assert!(refused().contains("the moments of the optimiser after the last round are missing"), "{}", refused());
}

#[test]
fn a_row_may_be_picked_again_and_then_counts_twice() {
    let repeating = |rule: &str| {
        rounds_of(&with(|settings| {
            settings.rule = rule.parse().unwrap();
            settings.choosing.repeat = true;
            settings.choosing.candidates = "all".parse().unwrap();
            settings.choosing.rounds = 6;
            settings.learning.until = LessonEnd::Epochs(0);
        }))
    };
    let world = World::new();
    for rule in ["itl", "itl-value", "itl-top-b", "cosine", "random", "badge"] {
        let rounds = repeating(rule);
        let picks: Vec<usize> = rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect();
        let of_task = picks.iter().filter(|&&row| world.pool.labels[row] < 3).count();
        assert_eq!((picks.len(), rounds[5].learned), (18, of_task), "{rule}");
    }
    // A network that does not change has the same most similar rows in every round.
    let rows: BTreeSet<usize> =
        repeating("cosine").iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect();
    assert!(rows.len() < 18, "no row was picked again");
}

#[test]
fn the_first_picks_may_be_random() {
    let first = |rule: &str, start: usize| {
        let rounds = rounds_of(&with(|settings| {
            settings.rule = rule.parse().unwrap();
            settings.choosing.random_start = start;
            settings.choosing.rounds = 2;
        }));
        rounds.iter().map(|round| round.picks.iter().map(|pick| pick.row).collect()).collect::<Vec<Vec<usize>>>()
    };
    let random = first("random", 0);
    for start in [1, 2, 3] {
        let max_dist = first("max-dist", start);
        let distinct: BTreeSet<usize> = max_dist.iter().flatten().copied().collect();
        assert_eq!((max_dist[0].len(), distinct.len()), (3, 6));
        assert_eq!(max_dist[0][..start], random[0][..start], "the first picks are those of random picks");
    }
    assert_ne!(first("max-dist", 0)[0][0], random[0][0]);
    // Four random picks fill the first round and begin the second.
    assert_eq!(first("itl", 4)[0], random[0]);
    assert_ne!(first("itl", 4)[1], first("itl", 3)[1]);
}

/// Farthest-first traversal, computed from the embeddings: the rows that each round of MaxDist must pick.
#[test]
fn rules_by_distance_start_from_the_picks_of_earlier_rounds() {
    let world = World::new();
    let settings = with(|settings| {
        settings.rule = "max-dist".parse().unwrap();
        settings.choosing.condition = true;
        settings.choosing.candidates = "all".parse().unwrap();
        settings.choosing.rounds = 3;
        settings.learning.until = LessonEnd::Epochs(0);
        settings.learning.warm_start = true;
    });
    let rounds = rounds_of(&settings);
    // The network never changes, so its embeddings are those of the start.
    let mut network = cnn(3, 0);
    let folder = tempfile::tempdir().unwrap();
    let problem = world.problem();
    let mut run = homing_train::RuleRun::open(folder.path(), &problem, &settings).unwrap();
    homing_train::fine_tune(&problem, &settings, &mut network, &mut KnownLabels(&world.known), &mut run, |_, _| Ok(()))
        .unwrap();
    let hidden = network.predict(world.pool.examples()).unwrap();
    let row = |row: usize| &hidden.hidden[row * hidden.width..(row + 1) * hidden.width];
    let apart = |a: usize, b: usize| -> f64 {
        row(a).iter().zip(row(b)).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum()
    };
    let picks: Vec<usize> = rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect();
    for at in 1..picks.len() {
        let nearest = |x: usize| picks[..at].iter().map(|&pick| apart(x, pick)).fold(f64::INFINITY, f64::min);
        let farthest = (0..120).map(nearest).fold(0.0, f64::max);
        assert!((nearest(picks[at]) - farthest).abs() <= 1e-6 * farthest, "pick {at}");
    }
}

#[test]
fn badge_starts_from_earlier_picks_and_never_draws_one_again() {
    let mut world = World::new();
    world.pool.rows = (0..40).collect();
    let rounds = |condition: bool, seed: u64| {
        let folder = tempfile::tempdir().unwrap();
        let settings = with(|settings| {
            settings.rule = "badge".parse().unwrap();
            settings.choosing.condition = condition;
            settings.choosing.picks_per_round = 2;
            settings.choosing.rounds = 6;
            settings.choosing.candidates = "all".parse().unwrap();
            settings.choosing.repeat = true;
            settings.learning.until = LessonEnd::Epochs(0);
            settings.seed = seed;
        });
        let rounds = world.go(&settings, folder.path(), &mut KnownLabels(&world.known)).unwrap();
        rounds.iter().flat_map(|round| &round.picks).map(|pick| pick.row).collect::<Vec<usize>>()
    };
    let repeats = |picks: Vec<usize>| picks.len() - picks.iter().collect::<BTreeSet<_>>().len();
    // A centroid is at distance zero from itself and cannot be drawn again.
    let carried: usize = (0..8).map(|seed| repeats(rounds(true, seed))).sum();
    let anew: usize = (0..8).map(|seed| repeats(rounds(false, seed))).sum();
    assert_eq!(carried, 0);
    assert!(anew > 0);
}

#[test]
fn gradients_of_logits_are_products_of_both_factors() {
    let inputs = homing_train::Inputs::rows(4, noise(12, 7));
    for (network, biased) in [(&mlp(4, &[5], 3, 6) as &dyn Learner, 1.0), (&cnn(3, 1), 0.0)] {
        let bars = Bars::new(3, 3, 0);
        let own = homing_train::Examples { inputs: &inputs, rows: &[0, 1, 2] };
        let at = if biased == 1.0 { own } else { bars.examples() };
        let embedder = Embedder::new(network, EmbeddingKind::LogitGradient, None);
        let embedded = embedder.embed(at).unwrap();
        let points = embedded.points().unwrap();
        let prediction = network.predict(at).unwrap();
        let gradient = |i: usize| -> Vec<f64> {
            let outputs = &prediction.outputs[3 * i..3 * i + 3];
            let top = (1..3).fold(0, |top, c| if outputs[c] > outputs[top] { c } else { top });
            let hidden = &prediction.hidden[i * prediction.width..(i + 1) * prediction.width];
            let extended = || hidden.iter().map(|&h| f64::from(h)).chain([biased]);
            (0..3)
                .flat_map(|c| {
                    let residual = f64::from(outputs[c]) - f64::from(u8::from(c == top));
                    extended().map(move |h| residual * h)
                })
                .collect()
        };
        for i in 0..3 {
            for j in 0..3 {
                let expected: f64 = gradient(i).iter().zip(gradient(j)).map(|(a, b)| a * b).sum();
                let got = embedder.kernel().eval(&points.row(i), &points.row(j));
                assert!((got - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{got} {expected}");
            }
        }
    }
    let error = with(|settings| {
        settings.choosing.embedding = "logit-gradient".parse().unwrap();
        settings.choosing.sigma = "laplace-full".parse().unwrap();
    })
    .check(&World::new().problem())
    .unwrap_err();
    assert!(matches!(error, Error::LaplaceEmbedding), "{error}");
}

/// The first pick's information is ½ ln(1 + …) of its own and the targets' variances under ρ² = share × mean k(x, x), so scores
/// under a share equal those under the standard deviation that it stands for.
#[test]
fn noise_relative_to_the_mean_variance_is_that_standard_deviation() {
    let picks = |std: Option<f64>, share: Option<f64>| {
        rounds_of(&with(|settings| {
            (settings.choosing.noise_std, settings.choosing.noise_share) = (std, share);
            settings.choosing.rounds = 1;
        }))
    };
    let relative = picks(None, Some(0.3));
    let mean_var = relative[0].mean_var.unwrap();
    assert!(mean_var > 0.0);
    let absolute = picks(Some((0.3 * mean_var).sqrt()), None);
    for (one, other) in relative[0].picks.iter().zip(&absolute[0].picks) {
        assert_eq!(one.row, other.row);
        assert!((one.score - other.score).abs() < 1e-9 * other.score.abs());
    }
}

#[test]
fn explanatory_targets_are_some_of_the_targets() {
    let rounds = |targets: &str| {
        rounds_of(&with(|settings| {
            settings.choosing.targets_per_round = targets.parse().unwrap();
            settings.choosing.rounds = 1;
        }))
    };
    let scores = |targets: &str| rounds(targets)[0].picks.iter().map(|pick| pick.score).collect::<Vec<f64>>();
    // More targets never tell less, and all of them are the limit.
    for kind in ["max-det", "max-dist"] {
        let (few, many) = (scores(&format!("{kind}:1"))[0], scores(&format!("{kind}:6"))[0]);
        assert!(few <= many + 1e-9 && many <= scores("all")[0] + 1e-9, "{kind}: {few} {many}");
        assert_eq!(scores(&format!("{kind}:1000")), scores("all"));
    }
    let error = "max-det:0".parse::<homing_train::RoundTargets>().unwrap_err().to_string();
    assert!(error.contains("use all, 10, max-det:10 or max-dist:10"), "{error}");
}
