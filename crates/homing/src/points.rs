//! Points at which f is observed: embeddings as they are, or loss gradients made of them row by row.

use std::ops::Range;

use rayon::prelude::*;

use crate::embeddings::{ANNOUNCED, BLOCK, runs};
use crate::{Embeddings, Error, Result};

/// A view of points, one a row; copying it copies no data.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Points<'a> {
    /// Embeddings φ.
    Embeddings(Embeddings<'a>),
    /// Rows [p − e_ŷ, φ] for the [`Product`](crate::Product) kernel: the loss gradient (p − e_ŷ) ⊗ [φ, 1] of Eq. 22 in
    /// factored form, with ŷ the most likely class.
    LossGradient {
        /// Last-layer embeddings φ.
        embeddings: Embeddings<'a>,
        /// Class probabilities p.
        probabilities: Embeddings<'a>,
    },
}

impl<'a> Points<'a> {
    /// Loss gradients from last-layer embeddings and class probabilities of the same rows.
    pub fn loss_gradient(embeddings: Embeddings<'a>, probabilities: Embeddings<'a>) -> Result<Self> {
        if probabilities.rows() != embeddings.rows() {
            let (got, expected) = (probabilities.rows(), embeddings.rows());
            return Err(Error::Length { what: "rows of probabilities", got, expected });
        }
        Ok(Points::LossGradient { embeddings, probabilities })
    }

    /// How many points.
    pub fn rows(&self) -> usize {
        match self {
            Points::Embeddings(embeddings) | Points::LossGradient { embeddings, .. } => embeddings.rows(),
        }
    }

    /// Numbers a point.
    pub fn dim(&self) -> usize {
        match self {
            Points::Embeddings(embeddings) => embeddings.dim(),
            Points::LossGradient { embeddings, probabilities } => probabilities.dim() + embeddings.dim(),
        }
    }

    /// Writes the points of `range` to `out`, one after the other.
    pub fn read(&self, range: Range<usize>, out: &mut [f64]) {
        match self {
            Points::Embeddings(embeddings) => embeddings.read(range, out),
            Points::LossGradient { embeddings, probabilities } => {
                let (classes, dim) = (probabilities.dim(), embeddings.dim());
                let mut likely = vec![0.0; range.len() * classes];
                let mut inner = vec![0.0; range.len() * dim];
                probabilities.read(range.clone(), &mut likely);
                embeddings.read(range, &mut inner);
                let rows = likely.chunks_exact(classes).zip(inner.chunks_exact(dim));
                for (point, (p, phi)) in out.chunks_exact_mut(classes + dim).zip(rows) {
                    let (residual, hidden) = point.split_at_mut(classes);
                    residual.copy_from_slice(p);
                    hidden.copy_from_slice(phi);
                    residual[most_likely(p)] -= 1.0;
                }
            }
        }
    }

    /// One point.
    pub fn row(&self, index: usize) -> Vec<f64> {
        self.gather(&[index])
    }

    /// Some points, one after the other.
    pub fn gather(&self, rows: &[usize]) -> Vec<f64> {
        let dim = self.dim();
        let mut out = vec![0.0; rows.len() * dim];
        for (rows, out) in rows.chunks(ANNOUNCED).zip(out.chunks_mut(ANNOUNCED * dim)) {
            self.announce(rows);
            for (at, range) in runs(rows) {
                self.read(range, &mut out[at.start * dim..at.end * dim]);
            }
        }
        out
    }

    fn announce(&self, rows: &[usize]) {
        self.embeddings().announce(rows);
        if let Points::LossGradient { probabilities, .. } = self {
            probabilities.announce(rows);
        }
    }

    /// Refuses points of which a read has failed.
    pub fn check_read(&self) -> Result<()> {
        self.embeddings().check_read()?;
        match self {
            Points::Embeddings(_) => Ok(()),
            Points::LossGradient { probabilities, .. } => probabilities.check_read(),
        }
    }

    /// All points, one after the other.
    pub fn to_vec(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.rows() * self.dim()];
        self.read(0..self.rows(), &mut out);
        out
    }

    /// The embeddings that the points are made of.
    pub fn embeddings(&self) -> Embeddings<'a> {
        match *self {
            Points::Embeddings(embeddings) | Points::LossGradient { embeddings, .. } => embeddings,
        }
    }

    /// Applies `f` to every block of points (its first row's number, its values); answers in order.
    pub(crate) fn map_blocks<T: Send>(&self, f: impl Fn(usize, &[f64]) -> T + Sync) -> Vec<T> {
        let (rows, dim) = (self.rows(), self.dim());
        (0..rows.div_ceil(BLOCK))
            .into_par_iter()
            .map_init(
                || vec![0.0; BLOCK.min(rows) * dim],
                |buffer, block| {
                    let range = block * BLOCK..rows.min((block + 1) * BLOCK);
                    let values = &mut buffer[..range.len() * dim];
                    self.read(range.clone(), values);
                    f(range.start, values)
                },
            )
            .collect()
    }

    /// The mean of `f` over all points.
    pub(crate) fn mean_of(&self, f: impl Fn(&[f64]) -> f64 + Sync) -> f64 {
        let sums = self.map_blocks(|_, block| block.chunks_exact(self.dim()).map(&f).sum::<f64>());
        sums.into_iter().sum::<f64>() / self.rows() as f64
    }

    pub(crate) fn check_finite(&self, what: &'static str) -> Result<()> {
        self.embeddings().check_finite(what)?;
        match self {
            Points::Embeddings(_) => Ok(()),
            Points::LossGradient { probabilities, .. } => {
                let what = match what {
                    "targets" => "target probabilities",
                    "observed points" => "probabilities of the observed points",
                    _ => "probabilities",
                };
                check_probabilities(*probabilities, what)
            }
        }
    }
}

impl<'a> From<Embeddings<'a>> for Points<'a> {
    fn from(embeddings: Embeddings<'a>) -> Self {
        Points::Embeddings(embeddings)
    }
}

/// Refuses rows that are no probabilities: logits, say.
pub(crate) fn check_probabilities(probabilities: Embeddings<'_>, what: &'static str) -> Result<()> {
    probabilities.check_finite(what)?;
    let classes = probabilities.dim();
    let expected = "probabilities lie in [0, 1] and sum to 1; apply a softmax if these are logits";
    let bad = probabilities.map_blocks(|start, block| {
        block.chunks_exact(classes).enumerate().find_map(|(i, p)| {
            let sum: f64 = p.iter().sum();
            let value = p.iter().copied().find(|p| !(-1e-6..=1.0 + 1e-3).contains(p));
            let value = value.or(((sum - 1.0).abs() > 1e-2).then_some(sum))?;
            Some(Error::BadValue { what, row: start + i, value, expected })
        })
    });
    bad.into_iter().flatten().next().map_or(Ok(()), Err)
}

/// The first of the largest entries.
fn most_likely(p: &[f64]) -> usize {
    (1..p.len()).fold(0, |best, i| if p[i] > p[best] { i } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_are_not_probabilities() {
        let logits = [0.5, 0.5, 2.0, -1.0];
        let view = Embeddings::new(&logits[..], 2).unwrap();
        let error = check_probabilities(view, "probabilities").unwrap_err();
        assert!(error.to_string().contains("row 1") && error.to_string().contains("softmax"), "{error}");
    }
}
