//! Few rows in very many dimensions are processed in the coordinates of their span, with the same results as in few
//! dimensions.

use homing::theory::{Constants, Model, boundary, capacity, exact_capacity, reach, submodularity_ratio};
use homing::{
    Embeddings, Greedy, Noise, Plan, Points, STRATEGIES, SpanCoordinates, Stop, Strategy, Task, explain,
    irreducible_vars, select, select_with,
};

use crate::oracle::{points, rng, run, uniform_rows, view};

/// Number of dimensions of the original rows.
const NARROW: usize = 24;

/// More dimensions than d × d matrices are allowed for.
const WIDE: usize = 9000;

/// Returns the same rows in many dimensions: padded with zeros, then reflected, so no dimension stays zero.
fn widened(rows: &[f64]) -> Vec<f64> {
    let mirror: Vec<f64> = (0..WIDE).map(|i| (i as f64 * 0.7).sin()).collect();
    let length: f64 = mirror.iter().map(|v| v * v).sum();
    let one = |x: &[f64]| {
        let along: f64 = x.iter().zip(&mirror).map(|(x, v)| x * v).sum();
        let whole = x.iter().copied().chain(std::iter::repeat(0.0));
        whole.zip(mirror.clone()).map(move |(x, v)| x - 2.0 * along / length * v).collect::<Vec<_>>()
    };
    rows.chunks_exact(NARROW).flat_map(one).collect()
}

struct Data {
    pool: Vec<f64>,
    targets: Vec<f64>,
    observed: Vec<f64>,
    probabilities: Vec<f64>,
    dim: usize,
}

impl Data {
    /// Creates rows that span fewer dimensions than they have, including a copy and a zero row.
    fn new(rows: usize) -> Self {
        let mut rng = rng(21);
        let mut pool = uniform_rows(&mut rng, rows, NARROW);
        pool.iter_mut().for_each(|x| x[NARROW - 4..].fill(0.0));
        let copy = pool[2].clone();
        pool[5] = copy;
        pool[7].fill(0.0);
        let [targets, observed] = [5, 2].map(|count| view(&uniform_rows(&mut rng, count, NARROW)));
        let probabilities = (0..rows).flat_map(|i| [0.01 * (i % 90) as f64, 1.0 - 0.01 * (i % 90) as f64]).collect();
        Self { pool: view(&pool), targets, observed, probabilities, dim: NARROW }
    }

    fn widened(&self) -> Self {
        let [pool, targets, observed] = [&self.pool, &self.targets, &self.observed].map(|rows| widened(rows));
        Self { pool, targets, observed, probabilities: self.probabilities.clone(), dim: WIDE }
    }

    fn task(&self) -> Task<'_> {
        Task::new(points(&self.pool, self.dim), points(&self.targets, self.dim))
            .observed_points(points(&self.observed, self.dim))
            .probabilities(Embeddings::new(&self.probabilities[..], 2).unwrap())
            .observed_rows(&[3])
    }
}

fn assert_close(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() < 1e-9 * (1.0 + want.abs()), "{what}: {got} {want}");
    }
}

#[test]
fn every_rule_picks_in_many_dimensions_what_it_picks_in_few() {
    let narrow = Data::new(40);
    let wide = narrow.widened();
    for strategy in STRATEGIES.iter().map(Strategy::from) {
        for greedy in [Greedy::Exact, Greedy::Stochastic { epsilon: 0.3 }, Greedy::Partitioned { parts: 2 }] {
            let stop = Stop { reduced_share: Some(1.0), ..Stop::default() };
            let plan =
                Plan::default().strategy(strategy.clone()).count(12).noise(Noise::Std(0.7)).greedy(greedy).stop(stop);
            // Loss gradients have no observed points, and parts have no probabilities.
            let of = |data: &Data| {
                let whole = data.task();
                let observed_points = whole.observed_points.filter(|_| !strategy.makes_loss_gradients());
                let probabilities = whole.probabilities.filter(|_| strategy.needs_probabilities());
                select_with(&whole.observed_points(observed_points).probabilities(probabilities), &plan, |_| {
                    std::ops::ControlFlow::Continue(())
                })
            };
            let (want, got) = match (of(&narrow), of(&wide)) {
                (Ok(want), Ok(got)) => (want, got),
                (want, got) => {
                    assert_eq!(want, got, "refused alike: {strategy:?} {greedy:?}");
                    continue;
                }
            };
            assert_eq!(got.rows(), want.rows(), "{strategy:?} {greedy:?}");
            assert_eq!(got.end_reason, want.end_reason);
            let scores = |found: &homing::Selection| found.picks.iter().map(|pick| pick.score).collect::<Vec<_>>();
            assert_close(&scores(&got), &scores(&want), strategy.name());
            let (explained, expected) = (explain(&wide.task(), &got).unwrap(), explain(&narrow.task(), &want).unwrap());
            let left = |found: &homing::Explanation| found.targets.iter().map(|target| target.var).collect::<Vec<_>>();
            assert_close(&left(&explained), &left(&expected), strategy.name());
        }
    }
}

#[test]
fn the_theory_has_the_same_numbers_in_many_dimensions() {
    let narrow = Data::new(40);
    let wide = narrow.widened();
    let noise = Noise::Std(0.4);
    let want = Model::new(narrow.task(), noise).unwrap();
    let span = SpanCoordinates::of(&wide.task()).unwrap().expect("there are few points in many dimensions");
    assert!(SpanCoordinates::of(&narrow.task()).unwrap().is_none());
    // With and without coordinates; in both cases no matrix is larger than rows × dimensions.
    for task in [wide.task(), span.task(&wide.task())] {
        let got = Model::new(task, noise).unwrap();
        assert_close(&got.target_vars(), &want.target_vars(), "variances");
        assert_close(&got.gains(), &want.gains(), "gains");
        let (a, b) = (reach(&got).unwrap(), reach(&want).unwrap());
        assert_close(&a.irreducible, &b.irreducible, "irreducible");
        assert_close(&a.labelled, &b.labelled, "labelled");
        assert_eq!((a.irreducible_rows, a.labelled_rows), (b.irreducible_rows, b.labelled_rows));
        let (a, b) = (capacity(&got, 12).unwrap(), capacity(&want, 12).unwrap());
        assert_close(&[a.lower], &[b.lower], "capacity");
        let picks = [1, 9, 17, 30];
        let (a, b) = (submodularity_ratio(&got, &picks, 0).unwrap(), submodularity_ratio(&want, &picks, 0).unwrap());
        assert_close(&[a.lower, a.upper], &[b.lower, b.upper], "ratio");
        let (a, b) = (boundary(&got, 1, 0.3, 6).unwrap(), boundary(&want, 1, 0.3, 6).unwrap());
        assert_eq!(a.rows, b.rows);
        let (a, b) = (Constants::of(&got), Constants::of(&want));
        assert_close(&[a.max_var, a.max_total_var], &[b.max_var, b.max_total_var], "constants");
        // 40 rows are linearly dependent in few dimensions, and also in many, because two are equal.
        assert_eq!((a.least_eigenvalue, b.least_eigenvalue), (Some(0.0), Some(0.0)));
    }
    let of = |data: &Data| irreducible_vars(data.task().pool, data.task().targets.unwrap(), &homing::Linear).unwrap();
    assert_close(&of(&wide), &of(&narrow), "irreducible without observations");
}

#[test]
fn the_least_eigenvalue_in_many_dimensions() {
    // Three rows along axes, of lengths 1, 2 and 3.
    let mut pool = vec![0.0; 3 * WIDE];
    for i in 0..3 {
        pool[i * WIDE + 4000 * i] = 1.0 + i as f64;
    }
    let target = vec![1.0; WIDE];
    let model = Model::new(Task::new(points(&pool, WIDE), points(&target, WIDE)), Noise::Std(0.1)).unwrap();
    let least = Constants::of(&model).least_eigenvalue.unwrap();
    assert!((least - 1.0).abs() < 1e-12, "{least}");
}

/// With more rows than are processed together, the remaining variance of a target can only be overestimated.
#[test]
fn of_many_rows_in_many_dimensions_the_most_correlated_bound_the_variance() {
    let mut rng = rng(22);
    let rows = 600;
    let pool: Vec<f32> = uniform_rows(&mut rng, rows, 8).concat().iter().map(|&x| x as f32).collect();
    let mut wide = vec![0.0f32; rows * WIDE];
    for (from, to) in pool.chunks_exact(8).zip(wide.chunks_exact_mut(WIDE)) {
        to[100..108].copy_from_slice(from);
    }
    let mut targets = vec![0.0; 300 * WIDE];
    for (i, target) in targets.chunks_exact_mut(WIDE).enumerate() {
        target[100 + i % 8] = 1.0;
        target[0] = 0.5;
    }
    let pool: Points<'_> = Embeddings::new(&wide[..], WIDE).unwrap().into();
    let model = Model::new(Task::new(pool, points(&targets, WIDE)), Noise::Std(0.5)).unwrap();
    let found = reach(&model).unwrap();
    assert_eq!((found.irreducible.len(), found.irreducible_rows, found.labelled_rows), (300, 512, 512));
    for (irreducible, labelled) in found.irreducible.iter().zip(&found.labelled) {
        // The rows span their eight dimensions, and the other dimension is out of reach.
        assert!((irreducible - 0.25).abs() < 1e-12, "{irreducible}");
        // Each of about 500 rows has a third of a label's precision along an axis.
        assert!((0.251..0.256).contains(labelled), "{labelled}");
    }
}

/// Every row is a set of its own, and a hundred thousand of them need no matrix over the pool.
#[test]
fn one_pick_of_a_large_pool_takes_no_matrix_over_the_pool() {
    let rows = 100_000;
    let pool: Vec<f32> = (0..rows * 2).map(|i| ((i * i % 10_007) as f32 * 0.01).sin()).collect();
    let target = [1.0, 0.5];
    let task = Task::new(Embeddings::new(&pool[..], 2).unwrap(), points(&target, 2));
    let model = Model::new(task, Noise::Std(0.5)).unwrap();
    let most = pool.chunks_exact(2).map(|x| f64::from(x[0]).powi(2) + f64::from(x[1]).powi(2)).fold(0.0, f64::max);
    let want = 0.5 * (most / 0.25).ln_1p();
    let found = capacity(&model, 1).unwrap();
    assert!(found.is_exact() && (found.lower - want).abs() < 1e-12, "{found:?} {want}");
    assert_eq!(exact_capacity(&model, 1, true).unwrap(), found.lower);
    let ratio = submodularity_ratio(&model, &[7], 0).unwrap();
    assert_eq!((ratio.lower, ratio.upper), (1.0, 1.0));
    // For a small pool, by the definition.
    let few = Task::new(Embeddings::new(&pool[..60], 2).unwrap(), points(&target, 2));
    let few = Model::new(few, Noise::Std(0.5)).unwrap();
    assert!(capacity(&few, 2).unwrap().lower >= capacity(&few, 1).unwrap().lower);
}

#[test]
fn coordinates_do_not_depend_on_threads() {
    let wide = Data::new(60).widened();
    let plan = Plan::default().count(20);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&wide.task(), &plan))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn a_bad_number_in_many_dimensions_is_named_by_its_row() {
    let mut wide = Data::new(20).widened();
    wide.pool[11 * WIDE + 8500] = f64::NAN;
    let error = select(&wide.task(), &Plan::default()).unwrap_err();
    assert_eq!(error, homing::Error::NotFinite { what: "pool", row: 11 });
    let selection = run(&Data::new(20).task(), &Plan::default());
    assert_eq!(explain(&wide.task(), &selection), Err(error));
}
