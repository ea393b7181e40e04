//! `nearest-each` picks the most similar row of each target in turn.

use homing::{Embeddings, Engine, Gaussian, Greedy, Kernel, Linear, Plan, Task};

use crate::engines::clustered;
use crate::oracle::{points, rng, run, uniform_rows, view};

/// Picks by definition: for each target in turn, the row with the largest cosine among those that are left.
fn naive(kernel: &dyn Kernel, pool: &[Vec<f64>], targets: &[Vec<f64>], closed: &[usize], count: usize) -> Vec<usize> {
    let cosine = |x: &[f64], a: &[f64]| kernel.eval(x, a) / (kernel.var(x) * kernel.var(a)).sqrt();
    let mut taken = closed.to_vec();
    for turn in 0..count {
        let target = &targets[turn % targets.len()];
        let open = (0..pool.len()).filter(|row| !taken.contains(row));
        let best = open.max_by(|&x, &y| cosine(&pool[x], target).total_cmp(&cosine(&pool[y], target)).then(y.cmp(&x)));
        taken.push(best.unwrap());
    }
    taken.split_off(closed.len())
}

fn plan(count: usize, engine: Engine) -> Plan {
    Plan::default().strategy("nearest-each".parse().unwrap()).count(count).engine(engine)
}

#[test]
fn the_nearest_row_of_each_target_in_turn_with_any_kernel_and_engine() {
    let (mut rng, dim) = (rng(1), 5);
    let (s, a) = (uniform_rows(&mut rng, 700, dim), uniform_rows(&mut rng, 7, dim));
    let (pool, targets) = (view(&s), view(&a));
    let closed = [3, 400, 699];
    for kernel in [&Linear as &dyn Kernel, &Gaussian::new(1.0).unwrap()] {
        let task = Task::new(points(&pool, dim), points(&targets, dim)).kernel(kernel);
        let task = task.forbidden(&closed[..2]).observed_rows(&closed[2..]);
        for count in [1, 5, 60, 697] {
            for engine in [Engine::Plain, Engine::Speculative] {
                let found = run(&task, &plan(count, engine)).rows();
                assert_eq!(found, naive(kernel, &s, &a, &closed, count), "{count} picks, {engine:?}");
            }
        }
    }
}

#[test]
fn targets_that_compete_for_the_same_rows_take_few_passes() {
    let (rows, dim) = (6000, 24);
    let data = clustered(&mut rng(2), rows + 40, dim, 12);
    let (pool, targets) = data.split_at(rows * dim);
    // Every target twice, so each takes the rows of its twin, and a block of copies that all are equally near.
    let mut pool = pool.to_vec();
    for row in 0..900 {
        pool.copy_within(5000 * dim..5001 * dim, row * 5 * dim);
    }
    let twice = [&targets[..10 * dim], &targets[..10 * dim], &pool[5000 * dim..5001 * dim]].concat();
    let task = Task::new(Embeddings::new(&pool, dim).unwrap(), Embeddings::new(&twice, dim).unwrap());
    let (plain, ahead) = (run(&task, &plan(150, Engine::Plain)), run(&task, &plan(150, Engine::Speculative)));
    assert_eq!(plain.rows(), ahead.rows());
    assert!(ahead.passes < 12 && plain.passes > 150, "{} passes, plain {}", ahead.passes, plain.passes);
}

#[test]
fn the_length_of_a_row_does_not_matter_to_its_turn() {
    let (mut rng, dim) = (rng(3), 6);
    let (s, a) = (uniform_rows(&mut rng, 200, dim), uniform_rows(&mut rng, 4, dim));
    let longer: Vec<f64> =
        s.iter().enumerate().flat_map(|(i, x)| x.iter().map(move |x| x * (1 + i % 7) as f64)).collect();
    let (pool, targets) = (view(&s), view(&a));
    let of = |pool: &[f64]| run(&Task::new(points(pool, dim), points(&targets, dim)), &plan(20, Engine::Plain)).rows();
    assert_eq!(of(&pool), of(&longer));
}

#[test]
fn quotas_rounds_and_earlier_picks_keep_the_turns() {
    let (mut rng, dim) = (rng(4), 4);
    let (s, a) = (uniform_rows(&mut rng, 90, dim), uniform_rows(&mut rng, 5, dim));
    let (pool, targets) = (view(&s), view(&a));
    let task = Task::new(points(&pool, dim), points(&targets, dim));
    let whole = run(&task, &plan(12, Engine::Auto)).rows();
    assert_eq!(run(&task, &plan(12, Engine::Auto).picks_per_round(4)).rows(), whole);
    let rest = run(&task.observed_rows(&whole[..7]), &plan(5, Engine::Auto).earlier_picks(7));
    assert_eq!(rest.rows(), whole[7..]);

    let groups: Vec<usize> = (0..90).map(|row| row % 3).collect();
    let limited = run(&task.groups(&groups), &plan(12, Engine::Speculative).quotas(vec![2, 100, 0])).rows();
    let of_group = |group: usize| limited.iter().filter(|&&row| groups[row] == group).count();
    assert_eq!((of_group(0), of_group(2)), (2, 0));
    let sampled = run(&task, &plan(12, Engine::Auto).greedy(Greedy::Stochastic { epsilon: 0.1 }));
    assert_eq!(sampled.picks.len(), 12);
}
