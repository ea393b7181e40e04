//! Steps taken by whole blocks of rows: one matrix product, then a few operations a row and step.

use faer::{Accum, Mat, MatRef};

use super::real::Real;
use super::{Second, State, Step};
use crate::algebra::{norm_sq, product};
use crate::embeddings::BLOCK;

/// Terms that are summed in f32 before they join a longer sum.
const RUN: usize = 512;

/// A product of vectors summed in runs of [`RUN`] terms is off by at most γ‖φ‖‖w‖ (Higham 2002, §3.1), with the rounding of the
/// probe and, where it is not of the type already, of the row.
pub(crate) fn gamma<T: Real>(dim: usize) -> f64 {
    1.01 * T::UNIT * (dim.min(RUN) + dim.div_ceil(RUN) + 3) as f64
}

/// Some functionals.
pub(crate) struct Probes<T> {
    /// Probes × dimensions: the product then needs no copy of either side.
    matrix: Mat<T>,
}

/// Room for the products of one block.
pub(crate) struct Products<T> {
    /// Probes × rows, as the product makes them.
    made: Mat<T>,
    /// Rows × probes.
    columns: Mat<T>,
}

impl<T: Real> Probes<T> {
    pub fn new<'w>(dim: usize, probes: impl IntoIterator<Item = &'w [f64]>) -> Self {
        let probes: Vec<&[f64]> = probes.into_iter().collect();
        Self { matrix: Mat::from_fn(probes.len(), dim, |j, i| T::of(probes[j][i])) }
    }

    pub fn room(&self) -> Products<T> {
        let count = self.matrix.nrows();
        Products { made: Mat::zeros(count, BLOCK), columns: Mat::zeros(BLOCK, count) }
    }

    /// Multiplies the rows of a block, one after the other in `rows`, with all probes.
    pub fn multiply(&self, rows: &[T], products: &mut Products<T>) {
        let dim = self.matrix.ncols();
        let len = rows.len() / dim;
        let rows = MatRef::from_column_major_slice(rows, dim, len);
        for k in (0..dim).step_by(RUN) {
            let run = RUN.min(dim - k);
            let accumulate = if k == 0 { Accum::Replace } else { Accum::Add };
            let made = products.made.as_mut().subcols_mut(0, len);
            let probes = self.matrix.as_ref().subcols(k, run);
            product(made, accumulate, probes, rows.subrows(k, run), T::of(1.0));
        }
        products.columns.as_mut().subrows_mut(0, len).copy_from(products.made.as_ref().subcols(0, len).transpose());
    }
}

impl<T: Real> Products<T> {
    /// The first `len` rows' products with probe `j`.
    pub fn of(&self, j: usize, len: usize) -> &[T] {
        &self.columns.col_as_slice(j)[..len]
    }

    /// Σ_j weight_j · c_j² over some probes, for the first `len` rows.
    pub fn squares(&self, from: usize, weights: impl Iterator<Item = f64>, len: usize) -> Vec<f64> {
        let mut sums = vec![0.0; len];
        for (j, weight) in weights.enumerate() {
            for (sum, &c) in sums.iter_mut().zip(self.of(from + j, len)) {
                *sum += weight * c.get() * c.get();
            }
        }
        sums
    }
}

/// Functionals whose squared covariances with f_x add up to VTL's sum.
pub(crate) struct Root {
    pub columns: Vec<Vec<f64>>,
    norm_sq: f64,
}

impl Root {
    pub fn of(state: &State) -> Option<Self> {
        let targets = state.targets.as_ref().filter(|_| state.wants.sq_cov)?;
        let columns = state.data.root_of(&targets.points);
        let norm_sq = columns.iter().map(|column| norm_sq(column)).sum();
        Some(Self { columns, norm_sq })
    }

    /// The error of a sum beside those that are kept for every row, in ‖φ‖².
    pub fn error<T: Real>(&self, dim: usize) -> f64 {
        (gamma::<T>(dim).powi(2) + 4.0 * T::UNIT) * self.norm_sq
    }

    /// The sums of a block, from the products with the columns, which start at probe `from`.
    pub fn sum<T: Real>(&self, products: &Products<T>, from: usize, numbers: &mut Numbers<T>) {
        let sums = products.squares(from, self.columns.iter().map(|_| 1.0), numbers.var.len());
        numbers.second = sums.iter().map(|&q| T::of(q)).collect();
        // Each c_a is off by γ‖φ‖‖r_a‖: 2γ·√q·√(Σ_a ‖r_a‖²), times ‖φ‖, by Cauchy and Schwarz.
        let off = 2.01 * gamma::<T>(self.columns[0].len()) * self.norm_sq.sqrt();
        numbers.second_error = sums.iter().map(|q| (off * q.sqrt()) as f32).collect();
    }
}

/// Some steps, ready to be taken by any block of rows.
pub(crate) struct Walk<'s, T> {
    steps: Vec<&'s Step>,
    probes: Probes<T>,
    /// Functionals a step.
    wide: usize,
    /// Whether the second number is read anew at each step (CTL).
    std_cov: bool,
    /// Where VTL's sums are computed anew.
    anew: Option<(usize, Root)>,
    gamma: f64,
}

/// A block's numbers.
#[derive(Default, Clone)]
pub(crate) struct Numbers<T> {
    pub var: Vec<T>,
    /// Var f_x given the targets too, the sum of squared covariances, or the covariance with the standardised targets.
    pub second: Vec<T>,
    /// How far the sum of squared covariances may be off for the rounding of products, in ‖φ‖; empty where nobody asks. It only
    /// grows, so that the last is good for all.
    pub second_error: Vec<f32>,
}

impl<T: Real> Numbers<T> {
    /// Becomes a copy but for the errors, in the room that it has.
    pub fn copy(&mut self, from: &Self) {
        self.var.clone_from(&from.var);
        self.second.clone_from(&from.second);
    }
}

impl<'s, T: Real> Walk<'s, T> {
    /// `state` is the one after the steps. With a `root`, VTL's sums are computed anew before the step that it comes with.
    pub fn new(dim: usize, steps: impl Iterator<Item = &'s Step>, state: &State, anew: Option<(usize, Root)>) -> Self {
        let steps: Vec<&Step> = steps.collect();
        let of_step = |step: &&'s Step| [Some(&step.data[..]), step.second.weights()].into_iter().flatten();
        let after = state.standardised();
        let root = anew.as_ref().map_or(&[][..], |(_, root)| &root.columns);
        let all = steps.iter().flat_map(of_step).chain(after.as_deref()).chain(root.iter().map(Vec::as_slice));
        let probes = Probes::new(dim, all);
        let wide = steps.first().map_or(1, |step| 1 + usize::from(step.second.weights().is_some()));
        Self { steps, probes, wide, std_cov: after.is_some(), anew, gamma: gamma::<T>(dim) }
    }

    pub fn room(&self) -> Products<T> {
        self.probes.room()
    }

    /// Takes all steps, calling `at` with the numbers before each of them and after the last.
    pub fn take(
        &self,
        rows: &[T],
        products: &mut Products<T>,
        numbers: &mut Numbers<T>,
        mut at: impl FnMut(usize, &Numbers<T>),
    ) {
        let len = numbers.var.len();
        self.probes.multiply(rows, products);
        for t in 0..=self.steps.len() {
            if self.std_cov {
                // The functional before step t lies beside it; the one after the last comes alone.
                let column = self.wide * t + usize::from(t < self.steps.len());
                numbers.second.copy_from_slice(products.of(column, len));
            }
            if let Some((_, root)) = self.anew.as_ref().filter(|(at, _)| *at == t) {
                root.sum(products, self.wide * self.steps.len(), numbers);
            }
            at(t, numbers);
            if let Some(step) = self.steps.get(t) {
                let other = (self.wide > 1).then(|| products.of(self.wide * t + 1, len));
                self.apply(step, products.of(self.wide * t, len), other, numbers);
            }
        }
    }

    /// Takes a pick into the numbers of some rows, from their products with its functionals.
    fn apply(&self, step: &Step, first: &[T], other: Option<&[T]>, numbers: &mut Numbers<T>) {
        let Numbers { var, second, second_error } = numbers;
        let inverse = T::of(1.0 / step.total);
        match (&step.second, other) {
            (Second::Joint { total, .. }, Some(other)) => {
                let joint_inverse = T::of(1.0 / total);
                for (u, &g) in second.iter_mut().zip(other) {
                    *u -= (g * joint_inverse) * g;
                }
            }
            (Second::Squares { weights, norm_sq: c }, Some(other)) => {
                let (c_sq, two) = (T::of(*c), T::of(2.0));
                for ((q, &g), &h) in second.iter_mut().zip(first).zip(other) {
                    let share = g * inverse;
                    *q += share * (share * c_sq - two * h);
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
            *v -= (g * inverse) * g;
        }
    }
}
