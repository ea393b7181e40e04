//! Products of two linear kernels with a weight for each pair of coordinates: gradients under a covariance of the weights.

use faer::{Accum, Mat, MatRef};

use super::Kernel;
use super::separate::{Term, separate};
use crate::base::algebra::{axpy, dot, matrix, product, zeros};
use crate::{Error, Result};

/// Number of columns of one matrix product: terms times points.
const COLUMNS: usize = 64;

/// The kernel k(x, x′) = Σ_cj s_cj g_c g′_c h_j h′_j for points [g, h]: the linear kernel of g ⊗ h with each coordinate
/// scaled by √s_cj.
///
/// If possible, the table s is written as a sum of a few products of a column and a row (s_cj = 1/(λ_c λ_j + τ) needs fewer
/// than 30 of them), so C + w numbers per term replace C·w. The last columns of s that are constant form one term together.
///
/// ```
/// use homing::{Kernel, Scaled};
///
/// let kernel = Scaled::new(1, &[0.5, 2.0])?; // one number g, two numbers h, and a scale for each pair
/// assert_eq!(kernel.eval(&[3.0, 1.0, 1.0], &[1.0, 4.0, 1.0]), 3.0 * (0.5 * 4.0 + 2.0 * 1.0));
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scaled {
    classes: usize,
    /// The first columns of the table.
    first: Table,
    /// The other columns, which are constant: one number per column.
    rest: Vec<f64>,
}

/// The table s, restricted to some of its columns.
#[derive(Debug, Clone)]
enum Table {
    /// The table as a sum of products.
    Terms(Vec<Term>),
    /// The table itself.
    Whole(Mat<f64>),
}

impl Scaled {
    /// Creates the kernel from the table s: one row of positive numbers for each of the first `classes` numbers of a point.
    pub fn new(classes: usize, table: &[f64]) -> Result<Self> {
        if classes == 0 || table.is_empty() {
            return Err(Error::Empty { what: "table of scales" });
        }
        if !table.len().is_multiple_of(classes) {
            return Err(Error::Ragged { len: table.len(), dim: classes });
        }
        let width = table.len() / classes;
        if let Some(at) = table.iter().position(|s| !(s.is_normal() && *s > 0.0)) {
            let expected = "scales must be positive numbers";
            return Err(Error::BadValue { what: "table of scales", row: at / width, value: table[at], expected });
        }
        let table = MatRef::from_row_major_slice(table, classes, width);
        let is_constant = |j: &usize| {
            let column = || (0..classes).map(|c| table[(c, *j)]);
            let (least, most) = (column().fold(f64::INFINITY, f64::min), column().fold(0.0, f64::max));
            most - least <= 4.0 * f64::EPSILON * most
        };
        let first = width - (0..width).rev().take_while(is_constant).count();
        let rest = (first..width).map(|j| table[(0, j)]).collect();
        let table = table.subcols(0, first);
        let terms = if first == 0 { Some(Vec::new()) } else { separate(table) };
        let first = terms.map_or_else(|| Table::Whole(table.to_owned()), Table::Terms);
        Ok(Self { classes, first, rest })
    }

    /// Returns the number of products that the table is a sum of.
    pub fn terms(&self) -> usize {
        let first = match &self.first {
            Table::Terms(terms) => terms.len(),
            Table::Whole(_) => self.classes,
        };
        first + usize::from(!self.rest.is_empty())
    }

    /// Returns the number of coordinates of h before those of `rest`.
    fn first(&self) -> usize {
        match &self.first {
            Table::Terms(terms) => terms.first().map_or(0, |term| term.inner.len()),
            Table::Whole(table) => table.ncols(),
        }
    }
}

/// Multiplies the columns of `outer` and `inner` entry by entry, and adds the products to the columns of `out`, cyclically.
fn add_products(outer: MatRef<'_, f64>, inner: MatRef<'_, f64>, out: &mut [f64]) {
    let count = outer.nrows();
    for at in 0..outer.ncols() {
        let start = at * count % out.len();
        let columns = outer.col(at).iter().zip(inner.col(at).iter());
        out[start..start + count].iter_mut().zip(columns).for_each(|(out, (a, b))| *out += a * b);
    }
}

fn times(rows: MatRef<'_, f64>, columns: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = zeros(rows.nrows(), columns.ncols());
    product(out.as_mut(), Accum::Replace, rows, columns, 1.0);
    out
}

impl Kernel for Scaled {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        let products: Vec<f64> = x.iter().zip(other).map(|(a, b)| a * b).collect();
        let (outer, inner) = products.split_at(self.classes);
        let (first, rest) = inner.split_at(self.first());
        let constant = outer.iter().sum::<f64>() * dot(&self.rest, rest);
        match &self.first {
            Table::Terms(terms) => {
                terms.iter().fold(constant, |sum, term| sum + dot(&term.outer, outer) * dot(&term.inner, first))
            }
            Table::Whole(table) => {
                let mut sums = vec![0.0; self.classes];
                first.iter().enumerate().for_each(|(j, h)| axpy(*h, table.col_as_slice(j), &mut sums));
                constant + dot(outer, &sums)
            }
        }
    }

    fn check_point(&self, x: &[f64]) -> Result<(), &'static str> {
        let expected = self.classes + self.first() + self.rest.len();
        if x.len() == expected {
            Ok(())
        } else {
            Err("give as many numbers as the table of scales has rows and columns together")
        }
    }

    fn vars(&self, rows: &[f64], dim: usize) -> Vec<f64> {
        let squares = matrix(rows.len() / dim, dim, |i, j| rows[i * dim + j] * rows[i * dim + j]);
        let (outer, inner) = squares.split_at_col(self.classes);
        let (first, rest) = inner.split_at_col(self.first());
        let mut out = vec![0.0; squares.nrows()];
        if !self.rest.is_empty() {
            let ones = Mat::full(self.classes, 1, 1.0);
            let rest = times(rest, MatRef::from_column_major_slice(&self.rest, self.rest.len(), 1));
            add_products(times(outer, ones.as_ref()).as_ref(), rest.as_ref(), &mut out);
        }
        match &self.first {
            Table::Terms(terms) => {
                let outers = matrix(self.classes, terms.len(), |c, at| terms[at].outer[c]);
                let inners = matrix(first.ncols(), terms.len(), |j, at| terms[at].inner[j]);
                add_products(times(outer, outers.as_ref()).as_ref(), times(first, inners.as_ref()).as_ref(), &mut out);
            }
            Table::Whole(table) => add_products(outer, times(first, table.transpose()).as_ref(), &mut out),
        }
        out
    }

    fn block(&self, rows: &[f64], points: &[f64], dim: usize, out: &mut [f64]) {
        if out.is_empty() {
            return;
        }
        let (count, width, classes, first) = (rows.len() / dim, points.len() / dim, self.classes, self.first());
        let (all, rows) = (rows, MatRef::from_row_major_slice(rows, count, dim));
        // Products of the rows' coordinates from `start` on with those of the points, scaled differently for each term.
        let multiply = |start: usize, scales: &[&[f64]]| {
            let scaled = matrix(scales[0].len(), scales.len() * width, |j, at| {
                points[(at % width) * dim + start + j] * scales[at / width][j]
            });
            times(rows.subcols(start, scaled.nrows()), scaled.as_ref())
        };
        out.fill(0.0);
        if !self.rest.is_empty() {
            let ones = vec![1.0; classes];
            let (outer, inner) = (multiply(0, &[&ones]), multiply(classes + first, &[&self.rest]));
            add_products(outer.as_ref(), inner.as_ref(), out);
        }
        match &self.first {
            Table::Terms(terms) => {
                for terms in terms.chunks((COLUMNS / width).max(1)) {
                    let outer: Vec<&[f64]> = terms.iter().map(|term| &term.outer[..]).collect();
                    let inner: Vec<&[f64]> = terms.iter().map(|term| &term.inner[..]).collect();
                    add_products(multiply(0, &outer).as_ref(), multiply(classes, &inner).as_ref(), out);
                }
            }
            Table::Whole(table) => {
                let inner = rows.subcols(classes, first).transpose();
                let mut scaled = table.clone();
                for (point, out) in points.chunks_exact(dim).zip(out.chunks_exact_mut(count)) {
                    let (g, h) = point.split_at(classes);
                    for j in 0..first {
                        let scales = table.col_as_slice(j).iter().zip(g);
                        scaled.col_as_slice_mut(j).iter_mut().zip(scales).for_each(|(out, (s, g))| *out = s * g * h[j]);
                    }
                    let sums = times(scaled.as_ref(), inner);
                    for (i, out) in out.iter_mut().enumerate() {
                        *out += dot(&all[i * dim..i * dim + classes], sums.col_as_slice(i));
                    }
                }
            }
        }
    }
}
