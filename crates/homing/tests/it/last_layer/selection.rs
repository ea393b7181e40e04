//! Selections under Σ.

use homing::{Kernel, Noise, Plan, Task};

use super::network::{ALL, Network, form, inverse};
use crate::engines::{RULES, assert_same, both};
use crate::oracle::{Matrix, Oracle, assert_greedy, points, run};

/// The kernel φᵀΣφ′ with a dense Σ.
struct Dense(Matrix);

impl Kernel for Dense {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        form(x, &self.0, other)
    }
}

#[test]
fn picks_are_those_of_the_dense_kernel() {
    let (labelled, pool, targets) =
        (Network::new(1, (10, 4, 3), true), Network::new(2, (280, 4, 3), true), Network::new(3, (4, 4, 3), true));
    for approximation in ALL {
        let sigma = super::covariance(&labelled, approximation, 0.3);
        let kernel = Dense(inverse(&labelled.precision(approximation, 0.3)));
        let placed = |of: &Network| sigma.loss_gradients(of.hidden(), of.probabilities()).unwrap();
        let (s, a) = (placed(&pool), placed(&targets));
        let task = Task::new(points(&s, sigma.width()), points(&a, sigma.width())).kernel(sigma.kernel());
        for rule in RULES {
            println!("{approximation:?} {rule}");
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(8).noise(Noise::Std(0.2));
            let oracle = Oracle::new(&kernel, &pool.gradients(), &targets.gradients(), &[], 0.04);
            assert_greedy(rule, oracle, &run(&task, &plan), 1e-8);
        }
    }
}

#[test]
fn many_picks_per_pass_are_the_picks_of_one_pass_per_pick() {
    let shape = |count: usize| (count, 16, 12);
    let (labelled, pool, targets) =
        (Network::new(4, shape(9), true), Network::new(5, shape(900), true), Network::new(6, shape(6), true));
    for approximation in ALL {
        let sigma = super::covariance(&labelled, approximation, 0.1);
        let placed = |of: &Network| sigma.loss_gradients(of.hidden(), of.probabilities()).unwrap();
        let (s, a) = (placed(&pool), placed(&targets));
        let task = Task::new(points(&s, sigma.width()), points(&a, sigma.width())).kernel(sigma.kernel());
        for rule in RULES {
            let plan = Plan::default().strategy(rule.parse().unwrap()).count(40);
            let (plain, ahead) = both(&task, &plan);
            assert_same(&plain, &ahead, &format!("{approximation:?}, {rule}"));
        }
    }
}
