//! Columns of numbers in different units, such as euros and years, brought to the same spread.

use crate::Pool;
use crate::matrix::{Matrix, Numbers};

/// The largest ratio of two columns' standard deviations with which both are taken for numbers of the same kind.
const ALIKE: f64 = 10.0;

impl Pool {
    /// Returns the standard deviation of each column of numbers of which the embeddings consist, if they differ so much that a few
    /// columns would decide alone. A constant column has 1.
    ///
    /// ```
    /// use homing_pool::{Pool, ReadOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("pool.csv");
    /// std::fs::write(&path, "income,age\n10000,30\n30000,32\n")?;
    /// let pool = Pool::open(&path, &ReadOptions::default())?;
    /// let spread = pool.unlike_spread().unwrap();
    /// assert_eq!(spread, [10_000.0, 1.0]);
    /// assert_eq!(pool.divided(&spread).embeddings().row(1), [3.0, 32.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unlike_spread(&self) -> Option<Vec<f64>> {
        if self.side_by_side().len() < 2 {
            return None;
        }
        let embeddings = self.embeddings();
        let (rows, mean) = (embeddings.rows(), embeddings.mean());
        let mut squares = vec![0.0; embeddings.dim()];
        for row in 0..rows {
            let values = embeddings.row(row);
            squares.iter_mut().zip(values).zip(&mean).for_each(|((sum, value), mean)| *sum += (value - mean).powi(2));
        }
        let deviations: Vec<f64> = squares.into_iter().map(|sum| (sum / rows as f64).sqrt()).collect();
        let varying = || deviations.iter().copied().filter(|&deviation| deviation > 0.0);
        let (least, most) = (varying().fold(f64::INFINITY, f64::min), varying().fold(0.0, f64::max));
        let unlike = deviations.iter().all(|deviation| deviation.is_finite()) && most > ALIKE * least;
        unlike.then(|| deviations.iter().map(|&deviation| if deviation > 0.0 { deviation } else { 1.0 }).collect())
    }

    /// Returns the pool with each column of the embeddings divided by a number.
    ///
    /// # Panics
    /// If there are more or fewer numbers than columns.
    pub fn divided(mut self, divisors: &[f64]) -> Self {
        let (rows, dim) = (self.rows(), self.dim());
        assert_eq!(divisors.len(), dim, "each column needs a number");
        let mut values = Vec::with_capacity(rows * dim);
        for row in 0..rows {
            values.extend(self.embeddings().row(row).iter().zip(divisors).map(|(value, divisor)| value / divisor));
        }
        self.contents.embeddings = Matrix::new(Numbers::F64(values), dim).expect("the shape is that of the pool");
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::{Format, Pool, ReadOptions};

    fn pool(csv: &str) -> Pool {
        Pool::from_bytes(Format::Csv, csv.as_bytes().to_vec(), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn columns_of_like_spread_and_single_columns_stay_as_they_are() {
        assert_eq!(pool("a,b\n1,5\n3,23\n").unlike_spread(), None, "the spread differs 9-fold");
        assert_eq!(pool("a,b\n1,7\n3,7\n").unlike_spread(), None, "one column is constant");
        assert_eq!(pool("a\n1\n30\n").unlike_spread(), None);
        assert_eq!(pool("a,b,c\n1,7,0\n3,7,50\n").unlike_spread(), Some(vec![1.0, 1.0, 25.0]));
    }
}
