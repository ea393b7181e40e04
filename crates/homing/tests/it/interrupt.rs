//! Interrupted work ends in the middle of a pass and leaves nothing behind.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use homing::{
    Embeddings, Engine, Error, Greedy, Interrupt, Kernel, Linear, Plan, STRATEGIES, Strategy, Task, explain, select,
    select_with,
};

/// The linear kernel, which sets an interrupt after a number of variances.
struct Trip<'a> {
    interrupt: &'a Interrupt,
    left: AtomicUsize,
}

impl Kernel for Trip<'_> {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        Linear.eval(x, other)
    }

    fn var(&self, x: &[f64]) -> f64 {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.interrupt.set();
        }
        Linear.var(x)
    }

    fn is_linear(&self) -> bool {
        true
    }
}

fn numbers(rows: usize) -> Vec<f32> {
    (0..rows * 4).map(|i| (i as f32 * 0.37).sin()).collect()
}

#[test]
fn a_pass_ends_where_it_is() {
    let pool = numbers(50_000);
    let interrupt = Interrupt::default();
    let kernel = Trip { interrupt: &interrupt, left: AtomicUsize::new(1000) };
    let view = Embeddings::new(&pool[..], 4).unwrap();
    let task = Task::new(view.watching(&interrupt), view).kernel(&kernel);
    let plan = Plan::default().count(5);
    let found = interrupt.guard(|| select_with(&task, &plan, |_| panic!("no pick is made in the first pass")));
    assert_eq!(found, Err(Error::Interrupted));
    // Blocks that were in progress were finished, and the others were not started.
    let read = 1000usize.wrapping_sub(kernel.left.load(Ordering::Relaxed));
    assert!(read < 50_000, "{read} rows were read");
}

#[test]
fn every_engine_and_explain_end() {
    let pool = numbers(3000);
    let view = Embeddings::new(&pool[..], 4).unwrap();
    for (engine, greedy) in [
        (Engine::Plain, Greedy::Exact),
        (Engine::Speculative, Greedy::Exact),
        (Engine::Auto, Greedy::Stochastic { epsilon: 0.1 }),
        (Engine::Auto, Greedy::Partitioned { parts: 3 }),
    ] {
        let interrupt = Interrupt::default();
        let targets = Embeddings::new(&pool[..40], 4).unwrap();
        let task = Task::new(view.watching(&interrupt), targets);
        let plan = Plan::default().count(20).engine(engine).greedy(greedy);
        let whole = interrupt.guard(|| select(&task, &plan)).unwrap();
        assert_eq!(whole.picks.len(), 20);
        let mut picks = 0;
        let cut = interrupt.guard(|| {
            select_with(&task, &plan, |_| {
                picks += 1;
                interrupt.set();
                ControlFlow::Continue(())
            })
        });
        // Partitioned greedy reports its picks after all work is done.
        match greedy {
            Greedy::Partitioned { .. } => assert_eq!(cut, Ok(whole.clone())),
            _ => assert_eq!((cut, picks), (Err(Error::Interrupted), 1), "{engine:?} {greedy:?}"),
        }
        assert_eq!(interrupt.guard(|| explain(&task, &whole)), Err(Error::Interrupted));
    }
}

#[test]
fn other_panics_stay_panics() {
    let panic = std::panic::catch_unwind(|| Interrupt::default().guard(|| -> homing::Result<()> { panic!("a bug") }));
    assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "a bug");
}

#[test]
fn calls_that_continue_one_another_are_one_call() {
    let (pool, probabilities) = (numbers(1500), vec![0.5f32; 3000]);
    let view = Embeddings::new(&pool[..], 4).unwrap();
    let targets = Embeddings::new(&pool[400..480], 4).unwrap();
    let task = Task::new(view, targets).probabilities(Embeddings::new(&probabilities[..], 2).unwrap());
    for strategy in STRATEGIES.iter().map(Strategy::from) {
        let target_sampling = homing::TargetSampling::Size(5);
        let plan =
            Plan::default().strategy(strategy).count(9).picks_per_round(3).target_sampling(target_sampling).seed(7);
        let whole = select(&task, &plan).unwrap().rows();
        let mut made: Vec<usize> = Vec::new();
        for _ in 0..3 {
            let rest = task.observed_rows(&made);
            let plan = plan.clone().count(3).earlier_picks(made.len());
            let batch = select(&rest, &plan).unwrap().rows();
            made.extend(batch);
        }
        assert_eq!(made, whole, "{}", plan.strategy.name());
    }
}
