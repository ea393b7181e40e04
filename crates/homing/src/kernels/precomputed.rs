//! A kernel given as a matrix.

use super::Kernel;
use crate::{Embeddings, Error, Result};

/// Largest entry, whose square f64 still holds.
const MOST_ENTRY: f64 = 1e100;

/// A kernel k(i, j) that is read from a symmetric matrix over pool, targets and observed points together.
///
/// Its points are row numbers of that matrix: one-dimensional embeddings with the values 0, 1, 2, …
/// ([`Precomputed::points`]).
///
/// ```
/// use homing::{Embeddings, Plan, Precomputed, Task, select};
///
/// let matrix = [1.0, 0.1, 0.2, 0.1, 1.0, 0.9, 0.2, 0.9, 1.0]; // two pool rows and a target
/// let kernel = Precomputed::new(Embeddings::new(&matrix, 3)?)?;
/// let (pool, targets) = (Precomputed::points(0..2), Precomputed::points(2..3));
/// let task = Task::new(Embeddings::new(&pool, 1)?, Embeddings::new(&targets, 1)?).kernel(&kernel);
/// assert_eq!(select(&task, &Plan::default())?.rows(), [1]);
/// # Ok::<(), homing::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Precomputed<'a> {
    matrix: Embeddings<'a>,
}

impl<'a> Precomputed<'a> {
    /// Creates the kernel from a square, symmetric matrix with a non-negative diagonal.
    pub fn new(matrix: Embeddings<'a>) -> Result<Self> {
        if matrix.rows() != matrix.dim() {
            return Err(Error::Length {
                what: "columns of the kernel matrix",
                got: matrix.dim(),
                expected: matrix.rows(),
            });
        }
        matrix.check_finite("kernel matrix")?;
        let kernel = Self { matrix };
        for i in 0..matrix.rows() {
            let row = matrix.row(i);
            let expected = "a kernel matrix must be symmetric with a non-negative diagonal";
            if row[i] < 0.0 {
                return Err(Error::BadValue { what: "kernel matrix's diagonal", row: i, value: row[i], expected });
            }
            let tolerance = 1e-6 * row.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            if let Some(&value) = row.iter().find(|x| x.abs() > MOST_ENTRY) {
                let expected = "entries of a kernel matrix must not exceed 1e100; divide it by a number";
                return Err(Error::BadValue { what: "kernel matrix", row: i, value, expected });
            }
            if let Some(j) = (0..i).find(|&j| (row[j] - kernel.at(j, i)).abs() > tolerance) {
                return Err(Error::BadValue { what: "kernel matrix", row: i, value: row[j], expected });
            }
        }
        Ok(kernel)
    }

    /// Returns the points `range` of this kernel, to be viewed as [`Embeddings`] of dimension one.
    pub fn points(range: std::ops::Range<usize>) -> Vec<f64> {
        range.map(|i| i as f64).collect()
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        let points = self.matrix.rows();
        assert!(i < points && j < points, "points {i} and {j} of a kernel matrix with {points} rows");
        self.matrix.entry(i, j)
    }
}

impl Kernel for Precomputed<'_> {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        self.at(x[0] as usize, other[0] as usize)
    }

    fn may_be_indefinite(&self) -> bool {
        true
    }

    fn check_point(&self, x: &[f64]) -> Result<(), &'static str> {
        match x {
            [at] if at.fract() == 0.0 && (0.0..self.matrix.rows() as f64).contains(at) => Ok(()),
            _ => Err("give one number per point: the number of its row in the kernel matrix"),
        }
    }

    fn check_read(&self) -> Result<()> {
        self.matrix.check_read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_matrix_and_refuses_an_asymmetric_one() {
        let matrix = [2.0, 0.5, 0.5, 1.0];
        let kernel = Precomputed::new(Embeddings::new(&matrix[..], 2).unwrap()).unwrap();
        assert_eq!(kernel.eval(&[0.0], &[1.0]), 0.5);
        let asymmetric = [2.0, 0.5, 0.4, 1.0];
        assert!(Precomputed::new(Embeddings::new(&asymmetric[..], 2).unwrap()).is_err());
        let beyond = [1.0, 2e100, 2e100, 1.0];
        let error = Precomputed::new(Embeddings::new(&beyond[..], 2).unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("row 0 of the kernel matrix is 2e100; entries"), "{error}");
    }
}
