//! Random rules draw from the distribution that they claim.

use homing::{Plan, Task};

use crate::oracle::{points, run};

const DRAWS: u64 = 4000;

/// Returns whether a count out of `DRAWS` fits a probability, within five standard deviations.
fn fits(count: u64, probability: f64) -> bool {
    let expected = DRAWS as f64 * probability;
    (count as f64 - expected).abs() < 5.0 * (expected * (1.0 - probability)).sqrt() + 1.0
}

#[test]
fn random_is_uniform_and_k_means_plus_plus_goes_by_squared_distance() {
    let pool = [0.0, 1.0, 3.0, -2.0];
    let task = Task::undirected(points(&pool, 1));
    let mut first = [[0u64; 4]; 2];
    let mut pairs = [[[0u64; 4]; 4]; 2];
    for (r, rule) in ["random", "k-means++"].into_iter().enumerate() {
        for seed in 0..DRAWS {
            let picks = run(&task, &Plan::default().strategy(rule.parse().unwrap()).count(2).seed(seed)).rows();
            first[r][picks[0]] += 1;
            pairs[r][picks[0]][picks[1]] += 1;
        }
    }
    for (r, first) in first.iter().enumerate() {
        for (i, &count) in first.iter().enumerate() {
            assert!(fits(count, 0.25), "rule {r}: first pick {i}: {count}");
            let weight = |j: usize| match (i == j, r) {
                (true, _) => 0.0,
                (false, 0) => 1.0,
                (false, _) => (pool[i] - pool[j]).powi(2),
            };
            let total: f64 = (0..4).map(weight).sum();
            for (j, &count) in pairs[r][i].iter().enumerate() {
                assert!(fits(count, 0.25 * weight(j) / total), "rule {r}: {i} then {j}: {count}");
            }
        }
    }
}

#[test]
fn a_row_without_a_chance_is_drawn_only_when_no_other_is_left() {
    // Rows 0 to 4 are copies of one another, as are rows 5 and 6, so that three places hold all of the distances.
    let pool = [1.0, 1.0, 1.0, 1.0, 1.0, -2.0, -2.0, 4.0];
    let task = Task::undirected(points(&pool, 1));
    for seed in 0..200 {
        let picks = run(&task, &Plan::default().strategy("k-means++".parse().unwrap()).count(5).seed(seed)).rows();
        let mut places: Vec<f64> = picks[..3].iter().map(|&row| pool[row]).collect();
        places.sort_by(f64::total_cmp);
        assert_eq!(places, [-2.0, 1.0, 4.0], "seed {seed}: {picks:?}");
    }
}
