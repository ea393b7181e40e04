//! Points at which f is observed: embeddings, or loss gradients that are computed from them row by row.

use std::ops::Range;

use crate::data::embeddings::{ANNOUNCED, map_blocks, runs};
use crate::shard::Carrier;
use crate::{Embeddings, Error, Result};

/// A view of points, one per row. Copying the view copies no data.
///
/// ```
/// use homing::{Embeddings, Plan, Points, Product, Task, select};
///
/// let hidden = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0]; // the last hidden layer of three examples
/// let probabilities = [0.75f32, 0.25, 0.5, 0.5, 0.25, 0.75];
/// let pool = Points::loss_gradient(Embeddings::new(&hidden, 2)?, Embeddings::new(&probabilities, 2)?)?;
/// assert_eq!(pool.row(0), [-0.25, 0.25, 1.0, 0.0]); // p minus one for the most likely class, then the hidden layer
///
/// let (classes, has_bias) = (2, true);
/// let kernel = Product::new(classes, has_bias);
/// let task = Task::undirected(pool).kernel(&kernel);
/// let selection = select(&task, &Plan::default().strategy("uncertainty".parse()?))?;
/// assert_eq!(selection.rows(), [1]);
/// # Ok::<(), homing::Error>(())
/// ```
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
    /// Views last-layer embeddings and class probabilities of the same rows as loss gradients.
    pub fn loss_gradient(embeddings: Embeddings<'a>, probabilities: Embeddings<'a>) -> Result<Self> {
        if probabilities.rows() != embeddings.rows() {
            let (got, expected) = (probabilities.rows(), embeddings.rows());
            return Err(Error::Length { what: "rows of probabilities", got, expected });
        }
        Ok(Points::LossGradient { embeddings, probabilities })
    }

    /// Returns the number of points.
    pub fn rows(&self) -> usize {
        match self {
            Points::Embeddings(embeddings) | Points::LossGradient { embeddings, .. } => embeddings.rows(),
        }
    }

    /// Returns the number of values per point.
    pub fn dim(&self) -> usize {
        match self {
            Points::Embeddings(embeddings) => embeddings.dim(),
            Points::LossGradient { embeddings, probabilities } => probabilities.dim() + embeddings.dim(),
        }
    }

    /// Writes the points in `range` to `out`, row-major.
    pub fn read(&self, range: Range<usize>, out: &mut [f64]) {
        match self {
            Points::Embeddings(embeddings) => embeddings.read(range, out),
            Points::LossGradient { embeddings, probabilities } => {
                let (classes, dim) = (probabilities.dim(), embeddings.dim());
                let mut classes_of_rows = vec![0.0; range.len() * classes];
                let mut hidden_of_rows = vec![0.0; range.len() * dim];
                probabilities.read(range.clone(), &mut classes_of_rows);
                embeddings.read(range, &mut hidden_of_rows);
                let rows = classes_of_rows.chunks_exact(classes).zip(hidden_of_rows.chunks_exact(dim));
                for (point, (p, phi)) in out.chunks_exact_mut(classes + dim).zip(rows) {
                    let (residual, hidden) = point.split_at_mut(classes);
                    residual.copy_from_slice(p);
                    hidden.copy_from_slice(phi);
                    residual[most_likely(p)] -= 1.0;
                }
            }
        }
    }

    /// Returns one point.
    pub fn row(&self, row: usize) -> Vec<f64> {
        self.gather(&[row])
    }

    /// Returns the given points, row-major.
    pub fn gather(&self, rows: &[usize]) -> Vec<f64> {
        let dim = self.dim();
        let mut out = vec![0.0; rows.len() * dim];
        if let Points::Embeddings(embeddings) = self
            && embeddings.gather_at_once(rows, &mut out)
        {
            return out;
        }
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

    /// Returns an error if a read has failed.
    pub fn check_read(&self) -> Result<()> {
        self.embeddings().check_read()?;
        match self {
            Points::Embeddings(_) => Ok(()),
            Points::LossGradient { probabilities, .. } => probabilities.check_read(),
        }
    }

    /// Returns all points, row-major.
    pub fn to_vec(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.rows() * self.dim()];
        self.read(0..self.rows(), &mut out);
        out
    }

    /// Returns the embeddings that the points are made of.
    pub fn embeddings(&self) -> Embeddings<'a> {
        match *self {
            Points::Embeddings(embeddings) | Points::LossGradient { embeddings, .. } => embeddings,
        }
    }

    /// Applies `f` to every block of points (the number of its first row, and its values), and returns the results in
    /// order.
    pub(crate) fn map_blocks<T: Send>(&self, f: impl Fn(usize, &[f64]) -> T + Sync) -> Vec<T> {
        map_blocks(self.rows(), self.dim(), |range, out| self.read(range, out), f)
    }

    /// Returns the mean of `f` over all points.
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

/// Lets embeddings be given where points are optional.
impl<'a> From<Embeddings<'a>> for Option<Points<'a>> {
    fn from(embeddings: Embeddings<'a>) -> Self {
        Some(embeddings.into())
    }
}

/// Refuses rows that are not probabilities, such as logits.
pub(crate) fn check_probabilities(probabilities: Embeddings<'_>, what: &'static str) -> Result<()> {
    if probabilities.carrier().is_some_and(Carrier::are_probabilities) {
        return Ok(());
    }
    probabilities.check_finite(what)?;
    let classes = probabilities.dim();
    let expected = "probabilities must lie in [0, 1] and sum to 1; apply a softmax if these are logits";
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

/// Returns the position of the largest entry, the first if there are several.
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
