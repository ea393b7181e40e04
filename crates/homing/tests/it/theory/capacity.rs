//! Information capacity γ_n: its definition, its greedy bounds and its growth.

use homing::theory::{
    Model, capacity, capacity_by_rank, exact_capacity, greedy_capacity, linear_growth, matern_growth,
};
use homing::{Gaussian, Kernel, Linear, Matern, Noise, Task};
use proptest::prelude::*;

use super::dense::{Dense, lists};
use crate::oracle::{points, rng, uniform_rows, view};

proptest! {
    #![proptest_config(crate::oracle::cases(64))]

    /// Enumeration matches the definition. The greedy bounds contain it, and the lower bound is at least 1 − 1/e of it.
    #[test]
    fn greedy_brackets_the_capacity(seed in any::<u64>(), rows in 2usize..8, n in 1usize..5, repeat: bool) {
        let dense = Dense::random(seed, rows, 1, false);
        let want = dense.capacity(n, repeat);
        dense.model(|model| {
            let exact = exact_capacity(model, n, repeat).unwrap();
            prop_assert!((exact - want).abs() < 1e-9, "{exact} {want}");
            let greedy = greedy_capacity(model, n, repeat).unwrap();
            prop_assert!(greedy.lower <= want + 1e-9 && want <= greedy.upper + 1e-9, "{greedy:?} {want}");
            prop_assert!(greedy.lower >= (1.0 - (-1f64).exp()) * want - 1e-9);
            prop_assert!(greedy.upper <= greedy.lower / (1.0 - (-1f64).exp()) + 1e-9);
            let either = capacity(model, n).unwrap();
            prop_assert!(either.is_exact() && (either.lower - dense.capacity(n, false)).abs() < 1e-9);
            Ok(())
        })?;
    }

    /// γ_n increases with n, and γ_n/n decreases: a set has at least n/(n+1) of the information of a set with one more row
    /// (Han). This is the step from γ_{k+1}/(k+1) to γ_k/k between Lemma D.7 and its proof.
    #[test]
    fn the_capacity_a_row_falls(seed in any::<u64>(), rows in 3usize..6, repeat: bool) {
        let dense = Dense::random(seed, rows, 1, false);
        let gamma: Vec<f64> = (1..=rows).map(|n| dense.capacity(n, repeat)).collect();
        for n in 1..rows {
            prop_assert!(gamma[n] >= gamma[n - 1] - 1e-12);
            prop_assert!(gamma[n] / (n + 1) as f64 <= gamma[n - 1] / n as f64 + 1e-12);
        }
    }

    /// r/2·ln(1 + n·s/r) bounds γ_n for the linear kernel in r dimensions, also with repeated rows.
    #[test]
    fn the_rank_bounds_the_capacity(seed in any::<u64>(), rows in 1usize..6, dim in 1usize..4, n in 1usize..6) {
        let mut rng = rng(seed);
        let pool = uniform_rows(&mut rng, rows, dim);
        let k = crate::oracle::gram(&Linear, &pool);
        let most = (0..rows).map(|x| k[x][x] / 0.3).fold(0.0, f64::max);
        let information = |list: &Vec<usize>| {
            0.5 * (super::dense::ln_det(&k, list, &vec![0.3; rows]) - list.len() as f64 * 0.3f64.ln())
        };
        let gamma = lists(rows, n, true).iter().map(information).fold(0.0, f64::max);
        prop_assert!(gamma <= capacity_by_rank(n, dim, most) + 1e-9);
    }
}

fn gammas(kernel: &dyn Kernel, rows: &[f64], dim: usize, counts: &[usize]) -> Vec<f64> {
    let task = Task::undirected(points(rows, dim)).kernel(kernel);
    let model = Model::new(task, Noise::Std(0.5)).unwrap();
    counts.iter().map(|&n| greedy_capacity(&model, n, false).unwrap().lower).collect()
}

/// Table 3 on a line: the linear kernel's capacity grows like d·ln n, and a rougher kernel has a larger and faster growing
/// capacity.
#[test]
fn capacities_grow_as_the_table_says() {
    let line: Vec<f64> = (0..400).map(|i| f64::from(i) / 399.0).collect();
    let counts = [25, 50, 100, 200];
    let mut rng = rng(3);
    let plane = view(&uniform_rows(&mut rng, 400, 3));
    let linear = gammas(&Linear, &plane, 3, &counts);
    let shares: Vec<f64> = linear.iter().zip(counts).map(|(g, n)| g / linear_growth(n as f64, 3)).collect();
    assert!(shares.windows(2).all(|pair| pair[1] / pair[0] < 1.1), "at most the rate: {shares:?}");
    let rough = gammas(&Matern::new(0.5, 0.3).unwrap(), &line, 1, &counts);
    let smooth = gammas(&Matern::new(2.5, 0.3).unwrap(), &line, 1, &counts);
    let gaussian = gammas(&Gaussian::new(0.3).unwrap(), &line, 1, &counts);
    assert!(rough[3] > smooth[3] && smooth[3] > gaussian[3]);
    let growth = |gamma: &[f64]| gamma[3] / gamma[1];
    assert!(growth(&rough) > growth(&smooth) && growth(&smooth) > growth(&gaussian));
    for (gamma, nu) in [(&rough, 0.5), (&smooth, 2.5)] {
        let rate = matern_growth(200.0, 1, nu) / matern_growth(50.0, 1, nu);
        assert!(growth(gamma) <= 1.05 * rate, "ν = {nu}: {} {rate}", growth(gamma));
    }
}

#[test]
fn too_many_sets_are_refused_and_more_rows_than_there_are_add_nothing() {
    let mut rng = rng(4);
    let pool = view(&uniform_rows(&mut rng, 60, 3));
    let model = Model::new(Task::undirected(points(&pool, 3)), Noise::Std(0.5)).unwrap();
    assert!(exact_capacity(&model, 10, false).unwrap_err().to_string().contains("a million"));
    assert!(!capacity(&model, 30).unwrap().is_exact());
    let all = capacity(&model, 60).unwrap();
    assert!(all.is_exact() && capacity(&model, 1000).unwrap().upper == all.upper, "there is only one set of all rows");
    assert_eq!(capacity(&model, 0).unwrap().upper, 0.0);
}
