//! Approximate Markov boundaries (Definition D.3, Lemmas D.4 to D.8).

use homing::theory::{Constants, boundary, boundary_size, undirected_boundary};
use proptest::prelude::*;

use super::dense::{Dense, eigen, given_exactly, lists};
use crate::oracle::Matrix;

/// Returns the rows of undirected ITL by the definition (Lemma D.7), which may repeat.
fn undirected(dense: &Dense, count: usize) -> Vec<usize> {
    let mut picks: Vec<usize> = Vec::new();
    for _ in 0..count {
        let k = dense.given(&picks);
        let score = |x: usize| k[x][x] / dense.noise[x];
        picks.push(dense.rows().max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).unwrap());
    }
    picks
}

proptest! {
    #![proptest_config(crate::oracle::cases(48))]

    /// Definition D.3 (Eq. 9): the set found reaches its goal, is at least as large as the smallest such set, and none of
    /// its rows can be removed.
    #[test]
    fn a_boundary_carries_what_the_pool_knows(seed in any::<u64>(), rows in 2usize..8, share in 0.05f64..0.9) {
        let dense = Dense::random(seed, rows, 2, false);
        let observed = if seed.is_multiple_of(2) { vec![] } else { vec![0] };
        let all: Vec<usize> = dense.rows().collect();
        let a = rows;
        let (start, end) = (dense.given(&observed)[a][a], dense.given(&[&observed[..], &all].concat())[a][a]);
        // A goal that can be reached: between the variance given the whole pool and the current variance.
        let goal = end + share * (start - end) + 1e-9;
        let left = |batch: &[usize]| dense.given(&[&observed, batch].concat())[a][a];
        dense.model(|model| {
            let model = model.given(&observed).unwrap();
            let found = boundary(&model, 0, goal, rows).unwrap();
            prop_assert_eq!(found.vars.len(), found.rows.len() + 1);
            for (b, var) in found.vars.iter().enumerate() {
                prop_assert!((var - left(&found.rows[..b])).abs() < 1e-8);
            }
            let reachable = observed.is_empty() || left(&all[1..]) <= goal;
            if reachable {
                prop_assert!(found.left() <= goal);
                for i in 0..found.rows.len() {
                    let mut fewer = found.rows.clone();
                    fewer.remove(i);
                    prop_assert!(left(&fewer) > goal - 1e-9, "a row that is not needed");
                }
                let smallest = (0..=rows).find(|&size| lists(rows, size, false).iter().any(|b| left(b) <= goal + 1e-12));
                prop_assert!(found.rows.len() >= smallest.unwrap_or(rows));
            }
            let floor = dense.irreducible()[0];
            prop_assert!((found.epsilon(floor) - (found.left() - floor).max(0.0)).abs() < 1e-12);
            Ok(())
        })?;
    }

    /// Lemma D.7 (Eq. 14): k rows of undirected ITL leave at most 2σ̃²·γ_k/k anywhere in S; its proof shows γ_{k+1}/(k+1).
    #[test]
    fn undirected_itl_learns_the_pool(seed in any::<u64>(), rows in 2usize..6) {
        let dense = Dense::random(seed, rows, 1, true);
        let (_, max_total) = dense.most();
        let picks = undirected(&dense, 4);
        for k in 1..=4 {
            let after = dense.given(&picks[..k]);
            let worst = dense.rows().map(|x| after[x][x]).fold(0.0, f64::max);
            prop_assert!(worst <= 2.0 * max_total * dense.capacity(k, true) / k as f64 + 1e-9);
            prop_assert!(worst <= 2.0 * max_total * dense.capacity(k + 1, true) / (k + 1) as f64 + 1e-9);
        }
        dense.model(|model| {
            let none = vec![0.0; rows + 1];
            let found = undirected_boundary(model, &none, 4, true).unwrap();
            // Tied rows may come in another order.
            prop_assert!((dense.about_itself(&found, &[]) - dense.about_itself(&picks, &[])).abs() < 1e-9);
            Ok(())
        })?;
    }

    /// Lemma D.8 (Eq. 15 and 16) and each step of its proof: total variance, zᵀVz ≤ d·zᵀdiag(V)z, ‖z‖² ≤ ‖k‖²/λ²_min, ‖k‖²
    /// ≤ dσ⁴.
    #[test]
    fn knowing_the_pool_is_knowing_what_can_be_known(seed in any::<u64>(), rows in 2usize..6, count in 1usize..8) {
        let dense = Dense::random(seed, rows, 2, false);
        let lambda = dense.least_eigenvalue();
        prop_assume!(lambda > 1e-4);
        let (max_var, _) = dense.most();
        let after = dense.given(&undirected(&dense, count));
        let d = rows as f64;
        let worst = dense.rows().map(|x| after[x][x]).fold(0.0, f64::max);
        // The ε for which Eq. 15 holds with equality at the worst row.
        let epsilon = worst * d * d * max_var * max_var / (lambda * lambda);
        let floors = dense.irreducible();
        let inner: Matrix = dense.rows().map(|i| dense.k[i][..rows].to_vec()).collect();
        let (values, vectors) = eigen(&inner);
        for (i, a) in dense.target_positions().into_iter().enumerate() {
            prop_assert!(after[a][a] <= floors[i] + epsilon + 1e-9);
            let k: Vec<f64> = dense.rows().map(|x| dense.k[a][x]).collect();
            let z: Vec<f64> = dense
                .rows()
                .map(|x| {
                    let along = |(value, vector): (&f64, &Vec<f64>)| {
                        vector[x] * vector.iter().zip(&k).map(|(v, k)| v * k).sum::<f64>() / value
                    };
                    values.iter().zip(&vectors).map(along).sum()
                })
                .collect();
            let quadratic: f64 = dense.rows().flat_map(|x| dense.rows().map(move |y| (x, y))).map(|(x, y)| z[x] * after[x][y] * z[y]).sum();
            let diagonal: f64 = dense.rows().map(|x| z[x] * z[x] * after[x][x]).sum();
            prop_assert!((after[a][a] - floors[i] - quadratic).abs() < 1e-7, "total variance");
            prop_assert!(quadratic <= d * diagonal + 1e-9, "Lemma D.12");
            let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
            prop_assert!(norm(&z) <= norm(&k) / (lambda * lambda) * (1.0 + 1e-9));
            prop_assert!(norm(&k) <= d * max_var * max_var * (1.0 + 1e-12));
        }
    }

    /// Lemma D.5 (Eq. 12) for any B and its own ε, and Lemma D.6 (Eq. 13) with S ⊆ A.
    #[test]
    fn variance_is_bounded_through_a_boundary(seed in any::<u64>(), rows in 2usize..7, inside: bool, size in 0usize..4) {
        let dense = Dense::random(seed, rows, 2, inside);
        let (max_var, _) = dense.most();
        let (observed, batch) = ([rows - 1], &undirected(&dense, size)[..]);
        let (before, after) = (dense.given(&observed), dense.given(&[&observed, batch].concat()));
        let objective = dense.objective(&observed);
        for (a, floor) in dense.target_positions().into_iter().zip(dense.irreducible()) {
            let epsilon = (after[a][a] - floor).max(0.0);
            // I(f_x; y_B | D) = ½ ln( Var(f_x | D) / Var(f_x | y_B, D) ) is infinite if f_x is known exactly.
            if after[a][a] < 1e-9 {
                continue;
            }
            let information = 0.5 * (before[a][a] / after[a][a]).ln();
            prop_assert!(before[a][a] <= 2.0 * max_var * information + floor + epsilon + 1e-9);
            let k = &before;
            let alone = 0.5
                * (super::dense::ln_det(k, batch, &dense.noise)
                    - super::dense::ln_det(&given_exactly(k, &[a]), batch, &dense.noise));
            prop_assert!((information - alone).abs() < 1e-7, "information is symmetric");
            if inside {
                prop_assert!(information <= batch.len() as f64 * objective + 1e-8);
            }
        }
    }

    /// Lemma D.4 (Eq. 10 and 11): k is the smallest number with γ_k/k below its bound. The k rows of undirected ITL are
    /// then an ε-approximate Markov boundary of every target, whatever else was observed.
    #[test]
    fn a_boundary_of_the_promised_size_exists(seed in any::<u64>(), rows in 1usize..3, slack in 0.5f64..4.0) {
        let dense = Dense::random(seed, rows, 2, true);
        let lambda = dense.least_eigenvalue();
        prop_assume!(lambda > 1e-3);
        dense.model(|model| {
            let constants = Constants::of(model);
            let c = constants.boundary_factor().unwrap();
            // An ε that a handful of rows reaches.
            let epsilon = slack * c * dense.capacity(3, true) / 3.0;
            let size = boundary_size(&constants, epsilon, |k| dense.capacity(k, true)).unwrap();
            let enough = |k: usize| dense.capacity(k, true) / k as f64 <= epsilon / c;
            prop_assert!(enough(size) && (size == 1 || !enough(size - 1)), "{size}");
            let goals: Vec<f64> = dense.irreducible().iter().map(|floor| floor + epsilon).collect();
            let found = undirected_boundary(model, &goals, size, true).unwrap();
            prop_assert!(found.len() <= size);
            for observed in [vec![], vec![0]] {
                let after = dense.given(&[observed, found.clone()].concat());
                for (a, goal) in dense.target_positions().into_iter().zip(&goals) {
                    prop_assert!(after[a][a] <= goal + 1e-9);
                }
            }
            Ok(())
        })?;
    }
}

#[test]
fn what_cannot_be_is_refused_or_not_known() {
    let dense = Dense::random(3, 4, 2, false);
    dense.model(|model| {
        assert!(boundary(model, 2, 0.0, 3).unwrap_err().to_string().contains("only 2 targets"));
        assert!(undirected_boundary(model, &[0.0], 3, false).unwrap_err().to_string().contains("goals"));
        let constants = Constants { least_eigenvalue: Some(0.0), ..Constants::of(model) };
        assert_eq!(boundary_size(&constants, 0.1, |k| (k as f64).ln_1p()), None);
        let constants = Constants { least_eigenvalue: None, ..constants };
        assert_eq!(boundary_size(&constants, 0.1, |k| (k as f64).ln_1p()), None);
        let none = boundary(model, 0, 0.0, 0).unwrap();
        assert!(none.rows.is_empty() && none.vars.len() == 1);
    });
}
