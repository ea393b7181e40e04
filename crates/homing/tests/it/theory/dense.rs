//! Small random problems and the paper's quantities for them, by dense linear algebra from the definitions.

use homing::theory::Model;
use homing::{Embeddings, Gaussian, Kernel, Laplace, Linear, Matern, Noise, Precomputed, Task};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::oracle::{Matrix, condition, gram, points, rng, uniform_rows, view};

/// Returns the eigenvalues and eigenvectors (as rows) of a symmetric matrix, by Jacobi rotations.
pub fn eigen(matrix: &Matrix) -> (Vec<f64>, Matrix) {
    let n = matrix.len();
    let mut a = matrix.clone();
    let mut vectors: Matrix = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..60 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] == 0.0 {
                    continue;
                }
                let angle = 0.5 * (2.0 * a[p][q]).atan2(a[p][p] - a[q][q]);
                let (s, c) = angle.sin_cos();
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] + s * row[q], c * row[q] - s * row[p]);
                }
                for list in [&mut a, &mut vectors] {
                    for j in 0..n {
                        (list[p][j], list[q][j]) = (c * list[p][j] + s * list[q][j], c * list[q][j] - s * list[p][j]);
                    }
                }
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), vectors)
}

/// Returns the covariance given the exact values at some points: K − K_XI K_II⁺ K_IX.
pub fn given_exactly(k: &Matrix, known: &[usize]) -> Matrix {
    let inner: Matrix = known.iter().map(|&i| known.iter().map(|&j| k[i][j]).collect()).collect();
    let (values, vectors) = eigen(&inner);
    let most = values.iter().copied().fold(0.0, f64::max);
    let mut out = k.clone();
    for (value, vector) in values.iter().zip(&vectors).filter(|(value, _)| **value > 1e-12 * most) {
        let along: Vec<f64> = k.iter().map(|row| known.iter().zip(vector).map(|(&i, v)| row[i] * v).sum()).collect();
        for (row, x) in out.iter_mut().zip(&along) {
            for (entry, y) in row.iter_mut().zip(&along) {
                *entry -= x * y / value;
            }
        }
    }
    out
}

/// Returns ln |K_BB + P_B| for a list of points, which may contain duplicates.
pub fn ln_det(k: &Matrix, of: &[usize], noise: &[f64]) -> f64 {
    let noisy: Matrix = (0..of.len())
        .map(|i| (0..of.len()).map(|j| k[of[i]][of[j]] + if i == j { noise[of[i]] } else { 0.0 }).collect())
        .collect();
    crate::oracle::ln_det(&noisy, &(0..of.len()).collect::<Vec<_>>(), 0.0)
}

/// A process over a pool and targets, with the covariances of all points, the pool first.
pub struct Dense {
    pub kernel: Box<dyn Kernel>,
    pub pool: Vec<Vec<f64>>,
    pub targets: Vec<Vec<f64>>,
    pub k: Matrix,
    pub noise: Vec<f64>,
}

/// Returns a kernel of any kind, with a length scale that distinguishes a few points in the unit cube.
pub fn random_kernel(rng: &mut ChaCha8Rng) -> Box<dyn Kernel> {
    let length = rng.random_range(0.15..0.4);
    match rng.random_range(0..6) {
        0 | 1 => Box::new(Linear),
        2 => Box::new(Gaussian::new(length).unwrap()),
        3 => Box::new(Laplace::new(2.0 * length).unwrap()),
        4 => Box::new(Matern::new(1.5, 2.0 * length).unwrap()),
        _ => Box::new(Matern::new(0.8, 2.0 * length).unwrap()),
    }
}

impl Dense {
    /// Creates a random problem with `rows` rows in the pool and `extra` targets. With `inside`, the pool is among the
    /// targets. Half of the problems have noise per row.
    pub fn random(seed: u64, rows: usize, extra: usize, inside: bool) -> Self {
        let mut rng = rng(seed);
        let dim = rng.random_range(1..5);
        let kernel = random_kernel(&mut rng);
        let pool = uniform_rows(&mut rng, rows, dim);
        let mut targets = uniform_rows(&mut rng, extra, dim);
        if inside {
            targets.extend(pool.clone());
        }
        let k = gram(&*kernel, &[pool.clone(), targets.clone()].concat());
        let level: f64 = rng.random_range(0.02..0.6);
        let own = rng.random_bool(0.5);
        let noise = (0..rows).map(|_| if own { level * rng.random_range(0.5..2.0) } else { level }).collect();
        Self { kernel, pool, targets, k, noise }
    }

    /// Calls `f` with the library's model of this problem.
    pub fn model<T>(&self, f: impl FnOnce(&Model<'_>) -> T) -> T {
        let dim = self.pool[0].len();
        let (pool, targets) = (view(&self.pool), view(&self.targets));
        let task = Task::new(points(&pool, dim), points(&targets, dim)).kernel(&*self.kernel).noise_vars(&self.noise);
        f(&Model::new(task, Noise::Std(self.noise[0].sqrt())).unwrap())
    }

    pub fn rows(&self) -> std::ops::Range<usize> {
        0..self.pool.len()
    }

    /// Returns the targets' positions in `k`.
    pub fn target_positions(&self) -> Vec<usize> {
        (self.pool.len()..self.k.len()).collect()
    }

    /// Returns the covariance given noisy observations of pool rows.
    pub fn given(&self, observed: &[usize]) -> Matrix {
        observed.iter().fold(self.k.clone(), |k, &j| condition(&k, j, self.noise[j]))
    }

    /// Returns I(f_A; y_B | y_D) = ½ ln( |Var(y_B | D)| / |Var(y_B | f_A, D)| ).
    pub fn about_targets(&self, batch: &[usize], observed: &[usize]) -> f64 {
        let k = self.given(observed);
        let after = given_exactly(&k, &self.target_positions());
        0.5 * (ln_det(&k, batch, &self.noise) - ln_det(&after, batch, &self.noise))
    }

    /// Returns I(f_B; y_B | y_D) = ½ ln |I + P⁻¹ Var(f_B | D)|.
    pub fn about_itself(&self, batch: &[usize], observed: &[usize]) -> f64 {
        let own: f64 = batch.iter().map(|&x| self.noise[x].ln()).sum();
        0.5 * (ln_det(&self.given(observed), batch, &self.noise) - own)
    }

    /// Returns Γ_n.
    pub fn objective(&self, observed: &[usize]) -> f64 {
        self.rows().map(|x| self.about_targets(&[x], observed)).fold(0.0, f64::max)
    }

    /// Returns ITL's picks: the row with the largest objective, each row at most once unless `repeat`.
    pub fn itl(&self, count: usize, repeat: bool) -> Vec<usize> {
        let mut picks: Vec<usize> = Vec::new();
        for _ in 0..count {
            let open = self.rows().filter(|x| repeat || !picks.contains(x));
            let score = |x: usize| self.about_targets(&[x], &picks);
            let best = open.max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).unwrap();
            picks.push(best);
        }
        picks
    }

    /// Returns η²_S of every target.
    pub fn irreducible(&self) -> Vec<f64> {
        let k = given_exactly(&self.k, &self.rows().collect::<Vec<_>>());
        self.target_positions().into_iter().map(|a| k[a][a]).collect()
    }

    /// Returns γ_n, by enumeration.
    pub fn capacity(&self, n: usize, repeat: bool) -> f64 {
        let size = if repeat { n } else { n.min(self.pool.len()) };
        lists(self.pool.len(), size, repeat).iter().map(|x| self.about_itself(x, &[])).fold(0.0, f64::max)
    }

    /// Returns the largest prior variance over S ∪ A, and the largest sum of it and the noise.
    pub fn most(&self) -> (f64, f64) {
        let var = |i: usize| self.k[i][i];
        let total = |i: usize| self.k[i][i] + self.noise.get(i).copied().unwrap_or(self.noise[0]);
        let all = || 0..self.k.len();
        (all().map(var).fold(0.0, f64::max), all().map(total).fold(0.0, f64::max))
    }

    /// Returns λ_min(Var f_S).
    pub fn least_eigenvalue(&self) -> f64 {
        let inner: Matrix = self.rows().map(|i| self.k[i][..self.pool.len()].to_vec()).collect();
        eigen(&inner).0.into_iter().fold(f64::INFINITY, f64::min)
    }
}

/// Returns all increasing lists of exactly `size` of `rows` rows. With `repeat`, a row may occur more than once.
pub fn lists(rows: usize, size: usize, repeat: bool) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let longer = |list: Vec<usize>| {
        let first = list.last().map_or(0, |&last| if repeat { last } else { last + 1 });
        (first..rows).map(move |x| [list.clone(), vec![x]].concat())
    };
    lists(rows, size - 1, repeat).into_iter().flat_map(longer).collect()
}

/// Returns all subsets of a list.
pub fn subsets(of: &[usize]) -> Vec<Vec<usize>> {
    (0..1u32 << of.len())
        .map(|mask| of.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1).map(|(_, &x)| x).collect())
        .collect()
}

#[test]
fn the_eigenvalues_of_two_by_two() {
    let (mut values, _) = eigen(&vec![vec![2.0, 1.0], vec![1.0, 2.0]]);
    values.sort_by(f64::total_cmp);
    assert!((values[0] - 1.0).abs() < 1e-14 && (values[1] - 3.0).abs() < 1e-14);
}

#[test]
fn a_precomputed_kernel_gives_the_numbers_of_the_kernel_it_was_computed_from() {
    let dense = Dense::random(7, 6, 3, false);
    let size = dense.k.len();
    let flat: Vec<f64> = dense.k.concat();
    let kernel = Precomputed::new(Embeddings::new(&flat[..], size).unwrap()).unwrap();
    let (pool, targets) = (Precomputed::points(0..6), Precomputed::points(6..9));
    let task = Task::new(points(&pool, 1), points(&targets, 1)).kernel(&kernel).noise_vars(&dense.noise);
    let model = Model::new(task, Noise::Std(dense.noise[0].sqrt())).unwrap();
    dense.model(|want| {
        assert!((model.objective().value - want.objective().value).abs() < 1e-9);
        for (got, want) in model.irreducible_vars().unwrap().iter().zip(want.irreducible_vars().unwrap()) {
            assert!((got - want).abs() < 1e-9);
        }
    });
}
