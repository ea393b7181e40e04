//! Random tasks and plans, valid and invalid.

use std::collections::BTreeSet;

use homing::{
    BatchMethod, Engine, Gaussian, Greedy, Kernel, Laplace, Linear, Matern, Noise, Plan, Precomputed, Product,
    STRATEGIES, Stop, Strategy, TargetSampling,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::oracle::rng;

/// Draws the parts of a case. Each part is valid, except with a chance of one in `odd`.
pub struct Draw {
    rng: ChaCha8Rng,
    odd: u32,
}

impl Draw {
    pub fn new(seed: u64) -> Self {
        let mut rng = rng(seed);
        let odd = [5, 20, 60, 1_000_000][rng.random_range(0..4)];
        Self { rng, odd }
    }

    pub fn is_odd(&mut self) -> bool {
        self.rng.random_ratio(1, self.odd)
    }

    fn chance(&mut self, share: f64) -> bool {
        self.rng.random_bool(share)
    }

    pub fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.rng.random_range(0..of.len())].clone()
    }

    /// Returns any number at all.
    pub fn number(&mut self) -> f64 {
        let special =
            [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, -1.0];
        if self.chance(0.3) {
            return self.one(&special);
        }
        let size = 10f64.powf(self.rng.random_range(-330.0..309.0));
        if self.chance(0.2) { -size } else { size }
    }

    /// Returns a number in a range, or any number at all.
    fn in_range(&mut self, low: f64, high: f64) -> f64 {
        if self.is_odd() || !(low < high && (high - low).is_normal()) {
            self.number()
        } else {
            self.rng.random_range(low..high)
        }
    }

    fn count(&mut self, low: usize, high: usize) -> usize {
        let absurd = [0, usize::MAX, usize::MAX / 2, 1 << 40, 1_000_000_000_000, 18_446_744_073_709_551_615];
        if self.is_odd() { self.one(&absurd) } else { self.rng.random_range(low..=high) }
    }

    /// Returns rows of one size, with zeros, copies and odd numbers among them.
    fn rows(&mut self, rows: usize, dim: usize, size: f64) -> Vec<f64> {
        let mut values: Vec<f64> = (0..rows * dim).map(|_| size * self.rng.random_range(-1.0..1.0)).collect();
        for row in 0..rows {
            if self.chance(0.05) {
                values[row * dim..(row + 1) * dim].fill(0.0);
            } else if self.chance(0.1) {
                values.copy_within(0..dim, row * dim);
            } else if self.chance(0.02) {
                let factor = self.one(&[1e-160, 1e-90, 1e-9, 1e9]);
                values[row * dim..(row + 1) * dim].iter_mut().for_each(|x| *x *= factor);
            }
        }
        if self.is_odd() {
            let at = self.rng.random_range(0..values.len());
            values[at] = self.number();
        }
        values
    }

    fn probabilities(&mut self, rows: usize, classes: usize) -> Vec<f64> {
        let sharp = self.one(&[1.0, 20.0, 900.0]);
        let mut values = Vec::new();
        for _ in 0..rows {
            let logits: Vec<f64> = (0..classes).map(|_| sharp * self.rng.random_range(-1.0..1.0)).collect();
            let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = logits.iter().map(|x| (x - most).exp()).sum();
            values.extend(logits.iter().map(|x| (x - most).exp() / sum));
        }
        if self.is_odd() {
            let at = self.rng.random_range(0..values.len());
            values[at] = self.number();
        }
        values
    }

    fn kernel(&mut self, dim: usize, size: f64) -> homing::Result<Box<dyn Kernel>> {
        let length = self.in_range(0.1 * size, 3.0 * size);
        Ok(match self.rng.random_range(0..8) {
            0..4 => Box::new(Linear),
            4 => Box::new(Gaussian::new(length)?),
            5 => Box::new(Laplace::new(length)?),
            6 => Box::new(Matern::new(self.in_range(0.05, 5.0), length)?),
            _ => Box::new(Product::new(self.rng.random_range(0..=dim) + usize::from(self.is_odd()), self.chance(0.5))),
        })
    }

    fn listed_rows(&mut self, rows: usize, share: f64) -> Vec<usize> {
        let mut listed: Vec<usize> = (0..rows).filter(|_| self.rng.random_bool(share)).collect();
        if self.is_odd() {
            listed.push(self.one(&[rows, usize::MAX]));
        }
        listed
    }

    fn sampling(&mut self, targets: usize) -> TargetSampling {
        let size = self.count(1, targets.max(1));
        match self.rng.random_range(0..8) {
            0 => TargetSampling::Fraction(self.in_range(0.05, 1.0)),
            1 => TargetSampling::Size(size),
            2 => TargetSampling::MaxDet(size),
            3 => TargetSampling::MaxDist(size),
            4 => {
                let scale = self.one(&[1.0, 1.0, 1e308, 1e-308, 5e-324]);
                let mut weights: Vec<f64> = (0..targets).map(|_| scale * self.rng.random_range(0.0..1.0)).collect();
                if self.is_odd() {
                    weights.push(1.0);
                } else if self.is_odd() && targets > 0 {
                    weights[0] = self.number();
                }
                TargetSampling::Weighted { weights, size }
            }
            _ => TargetSampling::All,
        }
    }

    /// Returns a plan that fits the data, except for odd ones.
    pub fn plan(&mut self, data: &Data, size: f64) -> homing::Result<Plan> {
        let rows = data.pool.len() / data.dim;
        let targets = data.targets.as_ref().map_or(0, |targets| targets.len() / data.target_dim);
        let fits = |strategy: &Strategy| {
            (targets > 0 || !strategy.needs_targets())
                && (data.probabilities.is_some() || !strategy.needs_probabilities())
                && !(data.observed_points.is_some() && strategy.makes_loss_gradients())
        };
        let mut all: Vec<Strategy> = STRATEGIES.iter().map(Strategy::from).collect();
        all.push(Strategy::information_density(self.in_range(0.1, 3.0))?);
        if !self.is_odd() {
            all.retain(fits);
        }
        let strategy = self.one(&all);
        let sequential = strategy.batch() == BatchMethod::Sequential;
        let (odd, greedy) = (self.is_odd(), sequential && !["k-means++", "badge"].contains(&strategy.name()));
        let repeat = self.chance(0.1) && (odd || sequential);
        let closed: BTreeSet<usize> = data.observed_rows.iter().chain(&data.forbidden).copied().collect();
        let open = rows.saturating_sub(closed.len()).max(1);
        let parts = odd || (!repeat && data.probabilities.is_none() && data.noise_vars.is_none());
        Ok(Plan::default()
            .strategy(strategy)
            .count(self.count(1, if repeat { 2 * rows } else { open }))
            .noise(match self.rng.random_range(0..3) {
                0 => Noise::Std(self.in_range(0.01 * size, 2.0 * size)),
                1 => Noise::Relative(self.in_range(1e-6, 10.0)),
                _ => Noise::default(),
            })
            .target_sampling(self.sampling(targets))
            .picks_per_round(if self.chance(0.2) { Some(self.count(1, rows)) } else { None })
            .seed(self.rng.random())
            .earlier_picks(if self.chance(0.1) { self.count(0, 1000) } else { 0 })
            .stop(Stop {
                min_gain: if self.chance(0.1) { Some(self.in_range(0.0, 0.5)) } else { None },
                reduced_share: if self.chance(0.1) && (odd || targets > 0) {
                    Some(self.in_range(0.1, 1.0))
                } else {
                    None
                },
            })
            .quotas(if self.chance(0.4) && (odd || data.groups.is_some()) {
                (0..3).map(|_| self.count(0, 5)).collect()
            } else {
                Vec::new()
            })
            .budget(if self.chance(0.3) && (odd || data.costs.is_some()) {
                Some(self.in_range(0.5, 10.0))
            } else {
                None
            })
            .repeat(repeat)
            .greedy(match self.rng.random_range(0..8) {
                0 if odd || greedy => Greedy::Stochastic { epsilon: self.in_range(0.01, 0.9) },
                1..4 if odd || (greedy && parts) => Greedy::Partitioned { parts: self.count(1, 4) },
                _ => Greedy::Exact,
            })
            .engine(self.one(&[Engine::Auto, Engine::Auto, Engine::Plain, Engine::Speculative])))
    }
}

/// All data that a task borrows.
pub struct Data {
    pub pool: Vec<f64>,
    pub dim: usize,
    pub targets: Option<Vec<f64>>,
    pub target_dim: usize,
    pub observed_points: Option<Vec<f64>>,
    pub matrix: Option<Vec<f64>>,
    pub kernel: Option<Box<dyn Kernel>>,
    pub probabilities: Option<Vec<f64>>,
    pub observed_rows: Vec<usize>,
    pub forbidden: Vec<usize>,
    pub noise_vars: Option<Vec<f64>>,
    pub costs: Option<Vec<f64>>,
    pub groups: Option<Vec<usize>>,
}

/// Number of classes of the probabilities.
pub const CLASSES: usize = 3;

impl Data {
    pub fn draw(draw: &mut Draw, size: f64) -> homing::Result<Self> {
        let rows = draw.one(&[1, 2, 7, 30, 30, 300, 700]);
        let dim = draw.one(&[1, 2, 5]);
        let targets = draw.one(&[0, 1, 4, 9]);
        if draw.chance(0.15) {
            return Ok(Self::of_matrix(draw, rows.min(300), targets));
        }
        let target_dim = if draw.is_odd() { dim + 1 } else { dim };
        let row_numbers = |draw: &mut Draw, low: f64, high: f64| {
            let wrong = usize::from(draw.is_odd());
            (0..rows + wrong).map(|_| draw.in_range(low, high)).collect::<Vec<_>>()
        };
        Ok(Self {
            pool: draw.rows(rows, dim, size),
            dim,
            targets: (targets > 0).then(|| draw.rows(targets, target_dim, size)),
            target_dim,
            observed_points: if draw.chance(0.15) { Some(draw.rows(3, dim, size)) } else { None },
            matrix: None,
            kernel: Some(draw.kernel(dim, size)?),
            probabilities: if draw.chance(0.7) { Some(draw.probabilities(rows, CLASSES)) } else { None },
            observed_rows: if draw.chance(0.3) { draw.listed_rows(rows, 0.2) } else { Vec::new() },
            forbidden: if draw.chance(0.3) { draw.listed_rows(rows, 0.3) } else { Vec::new() },
            noise_vars: if draw.chance(0.1) { Some(row_numbers(draw, 0.01 * size * size, size * size)) } else { None },
            costs: if draw.chance(0.25) { Some(row_numbers(draw, 0.1, 3.0)) } else { None },
            groups: if draw.chance(0.3) {
                Some((0..rows).map(|_| draw.rng.random_range(0..4)).collect())
            } else {
                None
            },
        })
    }

    /// Creates data with a kernel matrix, which may be invalid.
    fn of_matrix(draw: &mut Draw, rows: usize, targets: usize) -> Self {
        let all = rows + targets;
        let points = draw.rows(all, 4, 1.0);
        let mut matrix = vec![0.0; all * all];
        for i in 0..all {
            for j in 0..all {
                matrix[i * all + j] = (0..4).map(|k| points[i * 4 + k] * points[j * 4 + k]).sum();
            }
        }
        if draw.chance(0.3) {
            // Thresholded similarities, which need not be positive semi-definite.
            let cut = draw.one(&[0.0, 0.2]);
            matrix.iter_mut().for_each(|x| *x = if *x > cut { 1.0 } else { *x });
        }
        if draw.is_odd() {
            let (i, j, value) = (draw.rng.random_range(0..all), draw.rng.random_range(0..all), draw.number());
            (matrix[i * all + j], matrix[j * all + i]) = (value, value);
        }
        let mut pool = Precomputed::points(0..rows);
        if draw.is_odd() {
            pool[0] = draw.number();
        }
        Self {
            pool,
            dim: 1,
            targets: (targets > 0).then(|| Precomputed::points(rows..all)),
            target_dim: 1,
            observed_points: None,
            matrix: Some(matrix),
            kernel: None,
            probabilities: None,
            observed_rows: if draw.chance(0.3) { draw.listed_rows(rows, 0.2) } else { Vec::new() },
            forbidden: Vec::new(),
            noise_vars: None,
            costs: None,
            groups: None,
        }
    }
}
