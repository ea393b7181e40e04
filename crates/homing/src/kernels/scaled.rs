//! Products of two linear kernels with a weight for every pair of coordinates: gradients under a covariance of weights.

use faer::{Accum, Mat, MatRef};

use super::Kernel;
use super::separate::{Term, separate};
use crate::algebra::{dot, product};
use crate::{Error, Result};

/// Columns of one matrix product: terms times points.
const COLUMNS: usize = 64;

/// k(x, x′) = Σ_cj s_cj g_c g′_c h_j h′_j for points [g, h]: the linear kernel of g ⊗ h, each of its coordinates scaled by √s_cj.
///
/// The table s is written as a sum of few products of a row and a column where there is such a sum
/// (s_cj = 1/(λ_c λ_j + τ) takes fewer than 30 of them), so that C + w numbers a term do the work of C·w. Columns of s that are one
/// number throughout are one term together.
#[derive(Debug, Clone)]
pub struct Scaled {
    classes: usize,
    /// The table's first columns.
    terms: Vec<Term>,
    /// The others, a number each.
    rest: Vec<f64>,
}

impl Scaled {
    /// From the table of s, a row of positive numbers for each of the `classes` first numbers of a point.
    pub fn new(classes: usize, table: &[f64]) -> Result<Self> {
        if classes == 0 || table.is_empty() {
            return Err(Error::Empty { what: "table of scales" });
        }
        if !table.len().is_multiple_of(classes) {
            return Err(Error::Ragged { len: table.len(), dim: classes });
        }
        let width = table.len() / classes;
        if let Some(at) = table.iter().position(|s| !(s.is_normal() && *s > 0.0)) {
            let expected = "scales are positive numbers";
            return Err(Error::BadValue { what: "table of scales", row: at / width, value: table[at], expected });
        }
        let table = MatRef::from_row_major_slice(table, classes, width);
        let even = |j: &usize| {
            let column = || (0..classes).map(|c| table[(c, *j)]);
            let (least, most) = (column().fold(f64::INFINITY, f64::min), column().fold(0.0, f64::max));
            most - least <= 4.0 * f64::EPSILON * most
        };
        let first = width - (0..width).rev().take_while(even).count();
        let terms = if first == 0 { Vec::new() } else { separate(table.subcols(0, first)) };
        Ok(Self { classes, terms, rest: (first..width).map(|j| table[(0, j)]).collect() })
    }

    /// How many products the table is a sum of.
    pub fn terms(&self) -> usize {
        self.terms.len() + usize::from(!self.rest.is_empty())
    }

    /// Coordinates of h that the terms are about.
    fn first(&self) -> usize {
        self.terms.first().map_or(0, |term| term.inner.len())
    }
}

impl Kernel for Scaled {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        let products: Vec<f64> = x.iter().zip(other).map(|(a, b)| a * b).collect();
        let (outer, inner) = products.split_at(self.classes);
        let (first, rest) = inner.split_at(self.first());
        let even = outer.iter().sum::<f64>() * dot(&self.rest, rest);
        self.terms.iter().fold(even, |sum, term| sum + dot(&term.outer, outer) * dot(&term.inner, first))
    }

    fn block(&self, rows: &[f64], points: &[f64], dim: usize, out: &mut [f64]) {
        if out.is_empty() {
            return;
        }
        let (count, width, first) = (rows.len() / dim, points.len() / dim, self.first());
        let rows = MatRef::from_row_major_slice(rows, count, dim);
        // Products of the rows' coordinates from `start` on with those of the points, scaled anew for every term.
        let multiply = |start: usize, scales: &[&[f64]]| {
            let len = scales[0].len();
            let scaled = Mat::from_fn(len, scales.len() * width, |j, at| {
                points[(at % width) * dim + start + j] * scales[at / width][j]
            });
            let mut values = Mat::zeros(count, scaled.ncols());
            product(values.as_mut(), Accum::Replace, rows.subcols(start, len), scaled.as_ref(), 1.0);
            values
        };
        out.fill(0.0);
        let mut add = |outer: Mat<f64>, inner: Mat<f64>| {
            for at in 0..outer.ncols() {
                let out = &mut out[(at % width) * count..][..count];
                for ((out, a), b) in out.iter_mut().zip(outer.col_as_slice(at)).zip(inner.col_as_slice(at)) {
                    *out += a * b;
                }
            }
        };
        if !self.rest.is_empty() {
            let ones = vec![1.0; self.classes];
            add(multiply(0, &[&ones]), multiply(self.classes + first, &[&self.rest]));
        }
        for terms in self.terms.chunks((COLUMNS / width).max(1)) {
            let outer: Vec<&[f64]> = terms.iter().map(|term| &term.outer[..]).collect();
            let inner: Vec<&[f64]> = terms.iter().map(|term| &term.inner[..]).collect();
            add(multiply(0, &outer), multiply(self.classes, &inner));
        }
    }
}
