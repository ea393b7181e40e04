//! For nonlinear kernels, many picks per pass are the same picks as one pass per pick.

use homing::{
    Embeddings, Engine, Gaussian, Kernel, Laplace, Matern, Noise, Plan, Points, Precomputed, Product, Scaled,
    TargetSampling, Task,
};
use proptest::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::engines::{RULES, assert_same, both, clustered};
use crate::oracle::{points, rng, run};

const DIM: usize = 9;
const CLASSES: usize = 3;

/// A clustered pool in which a third of the rows are copies, and targets of which two are rows of the pool.
struct Data {
    rows: usize,
    /// Embeddings of the pool, then of the targets.
    embeddings: Vec<f64>,
    /// Class probabilities of the same rows.
    probabilities: Vec<f64>,
    /// Row numbers of a kernel matrix over the same rows, and that matrix.
    numbers: Vec<f64>,
    matrix: Vec<f64>,
}

fn data(rng: &mut ChaCha8Rng, rows: usize, targets: usize) -> Data {
    let all = rows + targets;
    let mut embeddings: Vec<f64> = clustered(rng, all, DIM, 1 + rows / 40).into_iter().map(f64::from).collect();
    let mut copy = |from: usize, to: usize| embeddings.copy_within(from * DIM..(from + 1) * DIM, to * DIM);
    (0..rows / 3).for_each(|i| copy((i * 31) % rows, (i * 17 + 5) % rows));
    (0..targets.min(2)).for_each(|i| copy((i * 7 + 3) % rows, rows + i));
    // A function of the embedding, so copies have equal probabilities.
    let probabilities = embeddings.chunks_exact(DIM).flat_map(|x| {
        let logits = [3.0 * x[0], 2.0 * x[1] - x[2], x[3]];
        let sum: f64 = logits.iter().map(|l| l.exp()).sum();
        logits.map(|l| l.exp() / sum)
    });
    let probabilities = probabilities.collect();
    let kernel = Gaussian::new(0.7).unwrap();
    let of = |i: usize| &embeddings[i * DIM..(i + 1) * DIM];
    let matrix = (0..all).flat_map(|i| (0..all).map(move |j| (i, j))).map(|(i, j)| 2.0 * kernel.eval(of(i), of(j)));
    let matrix = matrix.collect();
    Data { rows, embeddings, probabilities, numbers: Precomputed::points(0..all), matrix }
}

impl Data {
    /// Calls `f` with a task for each kernel.
    fn tasks(&self, mut f: impl FnMut(&str, Task<'_>)) {
        let given = Embeddings::new(&self.matrix[..], self.numbers.len()).unwrap();
        let scales: Vec<f64> = (0..CLASSES * DIM).map(|i| (0.1 + i as f64).recip()).collect();
        let kernels: [(&str, &dyn Kernel); 8] = [
            ("gaussian", &Gaussian::new(0.8).unwrap()),
            ("smooth gaussian", &Gaussian::new(6.0).unwrap()),
            ("laplace", &Laplace::new(1.5).unwrap()),
            ("matern 1/2", &Matern::new(0.5, 1.0).unwrap()),
            ("matern 3/2", &Matern::new(1.5, 0.8).unwrap()),
            ("precomputed", &Precomputed::new(given).unwrap()),
            ("loss gradient", &Product::new(CLASSES, true)),
            ("scaled gradient", &Scaled::new(CLASSES, &scales).unwrap()),
        ];
        for (name, kernel) in kernels {
            let (pool, targets) = match name {
                "precomputed" => {
                    let (pool, targets) = self.numbers.split_at(self.rows);
                    (points(pool, 1), points(targets, 1))
                }
                "loss gradient" | "scaled gradient" => {
                    (self.gradients(0..self.rows), self.gradients(self.rows..self.numbers.len()))
                }
                _ => {
                    let (pool, targets) = self.embeddings.split_at(self.rows * DIM);
                    (points(pool, DIM), points(targets, DIM))
                }
            };
            f(name, Task::new(pool, targets).kernel(kernel));
        }
    }

    fn gradients(&self, range: std::ops::Range<usize>) -> Points<'_> {
        let part = |values, width: usize| Embeddings::new(values, width).unwrap();
        let embeddings = part(&self.embeddings[range.start * DIM..range.end * DIM], DIM);
        let probabilities = part(&self.probabilities[range.start * CLASSES..range.end * CLASSES], CLASSES);
        Points::loss_gradient(embeddings, probabilities).unwrap()
    }
}

#[test]
fn the_same_picks_in_fewer_passes_for_every_kernel_and_rule() {
    let data = data(&mut rng(1), 1500, 7);
    data.tasks(|kernel, task| {
        for rule in RULES {
            for noise in [1e-4, 1e-2, 1.0] {
                let noise = Noise::Relative(noise);
                let plan = Plan::default().strategy(rule.parse().unwrap()).count(70).noise(noise);
                let (plain, ahead) = both(&task, &plan);
                let what = format!("{kernel}, {rule}, {noise:?}");
                assert_same(&plain, &ahead, &what);
                assert!(2 * ahead.passes < plain.passes, "{what}: {} passes, plain {}", ahead.passes, plain.passes);
            }
        }
    });
}

#[test]
fn labelled_and_forbidden_rows_rounds_and_samples_of_the_targets() {
    let data = data(&mut rng(2), 700, 9);
    let (seen, forbidden) = ([3, 10, 400, 401], [20, 21, 22]);
    data.tasks(|kernel, task| {
        let others = task.targets.unwrap();
        let task = task.observed_rows(&seen).observed_points(others).forbidden(&forbidden);
        for rule in RULES {
            for (picks_per_round, target_sampling) in [
                (None, TargetSampling::Size(3)),
                (Some(1), TargetSampling::All),
                (Some(7), TargetSampling::All),
                (Some(10), TargetSampling::Fraction(0.5)),
                (Some(16), TargetSampling::MaxDet(4)),
            ] {
                let plan = Plan::default().strategy(rule.parse().unwrap()).count(33);
                let plan = plan.picks_per_round(picks_per_round).target_sampling(target_sampling).seed(5);
                let (plain, ahead) = both(&task, &plan);
                assert_same(&plain, &ahead, &format!("{kernel}, {rule}, {plan:?}"));
                assert!(ahead.rows().iter().all(|row| !seen.contains(row) && !forbidden.contains(row)));
            }
        }
    });
}

#[test]
fn every_row_of_the_pool() {
    for rows in [1, 3, 40, 257] {
        let data = data(&mut rng(rows as u64), rows, 4);
        data.tasks(|kernel, task| {
            for rule in RULES {
                let plan = Plan::default().strategy(rule.parse().unwrap()).count(rows).noise(Noise::Std(0.1));
                let (mut plain, mut ahead) = both(&task, &plan);
                assert_eq!((plain.picks.len(), ahead.picks.len()), (rows, rows));
                // Once the targets are known, the scores are only rounding.
                let telling = plain.picks.iter().take_while(|pick| pick.score > 1e-7).count();
                plain.picks.truncate(telling);
                ahead.picks.truncate(telling);
                assert_same(&plain, &ahead, &format!("{kernel}, {rule}, {rows} rows"));
            }
        });
    }
}

proptest! {
    #![proptest_config(crate::oracle::cases(24))]

    #[test]
    fn random_inputs(
        seed in any::<u64>(), rows in 1usize..700, targets in 1usize..40, share in 0.0f64..0.4, noise_ln in -4.0f64..0.5,
        rule in prop::sample::select(&RULES[..]), sizes in prop::option::of(1usize..60),
    ) {
        let data = data(&mut rng(seed), rows, targets);
        let (count, noise) = (1 + (share * rows as f64) as usize, Noise::Relative(10f64.powf(noise_ln)));
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(count.min(rows)).noise(noise).picks_per_round(sizes);
        data.tasks(|kernel, task| {
            let (plain, ahead) = both(&task, &plan);
            assert_same(&plain, &ahead, &format!("{kernel}, {plan:?}, {rows} rows, {targets} targets, seed {seed}"));
        });
    }
}

/// Under a kernel that distinguishes all rows, all remaining rows tie at every pick of a rule about variance.
#[test]
fn rows_that_tie_go_by_their_numbers() {
    let rows: Vec<f64> = (0..3000).map(f64::from).collect();
    let kernel = Gaussian::new(0.01).unwrap();
    let task = Task::undirected(points(&rows, 1)).kernel(&kernel);
    for rule in ["undirected-itl", "uncertainty"] {
        let plan = Plan::default().strategy(rule.parse().unwrap()).count(100).engine(Engine::Speculative);
        assert_eq!(run(&task, &plan).rows(), (0..100).collect::<Vec<_>>(), "{rule}");
    }
}

/// Copies of one row are at every position of a block, in full blocks and in the last one.
#[test]
fn few_distinct_rows_many_times() {
    let mut rng = rng(8);
    let distinct: Vec<f64> = clustered(&mut rng, 60, DIM, 60).into_iter().map(f64::from).collect();
    let pool: Vec<f64> = (0..1700).flat_map(|i| distinct[(i * 7919) % 60 * DIM..][..DIM].to_vec()).collect();
    let targets: Vec<f64> = clustered(&mut rng, 8, DIM, 4).into_iter().map(f64::from).collect();
    let kernels: [&dyn Kernel; 3] =
        [&Gaussian::new(0.9).unwrap(), &Matern::new(0.5, 1.0).unwrap(), &Product::new(4, true)];
    for (at, kernel) in kernels.into_iter().enumerate() {
        let task = Task::new(points(&pool, DIM), points(&targets, DIM)).kernel(kernel);
        for rule in RULES {
            for noise in [1e-4, 1e-2] {
                let noise = Noise::Relative(noise);
                let plan = Plan::default().strategy(rule.parse().unwrap()).count(100).noise(noise);
                let (plain, ahead) = both(&task, &plan);
                assert_eq!(plain.rows(), ahead.rows(), "kernel {at}, {rule}, {noise:?}");
            }
        }
    }
}

#[test]
fn threads_change_nothing() {
    let data = data(&mut rng(4), 2000, 5);
    data.tasks(|kernel, task| {
        for rule in RULES {
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(40).engine(Engine::Speculative);
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| run(&task, &plan))
            };
            assert_eq!(on(1), on(3), "{kernel}, {rule}");
        }
    });
}

/// The plain engine handles noise per row, quotas, costs, repetition and almost no noise.
#[test]
fn what_drafts_cannot_do_is_left_to_the_plain_engine() {
    let mut rng = rng(5);
    let data = data(&mut rng, 600, 5);
    let noise_vars: Vec<f64> = (0..600).map(|_| rng.random_range(0.01..0.2)).collect();
    let groups: Vec<usize> = (0..600).map(|row| row % 3).collect();
    data.tasks(|kernel, task| {
        for rule in RULES {
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(25);
            let cases = [
                (task.noise_vars(&noise_vars), plan.clone()),
                (task.costs(&noise_vars), plan.clone().budget(2.0)),
                (task.groups(&groups), plan.clone().quotas(vec![5, 7])),
                (task, plan.clone().repeat(true)),
                (task, plan.clone().noise(Noise::Relative(1e-9))),
            ];
            for (task, plan) in cases {
                let (plain, ahead) = both(&task, &plan);
                assert_eq!(plain, ahead, "{kernel}, {rule}, {plan:?}");
            }
        }
    });
}
