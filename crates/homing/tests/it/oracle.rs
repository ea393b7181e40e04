//! Dense Gaussian conditioning in f64, written for clarity: the whole covariance over pool, targets and observed points,
//! conditioned on one observation at a time (the paper's K ← K − K_Xj K_jX / (K_jj + ρ²)).

use homing::{Embeddings, Kernel, Plan, Points, Selection, Task, select};
use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Configures a number of random cases that are the same in every run.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

pub type Matrix = Vec<Vec<f64>>;

pub fn view(rows: &[Vec<f64>]) -> Vec<f64> {
    rows.concat()
}

pub fn points(flat: &[f64], dim: usize) -> Points<'_> {
    Embeddings::new(flat, dim).unwrap().into()
}

pub fn run(task: &Task<'_>, plan: &Plan) -> Selection {
    select(task, plan).unwrap()
}

pub fn uniform_rows(rng: &mut ChaCha8Rng, rows: usize, dim: usize) -> Vec<Vec<f64>> {
    (0..rows).map(|_| (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect()).collect()
}

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub fn gram(kernel: &dyn Kernel, points: &[Vec<f64>]) -> Matrix {
    points.iter().map(|x| points.iter().map(|y| kernel.eval(x, y)).collect()).collect()
}

/// Returns the covariance given a noisy observation of point j.
pub fn condition(k: &Matrix, j: usize, noise_var: f64) -> Matrix {
    let p = k[j][j] + noise_var;
    if p <= 1e-13 {
        return k.clone();
    }
    k.iter().map(|row| row.iter().zip(&k[j]).map(|(kxy, kjy)| kxy - row[j] * kjy / p).collect()).collect()
}

/// Returns ln |K_II + ρ²I|, by Gaussian elimination.
pub fn ln_det(k: &Matrix, of: &[usize], noise_var: f64) -> f64 {
    let mut m: Matrix =
        of.iter().map(|&i| of.iter().map(|&j| k[i][j] + if i == j { noise_var } else { 0.0 }).collect()).collect();
    let mut sum = 0.0;
    for p in 0..m.len() {
        sum += m[p][p].ln();
        for i in p + 1..m.len() {
            let factor = m[i][p] / m[p][p];
            for j in p..m.len() {
                m[i][j] -= factor * m[p][j];
            }
        }
    }
    sum
}

pub struct Oracle {
    /// Covariance over the pool rows, then the targets.
    pub k: Matrix,
    pub pool: usize,
    pub targets: usize,
    pub noise_var: f64,
}

impl Oracle {
    pub fn new(
        kernel: &dyn Kernel,
        pool: &[Vec<f64>],
        targets: &[Vec<f64>],
        observed: &[Vec<f64>],
        noise_var: f64,
    ) -> Self {
        let all: Vec<Vec<f64>> = [pool, targets, observed].concat();
        let mut k = gram(kernel, &all);
        for j in pool.len() + targets.len()..all.len() {
            k = condition(&k, j, noise_var);
        }
        Self { k, pool: pool.len(), targets: targets.len(), noise_var }
    }

    fn target_range(&self) -> std::ops::Range<usize> {
        self.pool..self.pool + self.targets
    }

    /// Returns the covariance given noisy observations of all targets.
    fn given_targets(&self, noise_var: f64) -> Matrix {
        self.target_range().fold(self.k.clone(), |k, a| condition(&k, a, noise_var))
    }

    /// Returns the scores of all pool rows under a named rule.
    pub fn scores(&self, rule: &str) -> Vec<f64> {
        let (k, rho) = (&self.k, self.noise_var);
        let itl = |joint: Matrix| -> Vec<f64> {
            (0..self.pool).map(|x| 0.5 * ((k[x][x] + rho) / (joint[x][x] + rho)).ln()).collect()
        };
        match rule {
            "itl" => itl(self.given_targets(rho)),
            "itl-exact" => itl(self.given_targets(0.0)),
            "itl-value" => {
                let joint = self.given_targets(rho);
                (0..self.pool).map(|x| 0.5 * (k[x][x] / joint[x][x]).ln()).collect()
            }
            "vtl" => (0..self.pool)
                .map(|x| self.target_range().map(|a| k[x][a].powi(2)).sum::<f64>() / (k[x][x] + rho))
                .collect(),
            "ctl" => (0..self.pool)
                .map(|x| self.target_range().map(|a| k[x][a] / (k[x][x] * k[a][a]).sqrt()).sum())
                .collect(),
            "undirected-itl" => (0..self.pool).map(|x| 0.5 * (1.0 + k[x][x] / rho).ln()).collect(),
            "uncertainty" => (0..self.pool).map(|x| k[x][x]).collect(),
            other => panic!("the oracle has no rule {other}"),
        }
    }

    pub fn observe(&mut self, j: usize) {
        self.k = condition(&self.k, j, self.noise_var);
    }
}

/// Checks a selection against the oracle, pick by pick. Each pick must have the oracle's best score among the remaining
/// rows, up to rounding, and the reported score must be the oracle's.
pub fn assert_greedy(rule: &str, mut oracle: Oracle, selection: &Selection, tolerance: f64) {
    let mut taken = vec![false; oracle.pool];
    for pick in &selection.picks {
        let scores = oracle.scores(rule);
        let best = (0..oracle.pool).filter(|&x| !taken[x]).map(|x| scores[x]).fold(f64::NEG_INFINITY, f64::max);
        assert!(!taken[pick.row], "{rule}: row {} was picked twice", pick.row);
        let (got, want) = (pick.score, scores[pick.row]);
        assert!(
            (got - want).abs() <= tolerance * (1.0 + want.abs()),
            "{rule} rank {}: score {got}, oracle {want}",
            pick.rank
        );
        assert!(
            want >= best - tolerance * (1.0 + best.abs()),
            "{rule} rank {}: the pick scores {want}, the best row {best}",
            pick.rank
        );
        taken[pick.row] = true;
        oracle.observe(pick.row);
    }
}

/// Returns the oracle's own greedy picks.
pub fn greedy(rule: &str, mut oracle: Oracle, count: usize) -> Vec<usize> {
    let mut picks = Vec::new();
    for _ in 0..count {
        let scores = oracle.scores(rule);
        let best = (0..oracle.pool)
            .filter(|x| !picks.contains(x))
            .fold(None, |best: Option<usize>, x| match best {
                Some(b) if scores[b] >= scores[x] => Some(b),
                _ => Some(x),
            })
            .unwrap();
        picks.push(best);
        oracle.observe(best);
    }
    picks
}
