//! Whether the pool, the targets and the noise have comparable sizes.

use crate::{Kernel, Points};

/// Sizes on which a selection depends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Mean prior variance of the pool, mean ‖φ‖² for the linear kernel.
    pub mean_var: f64,
    /// Median prior variance of the pool.
    pub median_var: f64,
    /// Largest prior variance of the pool.
    pub max_var: f64,
    /// Number of pool rows without any variance.
    pub zero_rows: usize,
    /// Mean prior variance of the targets.
    pub target_var: f64,
    /// ‖mean φ‖² as a share of mean ‖φ‖²: the part that all rows have in common.
    pub common_share: f64,
}

/// Measures the sizes of the pool and the targets.
///
/// ```
/// use homing::diagnose::scale;
/// use homing::{Embeddings, Linear};
///
/// let (pool, targets) = ([2.0, 0.0, 0.0, 0.0], [3.0, 4.0]);
/// let found = scale(Embeddings::new(&pool, 2)?.into(), Embeddings::new(&targets, 2)?.into(), &Linear);
/// assert_eq!((found.mean_var, found.zero_rows, found.target_var), (2.0, 1, 25.0));
/// # Ok::<(), homing::Error>(())
/// ```
pub fn scale(pool: Points<'_>, targets: Points<'_>, kernel: &dyn Kernel) -> Scale {
    let dim = pool.dim();
    let vars_of = |points: Points<'_>| -> Vec<f64> { points.map_blocks(|_, rows| kernel.vars(rows, dim)).concat() };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut vars = vars_of(pool);
    let (mean_var, max_var) = (mean(&vars), vars.iter().copied().fold(0.0, f64::max));
    let zero_rows = vars.iter().filter(|&&var| var == 0.0).count();
    let middle = vars.len() / 2;
    let median_var = *vars.select_nth_unstable_by(middle, f64::total_cmp).1;
    let embeddings = pool.embeddings();
    let size =
        if kernel.is_linear() { mean_var } else { Points::from(embeddings).mean_of(crate::base::algebra::norm_sq) };
    let common = crate::base::algebra::norm_sq(&embeddings.mean());
    Scale {
        mean_var,
        median_var,
        max_var,
        zero_rows,
        target_var: mean(&vars_of(targets)),
        common_share: if size > 0.0 { common / size } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Embeddings, Linear};

    #[test]
    fn sizes_by_hand() {
        let (pool, targets) = ([2.0, 0.0, 0.0, 0.0, 0.0, 1.0], [3.0, 4.0]);
        let view = |values: &'static [f64]| Points::from(Embeddings::new(values, 2).unwrap());
        let found = scale(view(Vec::leak(pool.to_vec())), view(Vec::leak(targets.to_vec())), &Linear);
        assert_eq!((found.median_var, found.max_var, found.zero_rows, found.target_var), (1.0, 4.0, 1, 25.0));
        assert!((found.mean_var - 5.0 / 3.0).abs() < 1e-15);
        // Mean (2/3, 1/3): 5/9 of 5/3.
        assert!((found.common_share - 1.0 / 3.0).abs() < 1e-15);
    }
}
