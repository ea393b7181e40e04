//! Rows that are read on demand: the same results as for rows in memory, and an error after a failed read.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

use homing::{
    Embeddings, Engine, Error, Gaussian, Greedy, Kernel, Linear, Plan, Points, Precomputed, Product, Projection,
    RowSource, STRATEGIES, Selection, Stop, StoredValues, Strategy, Task, closest_pick, explain, fold_covariance,
    irreducible_vars, select, select_with,
};

use crate::oracle::{rng, run, uniform_rows, view};

const DIM: usize = 6;
const CLASSES: usize = 3;
const ROWS: usize = 700;

/// Numbers that are read a range at a time, at most a given number of times.
#[derive(Debug)]
struct Far {
    values: Vec<f64>,
    single: bool,
    reads: AtomicUsize,
    announced: AtomicUsize,
    most_reads: usize,
}

impl Far {
    fn new(values: &[f64], single: bool) -> Self {
        let (reads, announced) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { values: values.to_vec(), single, reads, announced, most_reads: usize::MAX }
    }

    fn embeddings(&self, dim: usize) -> Embeddings<'_> {
        Embeddings::new(self as &dyn RowSource, dim).unwrap()
    }

    fn take(&self, start: usize, len: usize) -> Vec<f64> {
        let earlier = self.reads.fetch_add(1, Ordering::Relaxed);
        if earlier < self.most_reads { self.values[start..start + len].to_vec() } else { vec![0.0; len] }
    }
}

impl RowSource for Far {
    fn count(&self) -> usize {
        self.values.len()
    }

    fn fits_f32(&self) -> bool {
        self.single
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        out.copy_from_slice(&self.take(start, out.len()));
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        let numbers = self.take(start, out.len());
        out.iter_mut().zip(numbers).for_each(|(out, x)| *out = x as f32);
    }

    fn announce(&self, _: Range<usize>) {
        self.announced.fetch_add(1, Ordering::Relaxed);
    }

    fn failure(&self) -> Option<String> {
        (self.reads.load(Ordering::Relaxed) > self.most_reads).then(|| "the connection was lost; call again".to_owned())
    }
}

/// A pool, targets and probabilities, in memory and in a source.
struct Data {
    pool: Vec<f64>,
    singles: Option<Vec<f32>>,
    targets: Vec<f64>,
    probabilities: Vec<f64>,
    far_pool: Far,
    far_targets: Far,
    far_probabilities: Far,
}

impl Data {
    fn new(single: bool) -> Self {
        let mut rng = rng(42);
        let mut pool = view(&uniform_rows(&mut rng, ROWS, DIM));
        let singles = single.then(|| pool.iter().map(|&x| x as f32).collect::<Vec<_>>());
        if let Some(singles) = &singles {
            pool = singles.iter().map(|&x| f64::from(x)).collect();
        }
        let targets = view(&uniform_rows(&mut rng, 4, DIM));
        let probabilities: Vec<f64> = uniform_rows(&mut rng, ROWS, CLASSES)
            .into_iter()
            .flat_map(|logits| {
                let sum: f64 = logits.iter().map(|l| (3.0 * l).exp()).sum();
                logits.into_iter().map(move |l| (3.0 * l).exp() / sum)
            })
            .collect();
        let far_pool = Far::new(&pool, single);
        let (far_targets, far_probabilities) = (Far::new(&targets, false), Far::new(&probabilities, false));
        Self { pool, singles, targets, probabilities, far_pool, far_targets, far_probabilities }
    }

    fn pool(&self) -> Embeddings<'_> {
        let values = self.singles.as_ref().map_or(StoredValues::F64(&self.pool), |singles| StoredValues::F32(singles));
        Embeddings::new(values, DIM).unwrap()
    }

    fn near(&self) -> Task<'_> {
        let targets = Embeddings::new(&self.targets[..], DIM).unwrap();
        let probabilities = Embeddings::new(&self.probabilities[..], CLASSES).unwrap();
        Task::new(self.pool(), targets).probabilities(probabilities)
    }

    fn far(&self) -> Task<'_> {
        let probabilities = self.far_probabilities.embeddings(CLASSES);
        let targets = self.far_targets.embeddings(DIM);
        Task::new(self.far_pool.embeddings(DIM), targets).probabilities(probabilities)
    }
}

fn identity(size: usize) -> Vec<f64> {
    (0..size * size).map(|i| f64::from(u8::from(i % (size + 1) == 0))).collect()
}

fn plan(strategy: Strategy, engine: Engine) -> Plan {
    Plan::default().strategy(strategy).engine(engine).count(12).seed(5)
}

#[test]
fn every_rule_picks_the_same_rows_with_the_same_numbers() {
    for single in [false, true] {
        let data = Data::new(single);
        for strategy in STRATEGIES.iter().map(Strategy::from) {
            for engine in [Engine::Plain, Engine::Speculative] {
                let plan = plan(strategy.clone(), engine);
                assert_eq!(run(&data.near(), &plan), run(&data.far(), &plan), "{strategy:?} {engine:?}");
            }
        }
    }
}

#[test]
fn kernels_centres_observed_rows_and_stops_see_the_same_numbers() {
    let data = Data::new(true);
    let mean = data.pool().mean();
    assert_eq!(mean, data.far_pool.embeddings(DIM).mean());
    let gaussian = Gaussian::new(1.0).unwrap();
    let centred = |task: Task<'_>| -> Selection {
        let pool = task.pool.embeddings().centered(&mean);
        run(&task.pool(pool), &plan("itl".parse().unwrap(), Engine::Speculative))
    };
    assert_eq!(centred(data.near()), centred(data.far()));
    let observed = |task: Task<'_>| -> Selection {
        let task = task.kernel(&gaussian).observed_rows(&[7, 8, 9, 300]).observed_points(task.targets);
        run(&task, &plan("itl".parse().unwrap(), Engine::Auto))
    };
    assert_eq!(observed(data.near()), observed(data.far()));
    let stopped = |task: Task<'_>| -> Selection {
        let stop = Stop { min_gain: Some(1e-9), reduced_share: Some(0.9) };
        run(&task, &plan("vtl".parse().unwrap(), Engine::Auto).stop(stop))
    };
    assert_eq!(stopped(data.near()), stopped(data.far()));
    let product = Product::new(CLASSES, true);
    let gradients = |task: Task<'_>| -> Selection {
        let pool = Points::loss_gradient(task.pool.embeddings(), task.probabilities.unwrap()).unwrap();
        let task = Task::undirected(pool).kernel(&product).targets(None);
        run(&task, &plan("undirected-itl".parse().unwrap(), Engine::Auto))
    };
    assert_eq!(gradients(data.near()), gradients(data.far()));
}

#[test]
fn every_statement_about_a_selection_is_the_same() {
    let data = Data::new(true);
    let (near, far) = (data.near(), data.far());
    let selection = run(&near, &plan("itl".parse().unwrap(), Engine::Auto));
    assert_eq!(explain(&near, &selection), explain(&far, &selection));
    assert_eq!(closest_pick(&near, &selection, 3), closest_pick(&far, &selection, 3));
    let irreducible = |task: &Task<'_>| irreducible_vars(task.pool, task.targets.unwrap(), &Linear).unwrap();
    assert_eq!(irreducible(&near), irreducible(&far));
    let map = |task: &Task<'_>| Projection::new(task.pool.embeddings()).apply(&task.pool.row(1));
    assert_eq!(map(&near), map(&far));
    let folded = |task: &Task<'_>| fold_covariance(task.pool.embeddings(), &identity(DIM)).unwrap();
    assert_eq!(folded(&near), folded(&far));
    assert_eq!(near.pool.embeddings().entry(600, 4), far.pool.embeddings().entry(600, 4));
    assert!(near.check_read().is_ok() && far.check_read().is_ok());
}

#[test]
fn a_block_is_one_read_and_rows_apart_are_announced() {
    let data = Data::new(true);
    let pool = data.far_pool.embeddings(DIM);
    let reads_of = |work: &dyn Fn()| {
        data.far_pool.reads.store(0, Ordering::Relaxed);
        data.far_pool.announced.store(0, Ordering::Relaxed);
        work();
        (data.far_pool.reads.load(Ordering::Relaxed), data.far_pool.announced.load(Ordering::Relaxed))
    };
    assert_eq!(reads_of(&|| pool.check_finite("pool").unwrap()), (3, 0), "700 rows in blocks of 256");
    assert_eq!(reads_of(&|| assert_eq!(Points::from(pool).gather(&[9, 3, 4, 5, 600]).len(), 5 * DIM)), (3, 3));
    assert_eq!(reads_of(&|| assert_eq!(Points::from(pool).gather(&[3, 4, 5]).len(), 3 * DIM)), (1, 0));
    assert_eq!(reads_of(&|| assert_eq!(pool.row(699), data.pool().row(699))), (1, 0));
    let gradients = Points::loss_gradient(pool, data.far_probabilities.embeddings(CLASSES)).unwrap();
    assert_eq!(reads_of(&|| gradients.read(0..256, &mut vec![0.0; 256 * (DIM + CLASSES)])), (1, 0));
}

/// Returns plans that read only parts of the pool.
fn partial(data: &Data) -> [(Plan, Task<'_>, Task<'_>); 2] {
    let plan = plan("itl".parse().unwrap(), Engine::Auto);
    let (near, far) = (data.near(), data.far());
    [Greedy::Stochastic { epsilon: 0.1 }, Greedy::Partitioned { parts: 3 }]
        .map(|greedy| (plan.clone().greedy(greedy), near.probabilities(None), far.probabilities(None)))
}

#[test]
fn samples_and_parts_of_the_pool_are_the_same() {
    for single in [false, true] {
        let data = Data::new(single);
        for (plan, near, far) in partial(&data) {
            assert_eq!(run(&near, &plan), run(&far, &plan), "{:?}", plan.greedy);
        }
    }
}

/// Returns the error of a selection whose pool fails after a number of reads, after checking that all reported picks are
/// correct.
fn failure(plan: &Plan, most_reads: usize, right: &Selection) -> Error {
    let mut data = Data::new(true);
    data.far_pool.most_reads = most_reads;
    let mut reported = Vec::new();
    let task = data.far();
    let probabilities = task.probabilities.filter(|_| plan.greedy == Greedy::Exact);
    let outcome = select_with(&task.probabilities(probabilities), plan, |progress| {
        reported.push(*progress.pick);
        ControlFlow::Continue(())
    });
    assert_eq!(reported[..], right.picks[..reported.len()], "{plan:?} {most_reads}");
    outcome.unwrap_err()
}

#[test]
fn a_read_that_fails_at_any_time_is_the_error_of_the_selection() {
    let rules = ["itl", "vtl", "ctl", "undirected-itl", "max-dist", "k-means++", "badge", "cosine", "random"];
    let engines = [Engine::Plain, Engine::Speculative];
    let exact = rules.iter().flat_map(|rule| engines.map(|engine| plan(rule.parse().unwrap(), engine)));
    let exact = exact.map(|plan| {
        let data = Data::new(true);
        let right = run(&data.far(), &plan);
        (plan, right, data.far_pool.reads.into_inner())
    });
    let partial = (0..2).map(|i| {
        let data = Data::new(true);
        let (plan, _, far) = partial(&data)[i].clone();
        let right = run(&far, &plan);
        (plan, right, data.far_pool.reads.load(Ordering::Relaxed))
    });
    for (plan, right, reads) in exact.chain(partial) {
        for most_reads in [0, 1, reads / 4, reads / 2, reads - 2, reads - 1] {
            let want = Error::Unreadable("the connection was lost; call again".to_owned());
            assert_eq!(failure(&plan, most_reads, &right), want, "{plan:?}: {most_reads} of {reads} reads");
        }
    }
}

#[test]
fn a_failed_read_of_any_other_input_is_an_error() {
    let failing = |values: &[f64]| Far { most_reads: 0, ..Far::new(values, false) };
    let data = Data::new(false);
    let itl = plan("itl".parse().unwrap(), Engine::Auto);
    let refused = |outcome: Result<(), Error>| matches!(outcome, Err(Error::Unreadable(_)));
    let outcome_of = |task: &Task<'_>| select(task, &itl).map(|_| ());

    let targets = failing(&data.targets);
    let targets = Some(Points::from(targets.embeddings(DIM)));
    assert!(refused(outcome_of(&data.near().targets(targets))));
    let observed = failing(&data.targets);
    assert!(refused(outcome_of(&data.near().observed_points(Points::from(observed.embeddings(DIM))))));
    let probabilities = failing(&data.probabilities);
    let probabilities = Some(probabilities.embeddings(CLASSES));
    assert!(refused(outcome_of(&data.near().probabilities(probabilities))));

    let selection = run(&data.near(), &itl);
    let pool = failing(&data.pool);
    assert!(refused(explain(&data.near().pool(pool.embeddings(DIM)), &selection).map(|_| ())));
    let (pool, near) = (failing(&data.pool), data.near());
    let vars = irreducible_vars(pool.embeddings(DIM).into(), near.targets.unwrap(), &Linear);
    assert!(refused(vars.map(|_| ())));
    assert!(refused(fold_covariance(failing(&data.pool).embeddings(DIM), &identity(DIM)).map(|_| ())));

    let mut far = Far::new(&identity(ROWS), false);
    Precomputed::new(far.embeddings(ROWS)).unwrap();
    far.most_reads = far.reads.load(Ordering::Relaxed) + ROWS / 2;
    far.reads.store(0, Ordering::Relaxed);
    let kernel = Precomputed::new(far.embeddings(ROWS)).unwrap();
    let points = Precomputed::points(0..ROWS);
    let pool = Embeddings::new(&points[..], 1).unwrap();
    let task = Task::undirected(pool).kernel(&kernel as &dyn Kernel);
    let undirected = plan("undirected-itl".parse().unwrap(), Engine::Auto);
    assert!(refused(select(&task, &undirected).map(|_| ())));
}
