//! The linear kernel in weight space: f_x = φ_x·β with β ~ N(0, Σ), where Σ = I before any observation.

use std::sync::Arc;

use faer::{Mat, MatRef};
use rayon::prelude::*;

use super::Variance;
use crate::base::algebra::{axpy, dot, matrix, norm_sq, project, zeros};

/// Smallest number of observations at which they are folded into the base, whatever the dimension.
const FEWEST_STEPS: usize = 64;

/// Divisor of the dimension from which on a base is completed by directions about which nothing is known. Most rows then lie
/// nearly within its span, and what is left of each would have to be computed explicitly, which takes long in so many
/// dimensions.
const SPANS_MUCH: usize = 2;
const MANY_DIMENSIONS: usize = 64;

/// Number of observations whose functionals are kept side by side, to multiply blocks of rows with them.
const BLOCK_OF_STEPS: usize = 64;

/// Number of columns that one thread multiplies at a time with a block of rows.
const COLUMNS: usize = 128;

/// Number of entries from which on several threads share a sum over columns, and how many columns or rows each takes.
const SHARED: usize = 1 << 17;
const SHARE_OF_COLUMNS: usize = 32;
const SHARE_OF_ROWS: usize = 64;

/// Share of a vector below which a component is rounding.
const IN_SPAN: f64 = 16.0 * f64::EPSILON;

/// Covariance Σ = (I − VVᵀ) + V·diag(shrink)·Vᵀ − Σᵢ wᵢwᵢᵀ/pᵢ: a base from one decomposition, and the observations made
/// since.
///
/// The base is a sum of positive parts, so small variances keep their digits. The steps subtract.
#[derive(Clone)]
pub(crate) struct LinearLaw {
    dim: usize,
    /// V: dim × rank, with orthonormal columns.
    basis: Arc<Mat<f64>>,
    /// Variance along each column of V; zero if f is known exactly.
    shrink: Vec<f64>,
    steps: Vec<Arc<Observation>>,
    /// The functionals w = Σφ of every [`BLOCK_OF_STEPS`] steps, as columns, then those of the last steps, which are too few
    /// for a block.
    blocks: Vec<Arc<Mat<f64>>>,
    last: Vec<Arc<[f64]>>,
}

struct Observation {
    row: Vec<f64>,
    noise_var: f64,
    /// p = φᵀΣφ + ρ² at the time of the observation.
    total: f64,
}

impl LinearLaw {
    pub fn prior(dim: usize) -> Self {
        let (shrink, steps, blocks, last) = Default::default();
        Self { dim, basis: Arc::new(zeros(dim, 0)), shrink, steps, blocks, last }
    }

    pub fn observe_all(&mut self, points: &[f64], noise_vars: &[f64]) {
        let (exact, noisy): (Vec<_>, Vec<_>) =
            points.chunks_exact(self.dim).zip(noise_vars).partition(|&(_, &noise_var)| noise_var == 0.0);
        let exact: Vec<&[f64]> = exact.into_iter().map(|(row, _)| row).collect();
        self.decompose(&exact, &noisy.into_iter().map(|(row, &noise_var)| (row, noise_var)).collect::<Vec<_>>());
    }

    /// Folds the steps into the base. Returns whether there were any.
    pub fn rebase(&mut self) -> bool {
        if self.steps.is_empty() {
            return false;
        }
        self.decompose(&[], &[]);
        true
    }

    /// Recomputes Σ given all earlier observations and these rows: (I + MᵀM)⁻¹, where M has the rows φ/ρ, from the singular
    /// values of M. Rows that are known exactly are projected out first.
    fn decompose(&mut self, exact: &[&[f64]], noisy: &[(&[f64], f64)]) {
        let dim = self.dim;
        let mut exact_rows: Vec<Vec<f64>> = exact.iter().map(|row| row.to_vec()).collect();
        let mut scaled: Vec<Vec<f64>> = Vec::new();
        for (j, &shrink) in self.shrink.iter().enumerate() {
            let column = self.column(j);
            if shrink == 0.0 {
                exact_rows.push(column.to_vec());
            } else if shrink < 1.0 {
                // 1/(1 + s²) = shrink: the row s·v represents all rows that led to this shrinkage.
                let s = (1.0 / shrink - 1.0).max(0.0).sqrt();
                scaled.push(column.iter().map(|v| s * v).collect());
            }
        }
        let earlier = self.steps.iter().map(|step| (&step.row[..], step.noise_var));
        for (row, noise_var) in earlier.chain(noisy.iter().copied()) {
            let inverse = noise_var.sqrt().recip();
            scaled.push(row.iter().map(|x| x * inverse).collect());
        }

        let (span, sizes) = right_singular(&exact_rows, dim);
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let rank = sizes.iter().filter(|&&s| s > largest * IN_SPAN * (dim.max(exact_rows.len()) as f64)).count();
        let mut columns: Vec<Vec<f64>> = span.into_iter().take(rank).collect();
        for row in &mut scaled {
            remove_span(&columns, row);
        }
        let (directions, sizes) = right_singular(&scaled, dim);
        let mut shrink = vec![0.0; rank];
        for (direction, s) in directions.into_iter().zip(sizes) {
            let var = 1.0 / (1.0 + s * s);
            if var < 1.0 {
                columns.push(direction);
                shrink.push(var);
            }
        }
        if dim >= MANY_DIMENSIONS && columns.len() < dim && SPANS_MUCH * columns.len() >= dim {
            columns.extend(complement(&columns, dim));
            shrink.resize(dim, 1.0);
        }
        self.basis = Arc::new(matrix(dim, columns.len(), |i, j| columns[j][i]));
        self.shrink = shrink;
        self.steps.clear();
        self.blocks.clear();
        self.last.clear();
    }

    /// Returns V and the variances along its columns, which are the whole law once it is rebased.
    pub fn base(&self) -> (MatRef<'_, f64>, &[f64]) {
        ((*self.basis).as_ref(), &self.shrink)
    }

    fn column(&self, j: usize) -> &[f64] {
        self.basis.col_as_slice(j)
    }

    /// Returns whether V spans everything, so that nothing is left of φ besides its coordinates.
    fn is_complete(&self) -> bool {
        self.shrink.len() == self.dim
    }

    fn columns(&self) -> Vec<&[f64]> {
        (0..self.shrink.len()).map(|j| self.column(j)).collect()
    }

    /// Splits φ into its coordinates along V and the rest.
    fn split(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let columns = self.columns();
        let coordinates = products(&columns, x);
        if self.is_complete() {
            return (coordinates, vec![0.0; self.dim]);
        }
        let mut rest = x.to_vec();
        add_columns(&columns, coordinates.iter().map(|c| -c), &mut rest);
        if norm_sq(&rest) < 0.1 * norm_sq(x) {
            // Cancellation leaves parts of the span behind; a second projection removes them.
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || {
                    for column in &columns {
                        let c = dot(column, &rest);
                        axpy(-c, column, &mut rest);
                    }
                },
            );
            let rounding = IN_SPAN * IN_SPAN * (self.dim as f64) * norm_sq(x);
            if norm_sq(&rest) < rounding {
                rest.fill(0.0);
            }
        }
        (coordinates, rest)
    }

    /// Returns the functionals of all steps.
    fn step_weights(&self) -> Vec<&[f64]> {
        let columns = |block: &'_ Arc<Mat<f64>>| 0..block.ncols();
        let in_blocks = self.blocks.iter().flat_map(|block| columns(block).map(|j| block.col_as_slice(j)));
        in_blocks.chain(self.last.iter().map(|weights| &weights[..])).collect()
    }

    /// Returns the covariances of f_x with all steps.
    fn step_covs(&self, x: &[f64]) -> Vec<f64> {
        products(&self.step_weights(), x)
    }

    /// Returns Σφ, given the parts of φ and its covariances with the steps.
    fn combine(&self, coordinates: &[f64], rest: Vec<f64>, covs: &[f64]) -> Vec<f64> {
        let mut weights = rest;
        add_columns(&self.columns(), coordinates.iter().zip(&self.shrink).map(|(c, shrink)| c * shrink), &mut weights);
        add_columns(&self.step_weights(), covs.iter().zip(&self.steps).map(|(g, step)| -g / step.total), &mut weights);
        weights
    }

    /// Returns Σφ for φ = Σ c·x.
    pub fn functional(&self, terms: &[(f64, &[f64])]) -> Vec<f64> {
        let mut phi = vec![0.0; self.dim];
        for (c, x) in terms {
            axpy(*c, x, &mut phi);
        }
        self.weights_of(&phi)
    }

    fn weights_of(&self, phi: &[f64]) -> Vec<f64> {
        let (coordinates, rest) = self.split(phi);
        self.combine(&coordinates, rest, &self.step_covs(phi))
    }

    pub fn var(&self, x: &[f64]) -> Variance {
        let (coordinates, rest) = self.split(x);
        self.after_steps(&self.step_covs(x), self.base_var(&coordinates, &rest))
    }

    /// Returns Var f_x under the base, of the parts of φ.
    fn base_var(&self, coordinates: &[f64], rest: &[f64]) -> f64 {
        let along: f64 = coordinates.iter().zip(&self.shrink).map(|(c, shrink)| c * c * shrink).sum();
        norm_sq(rest) + along
    }

    /// Returns Var f_x and Σφ, which have most of their terms in common.
    pub fn var_and_functional(&self, x: &[f64]) -> (Variance, Vec<f64>) {
        let (coordinates, rest) = self.split(x);
        let covs = self.step_covs(x);
        let var = self.after_steps(&covs, self.base_var(&coordinates, &rest));
        (var, self.combine(&coordinates, rest, &covs))
    }

    /// Returns the law after the first `count` steps since `before`, from which this law comes; `None` if the steps have been
    /// folded since.
    pub fn cut(&self, before: &Self, count: usize) -> Option<Self> {
        let len = before.steps.len() + count;
        let is_later = Arc::ptr_eq(&self.basis, &before.basis) && len <= self.steps.len();
        if !is_later {
            return None;
        }
        let whole = len / BLOCK_OF_STEPS;
        let rest = 0..len % BLOCK_OF_STEPS;
        let last = match self.blocks.get(whole) {
            Some(block) => rest.map(|j| block.col_as_slice(j).into()).collect(),
            None => self.last[rest].to_vec(),
        };
        Some(Self { steps: self.steps[..len].to_vec(), blocks: self.blocks[..whole].to_vec(), last, ..before.clone() })
    }

    /// Returns Var f_x. Folds the steps into the base first if they have lost its digits.
    pub fn sound_var(&mut self, x: &[f64]) -> f64 {
        let mut var = self.var(x);
        if var.is_lost() && self.rebase() {
            var = self.var(x);
        }
        var.value.max(0.0)
    }

    fn after_steps(&self, covs: &[f64], base: f64) -> Variance {
        let value = covs.iter().zip(&self.steps).fold(base, |v, (g, step)| v - g * g / step.total);
        Variance { value, scale: base }
    }

    pub fn push(&mut self, x: &[f64], weights: Vec<f64>, noise_var: f64, total: f64) {
        self.steps.push(Arc::new(Observation { row: x.to_vec(), noise_var, total }));
        self.last.push(weights.into());
        if self.folds_within(0) {
            self.rebase();
        } else if self.last.len() == BLOCK_OF_STEPS {
            self.blocks.push(Arc::new(self.side_by_side()));
            self.last.clear();
        }
    }

    /// Returns whether the steps are folded into the base before so many more are made. A base has at most one column per
    /// dimension, so the cost of a pick does not grow with the number of picks. Folding saves nothing as long as there are
    /// hardly more steps than columns, and takes as long as hundreds of picks.
    pub fn folds_within(&self, steps: usize) -> bool {
        self.steps.len() + steps > (2 * self.dim).max(FEWEST_STEPS)
    }

    /// Returns whether a functional takes long enough to be worth another thread.
    pub fn is_large(&self) -> bool {
        (self.shrink.len() + self.steps.len()) * self.dim >= SHARED
    }

    /// Returns the functionals of the last steps as columns.
    fn side_by_side(&self) -> Mat<f64> {
        matrix(self.dim, self.last.len(), |i, j| self.last[j][i])
    }

    /// Computes the variances of a block of rows from scratch.
    pub fn scan_vars(&self, rows: &[f64], out: &mut [Variance]) {
        self.scanner().scan(rows, out);
    }

    /// Prepares to compute the variances of several blocks of rows.
    pub fn scanner(&self) -> Scanner<'_> {
        Scanner { law: self, last: self.side_by_side() }
    }

    pub fn scan(&self, weights: &[f64], rows: &[f64], out: &mut [f64]) {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for (x, out) in rows.chunks_exact(self.dim).zip(out) {
                    *out = dot(x, weights);
                }
            },
        );
    }

    /// Returns columns R with RRᵀ = ΣΨᵀΨΣ for the points Ψ: ΣΨᵀ itself, or its left singular vectors if it is wide.
    pub fn root_of(&self, points: &[f64]) -> Vec<Vec<f64>> {
        let columns: Vec<Vec<f64>> = points.chunks_exact(self.dim).map(|x| self.weights_of(x)).collect();
        if columns.len() <= self.dim {
            return columns;
        }
        let (directions, sizes) = right_singular(&columns, self.dim);
        directions.into_iter().zip(sizes).map(|(direction, s)| direction.into_iter().map(|v| v * s).collect()).collect()
    }
}

/// Computes the variances of blocks of rows from scratch.
pub(crate) struct Scanner<'l> {
    law: &'l LinearLaw,
    /// The functionals of the steps after the last block, one per column.
    last: Mat<f64>,
}

impl Scanner<'_> {
    pub fn scan(&self, rows: &[f64], out: &mut [Variance]) {
        let Self { law, last } = self;
        let basis = (*law.basis).as_ref();
        let parts =
            (0..basis.ncols()).step_by(COLUMNS).map(|from| basis.subcols(from, COLUMNS.min(basis.ncols() - from)));
        let bases = parts.len();
        let steps = law.blocks.iter().map(|block| (**block).as_ref()).chain([last.as_ref()]);
        let parts: Vec<MatRef<'_, f64>> = parts.chain(steps).collect();
        let of_part = |part: &MatRef<'_, f64>| project(rows, *part);
        let products: Vec<Mat<f64>> =
            if parts.len() > 2 { parts.par_iter().map(of_part).collect() } else { parts.iter().map(of_part).collect() };
        let (coordinates, covs) = products.split_at(bases);
        let mut wholes = vec![0.0; out.len()];
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for (x, whole) in rows.chunks_exact(law.dim).zip(&mut wholes) {
                    *whole = norm_sq(x);
                }
            },
        );
        for (i, (x, out)) in rows.chunks_exact(law.dim).zip(out).enumerate() {
            let whole = wholes[i];
            let (mut inside, mut along) = (0.0, 0.0);
            for (c, shrink) in row_of(coordinates, i).zip(&law.shrink) {
                let sq = c * c;
                inside += sq;
                along += sq * shrink;
            }
            // Most rows lie well outside the span. For the others, the rest is computed explicitly instead of by
            // subtraction.
            let everything = law.is_complete();
            *out = if everything || whole - inside > 1e-3 * whole || law.shrink.is_empty() {
                let base = if everything { along } else { whole - inside + along };
                let taken: f64 = row_of(covs, i).zip(&law.steps).map(|(g, step)| g.powi(2) / step.total).sum();
                Variance { value: base - taken, scale: base }
            } else {
                law.var(x)
            };
        }
    }
}

/// Returns a row of matrices that lie side by side.
fn row_of(parts: &[Mat<f64>], i: usize) -> impl Iterator<Item = f64> {
    parts.iter().flat_map(move |part| (0..part.ncols()).map(move |j| part[(i, j)]))
}

/// Returns the products of columns with a vector.
fn products(columns: &[&[f64]], x: &[f64]) -> Vec<f64> {
    let of = |columns: &[&[f64]]| -> Vec<f64> {
        let mut out = vec![0.0; columns.len()];
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for (out, column) in out.iter_mut().zip(columns) {
                    *out = dot(column, x);
                }
            },
        );
        out
    };
    if columns.len() * x.len() < SHARED {
        return of(columns);
    }
    columns.par_chunks(SHARE_OF_COLUMNS).map(of).collect::<Vec<_>>().concat()
}

/// Adds multiples of columns to a vector, column by column, on any number of threads.
fn add_columns(columns: &[&[f64]], factors: impl Iterator<Item = f64>, to: &mut [f64]) {
    let factors: Vec<f64> = factors.collect();
    let add = |from: usize, to: &mut [f64]| {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for (factor, column) in factors.iter().zip(columns) {
                    axpy(*factor, &column[from..from + to.len()], to);
                }
            },
        );
    };
    if columns.len() * to.len() < SHARED {
        return add(0, to);
    }
    to.par_chunks_mut(SHARE_OF_ROWS).enumerate().for_each(|(i, to)| add(i * SHARE_OF_ROWS, to));
}

/// Returns at most `dim` rows Ψ′ with Ψ′ᵀΨ′ = ΨᵀΨ for the points Ψ.
pub(crate) fn condense(points: &[f64], dim: usize) -> Vec<f64> {
    let r = MatRef::from_row_major_slice(points, points.len() / dim, dim).to_owned().qr().thin_R().to_owned();
    (0..r.nrows()).flat_map(|i| (0..dim).map(move |j| (i, j))).map(|at| r[at]).collect()
}

/// Returns the right singular vectors and the singular values, in decreasing order, of the matrix with these rows.
fn right_singular(rows: &[Vec<f64>], dim: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    if rows.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut matrix = matrix(rows.len(), dim, |i, j| rows[i][j]);
    if rows.len() > dim {
        // RᵀR is the same matrix, and R is smaller.
        matrix = matrix.qr().thin_R().to_owned();
    }
    let svd = matrix.thin_svd().expect("finite rows have a singular value decomposition");
    let (v, s): (MatRef<'_, f64>, _) = (svd.V(), svd.S().column_vector());
    let directions = (0..v.ncols()).map(|j| (0..dim).map(|i| v[(i, j)]).collect()).collect();
    (directions, (0..v.ncols()).map(|j| s[j]).collect())
}

/// Returns orthonormal columns that span everything outside the span of orthonormal columns.
fn complement(columns: &[Vec<f64>], dim: usize) -> Vec<Vec<f64>> {
    let all = matrix(dim, columns.len(), |i, j| columns[j][i]).qr().compute_Q();
    (columns.len()..dim).map(|j| (0..dim).map(|i| all[(i, j)]).collect()).collect()
}

/// Projects the span of orthonormal columns out of a row, twice for accuracy.
fn remove_span(columns: &[Vec<f64>], row: &mut [f64]) {
    for _ in 0..2 {
        for column in columns {
            let c = dot(column, row);
            axpy(-c, column, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_observation_by_hand() {
        // φ = (1, 0) observed with ρ² = 1/3: Var f = 1 − 1/(1 + 1/3) = 1/4; (0, 1) stays at 1.
        let mut law = LinearLaw::prior(2);
        law.observe_all(&[1.0, 0.0], &[1.0 / 3.0]);
        assert!((law.var(&[1.0, 0.0]).value - 0.25).abs() < 1e-15);
        assert!((law.var(&[0.0, 1.0]).value - 1.0).abs() < 1e-15);
    }

    #[test]
    fn rebasing_changes_nothing() {
        let mut law = LinearLaw::prior(3);
        law.observe_all(&[1.0, 2.0, 0.5, 0.3, 0.0, -1.0], &[0.1, 0.0]);
        for x in [[0.2, -1.0, 0.4], [1.0, 1.0, 1.0]] {
            let weights = law.functional(&[(1.0, &x)]);
            let total = law.var(&x).value + 0.2;
            law.push(&x, weights, 0.2, total);
        }
        let mut rebased = law.clone();
        assert!(rebased.rebase());
        for x in [[1.0, 0.0, 0.0], [0.3, 0.0, -1.0], [-2.0, 0.7, 0.1]] {
            assert!((law.var(&x).value - rebased.var(&x).value).abs() < 1e-13);
            for (a, b) in law.weights_of(&x).iter().zip(rebased.weights_of(&x)) {
                assert!((a - b).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn a_variance_and_its_functional_are_those_that_are_computed_apart() {
        let mut law = LinearLaw::prior(3);
        law.observe_all(&[1.0, 2.0, 0.5, 0.3, 0.0, -1.0], &[0.1, 0.0]);
        let before = law.clone();
        for x in [[0.2, -1.0, 0.4], [1.0, 1.0, 1.0], [0.5, 0.25, -2.0]] {
            let (var, weights) = law.var_and_functional(&x);
            assert_eq!(var.value, law.var(&x).value);
            assert_eq!(var.scale, law.var(&x).scale);
            assert_eq!(weights, law.functional(&[(1.0, &x)]));
            law.push(&x, weights, 0.2, var.value + 0.2);
        }
        let cut = law.cut(&before, 2).unwrap();
        assert_eq!(cut.steps.len(), 2);
        assert!(law.rebase() && law.cut(&before, 1).is_none());
    }

    #[test]
    fn a_base_that_spans_much_is_completed_and_stays_the_same_law() {
        let dim = MANY_DIMENSIONS;
        let rows =
            |count: usize| -> Vec<f64> { (0..count * dim).map(|at| ((at * at % 4093) as f64 * 0.7).sin()).collect() };
        for (count, columns) in [(dim / 2 - 1, dim / 2 - 1), (dim / 2, dim), (dim - 1, dim)] {
            let mut law = LinearLaw::prior(dim);
            law.observe_all(&rows(count), &vec![0.3; count]);
            let (basis, shrink) = law.base();
            assert_eq!((basis.ncols(), shrink.len()), (columns, columns));
            for a in 0..columns {
                for b in 0..columns {
                    let product: f64 = (0..dim).map(|i| basis[(i, a)] * basis[(i, b)]).sum();
                    assert!((product - f64::from(u8::from(a == b))).abs() < 1e-14);
                }
            }
            // The same observations one by one.
            let mut steps = LinearLaw::prior(dim);
            for x in rows(count).chunks(dim) {
                let (var, weights) = steps.var_and_functional(x);
                steps.push(x, weights, 0.3, var.value + 0.3);
            }
            for x in rows(2 * dim).chunks(dim) {
                assert!((law.var(x).value - steps.var(x).value).abs() < 1e-11);
                let pairs = law.weights_of(x).into_iter().zip(steps.weights_of(x));
                pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
            }
        }
    }

    #[test]
    fn many_long_columns_are_summed_as_few_are() {
        // Large enough for several threads, and for blocks of steps.
        let (dim, count) = (700, 200);
        let row = |i: usize| -> Vec<f64> { (0..dim).map(|j| ((i * 7919 + j * 31) as f64 * 0.013).sin()).collect() };
        let prior = LinearLaw::prior(dim);
        let (mut law, mut all) = (prior.clone(), Vec::new());
        for i in 0..count {
            let (var, weights) = law.var_and_functional(&row(i));
            all.push((weights.clone(), var.value + 0.5));
            law.push(&row(i), weights, 0.5, var.value + 0.5);
        }
        assert!(law.is_large() && law.blocks.len() == count / BLOCK_OF_STEPS);
        let x = row(count + 1);
        let (var, weights) = law.var_and_functional(&x);
        let mut direct = x.clone();
        let mut value = norm_sq(&x);
        for (weights, total) in &all {
            let g = dot(weights, &x);
            axpy(-g / total, weights, &mut direct);
            value -= g * g / total;
        }
        assert_eq!((var.value, weights), (value, direct));
        let mut scanned = [Variance::ZERO; 2];
        law.scan_vars(&[x.clone(), row(3)].concat(), &mut scanned);
        assert!((scanned[0].value - value).abs() < 1e-12 * norm_sq(&x));
        assert!((scanned[1].value - law.var(&row(3)).value).abs() < 1e-12 * norm_sq(&row(3)));
        let before = law.cut(&prior, 100).expect("nothing was folded");
        for count in [0, 27, 28, 29, 40, 92, 95, 100] {
            let cut = law.cut(&before, count).expect("nothing was folded");
            assert_eq!((cut.steps.len(), cut.blocks.len()), (100 + count, (100 + count) / BLOCK_OF_STEPS));
            let expected: Vec<&[f64]> = all[..100 + count].iter().map(|(weights, _)| &weights[..]).collect();
            assert_eq!(cut.step_weights(), expected);
        }
        let held = law.blocks.len() * BLOCK_OF_STEPS + law.last.len();
        assert_eq!(held, count, "every functional is held once");
    }

    #[test]
    fn tiny_noise_leaves_tiny_variance_with_its_digits() {
        // One observation with ρ = 1e-6 at norm 1e3 leaves ρ²·v/(v + ρ²) ≈ 1e-12; plain subtraction is off by 1e-10.
        let x = [600.0, 800.0];
        let mut law = LinearLaw::prior(2);
        law.observe_all(&x, &[1e-12]);
        assert!((law.var(&x).value / 1e-12 - 1.0).abs() < 1e-6);
    }
}
