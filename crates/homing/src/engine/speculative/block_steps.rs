//! Applying picks to whole blocks of rows: one matrix product, then a few operations per row and pick.

use faer::{Accum, Mat, MatRef};

use crate::base::algebra::{matrix, norm_sq, zeros};
use crate::base::product::thin_product;
use crate::engine::numbers::{squares_after, variance_after};
use crate::engine::real::Real;
use crate::rules::BlockBounds;
use crate::shard::BLOCK;
use crate::shard::{PickStep, SecondNumber, SquareRoot, Transform};
use crate::{Embeddings, Rule};

/// Number of terms that are summed in f32 before they are added to a longer sum.
const RUN: usize = 128;

/// Side of the squares in which products are transposed.
const TILE: usize = 16;

/// Error factor γ of an inner product that is summed in runs of [`RUN`] terms: the product is off by at most γ‖φ‖‖w‖
/// (Higham 2002, §3.1). This includes the rounding of the probe and, if it is stored in another type or transformed, of the
/// row.
pub(crate) fn gamma<T: Real>(transform: Transform<'_>, dim: usize) -> f64 {
    1.01 * T::UNIT * (dim.min(RUN) + dim.div_ceil(RUN) + 3 + T::transform_ulps(transform, dim)) as f64
}

/// Functionals with which rows are multiplied.
pub(crate) struct Probes<T> {
    /// Probes × dimensions, so the product needs no copy of either side.
    matrix: Mat<T>,
}

/// Buffers for the products of one block.
pub(crate) struct Products<T> {
    /// Probes × rows, the output of the matrix product.
    transposed: Mat<T>,
    /// The products of each probe with all rows, at distances of [`BLOCK`].
    columns: Vec<T>,
}

impl<T: Real> Probes<T> {
    pub fn new<'w>(dim: usize, probes: impl IntoIterator<Item = &'w [f64]>) -> Self {
        let probes: Vec<&[f64]> = probes.into_iter().collect();
        Self { matrix: matrix(probes.len(), dim, |j, i| T::of(probes[j][i])) }
    }

    pub fn count(&self) -> usize {
        self.matrix.nrows()
    }

    pub fn room(&self) -> Products<T> {
        let count = self.count();
        Products { transposed: zeros(count, BLOCK), columns: vec![T::default(); count * BLOCK] }
    }

    /// Multiplies the rows of a block (row-major) with all probes.
    pub fn multiply(&self, rows: &[T], products: &mut Products<T>) {
        let dim = self.matrix.ncols();
        let len = rows.len() / dim;
        let rows = MatRef::from_column_major_slice(rows, dim, len);
        for k in (0..dim).step_by(RUN) {
            let run = RUN.min(dim - k);
            let accumulate = if k == 0 { Accum::Replace } else { Accum::Add };
            let out = products.transposed.as_mut().subcols_mut(0, len);
            let probes = self.matrix.as_ref().subcols(k, run);
            thin_product(out, accumulate, probes, rows.subrows(k, run));
        }
        transpose(&products.transposed, len, &mut products.columns);
    }
}

impl<T: Real> Products<T> {
    /// Returns the products of the first `len` rows with probe `j`.
    pub fn of(&self, j: usize, len: usize) -> &[T] {
        &self.columns[j * BLOCK..][..len]
    }

    /// Returns Σ_j weight_j · c_j² over the probes from `from` on, for the first `len` rows.
    pub fn squares(&self, from: usize, weights: impl Iterator<Item = f64>, len: usize) -> Vec<f64> {
        let mut sums = vec![0.0; len];
        for (j, weight) in weights.enumerate() {
            for (sum, &c) in sums.iter_mut().zip(self.of(from + j, len)) {
                *sum += weight * c.get() * c.get();
            }
        }
        sums
    }

    /// Computes VTL's sums of a block, from its products with the columns of the root, which start at probe `from`.
    pub fn sum_squares(&self, root: &SquareRoot, from: usize, gamma: f64, numbers: &mut ColdNumbers<T>) {
        let sums = self.squares(from, root.columns.iter().map(|_| 1.0), numbers.var.len());
        numbers.second = sums.iter().map(|&q| T::of(q)).collect();
        let off = root.error_per_root(gamma);
        numbers.second_error = sums.iter().map(|q| (off * q.sqrt()) as f32).collect();
    }
}

/// Copies the first `columns` numbers of each row of a matrix to a run of numbers, at distances of [`BLOCK`].
fn transpose<T: Copy + Default>(from: &Mat<T>, columns: usize, to: &mut [T]) {
    let rows = from.nrows();
    for (i, j) in (0..rows).step_by(TILE).flat_map(|i| (0..columns).step_by(TILE).map(move |j| (i, j))) {
        if rows < i + TILE || columns < j + TILE {
            for (i, j) in (i..rows.min(i + TILE)).flat_map(|i| (j..columns.min(j + TILE)).map(move |j| (i, j))) {
                to[i * BLOCK + j] = from[(i, j)];
            }
            continue;
        }
        let mut tile = [[T::default(); TILE]; TILE];
        for (k, row) in tile.iter_mut().enumerate() {
            row.copy_from_slice(&from.col_as_slice(j + k)[i..i + TILE]);
        }
        for k in 0..TILE {
            for (l, out) in to[(i + k) * BLOCK + j..][..TILE].iter_mut().enumerate() {
                *out = tile[l][k];
            }
        }
    }
}

/// The functionals of some picks in one matrix, ready to be applied to any block of rows.
pub(crate) struct BlockSteps<'s, T> {
    steps: Vec<&'s PickStep>,
    probes: Probes<T>,
    /// Number of functionals per step.
    wide: usize,
    /// Whether the second number is replaced at each step (CTL).
    std_cov: bool,
    /// The step before which VTL's sums are recomputed, and their root.
    root: Option<(usize, &'s SquareRoot)>,
    gamma: f64,
}

/// The numbers of a block.
#[derive(Default, Clone)]
pub(crate) struct ColdNumbers<T> {
    pub var: Vec<T>,
    /// Var f_x given the targets as well, the sum of squared covariances, or the covariance with the standardised targets.
    pub second: Vec<T>,
    /// Largest error of the sum of squared covariances that comes from the rounding of products, in units of ‖φ‖; empty if
    /// not needed. The error only grows, so the latest value is valid for all steps.
    pub second_error: Vec<f32>,
}

impl<T: Real> ColdNumbers<T> {
    /// Copies all numbers except the errors, reusing the allocated memory.
    pub fn copy(&mut self, from: &Self) {
        self.var.clone_from(&from.var);
        self.second.clone_from(&from.second);
    }
}

/// What the numbers of a row mean.
#[derive(Clone, Copy)]
pub(super) struct RowMeaning<'a> {
    pub rule: &'a dyn Rule,
    pub noise_var: f64,
}

impl RowMeaning<'_> {
    /// Returns the numbers of some rows as a rule reads them, without errors.
    pub fn bounded<'b, T: Real>(self, numbers: &'b ColdNumbers<T>, norm_sq: &'b [T]) -> BlockBounds<'b> {
        let wants = self.rule.wants();
        // CTL's second number is its covariance with the targets.
        let (second, std_cov): (&[T], &[T]) =
            if wants.std_cov { (&[], &numbers.second) } else { (&numbers.second, &[]) };
        BlockBounds {
            var: T::view(&numbers.var),
            second: T::view(second),
            std_cov: T::view(std_cov),
            norm_sq: T::view(norm_sq),
            second_errors: &[],
            var_error: 0.0,
            second_error: 0.0,
            std_cov_error: 0.0,
            noise_var: self.noise_var,
            second_is_sum: wants.sq_cov,
        }
    }
}

impl<'s, T: Real> BlockSteps<'s, T> {
    /// `after` is CTL's functional after the steps. If a `root` is given, VTL's sums are recomputed before that step.
    pub fn new(
        pool: Embeddings<'_>,
        steps: impl Iterator<Item = &'s PickStep>,
        after: Option<&'s [f64]>,
        root: Option<(usize, &'s SquareRoot)>,
    ) -> Self {
        let steps: Vec<&PickStep> = steps.collect();
        let of_step = |step: &&'s PickStep| [Some(&step.data[..]), step.second.weights()].into_iter().flatten();
        let columns = root.map_or(&[][..], |(_, root)| &root.columns);
        let all = steps.iter().flat_map(of_step).chain(after).chain(columns.iter().map(Vec::as_slice));
        let probes = Probes::new(pool.dim(), all);
        let wide = steps.first().map_or(1, |step| 1 + usize::from(step.second.weights().is_some()));
        Self { steps, probes, wide, std_cov: after.is_some(), root, gamma: gamma::<T>(pool.transform(), pool.dim()) }
    }

    pub fn room(&self) -> Products<T> {
        self.probes.room()
    }

    /// Applies all steps, and calls `at` with the numbers before each step and after the last.
    pub fn apply(
        &self,
        rows: &[T],
        products: &mut Products<T>,
        numbers: &mut ColdNumbers<T>,
        mut at: impl FnMut(usize, &ColdNumbers<T>),
    ) {
        let len = numbers.var.len();
        self.probes.multiply(rows, products);
        for t in 0..=self.steps.len() {
            if self.std_cov {
                // The functional before step t is stored next to it; the one after the last step stands alone.
                let column = self.wide * t + usize::from(t < self.steps.len());
                numbers.second.copy_from_slice(products.of(column, len));
            }
            if let Some((_, root)) = self.root.filter(|(at, _)| *at == t) {
                products.sum_squares(root, self.wide * self.steps.len(), self.gamma, numbers);
            }
            at(t, numbers);
            if let Some(step) = self.steps.get(t) {
                let other = (self.wide > 1).then(|| products.of(self.wide * t + 1, len));
                self.apply_one(step, products.of(self.wide * t, len), other, numbers);
            }
        }
    }

    /// Updates the numbers of some rows for a pick, from their products with its functionals.
    fn apply_one(&self, step: &PickStep, first: &[T], other: Option<&[T]>, numbers: &mut ColdNumbers<T>) {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || self.apply_in_vectors(step, first, other, numbers),
        );
    }

    /// The same, for loops that are compiled for the vectors of this machine.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn apply_in_vectors(&self, step: &PickStep, first: &[T], other: Option<&[T]>, numbers: &mut ColdNumbers<T>) {
        let ColdNumbers { var, second, second_error } = numbers;
        let inverse = T::of(1.0 / step.total);
        match (&step.second, other) {
            (SecondNumber::Joint { total, .. }, Some(other)) => {
                let joint_inverse = T::of(1.0 / total);
                for (u, &g) in second.iter_mut().zip(other) {
                    *u = variance_after(*u, g, joint_inverse);
                }
            }
            (SecondNumber::Squares { weights, norm_sq: c }, Some(other)) => {
                let c_sq = T::of(*c);
                for ((q, &g), &h) in second.iter_mut().zip(first).zip(other) {
                    *q = squares_after(*q, g, h, inverse, c_sq);
                }
                // With ĝ off by a‖φ‖ and ĥ by b‖φ‖: (2/p)(|ĝ|b + |ĥ|a) + 2|ĝ|a·‖c‖²/p², times ‖φ‖.
                let (a, b) = (self.gamma * norm_sq(&step.data).sqrt(), self.gamma * norm_sq(weights).sqrt());
                let of_g = (2.0 / step.total * (b + a * c / step.total)) as f32;
                let of_h = (2.0 / step.total * a) as f32;
                for ((error, &g), &h) in second_error.iter_mut().zip(first).zip(other) {
                    *error += of_g * g.size() + of_h * h.size();
                }
            }
            _ => {}
        }
        for (v, &g) in var.iter_mut().zip(first) {
            *v = variance_after(*v, g, inverse);
        }
    }
}
