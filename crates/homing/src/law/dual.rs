//! Any kernel, by an incremental Cholesky factor: one whitened column over the pool for each thing observed.

use super::Variance;
use crate::Kernel;
use crate::algebra::{axpy, dot};

/// Variances below this share of the prior's are rounding.
const KNOWN: f64 = 256.0 * f64::EPSILON;

/// The law of f given observations at points t₁, t₂, …: Cov(f_x, f_y) = k(x, y) − z_x·z_y with z = L⁻¹k(T, ·) and
/// LLᵀ = K_TT + diag ρ².
#[derive(Clone)]
pub(crate) struct DualLaw<'a> {
    kernel: &'a dyn Kernel,
    steps: Vec<Step>,
}

#[derive(Clone)]
struct Step {
    point: Vec<f64>,
    /// z of the point under the law before it was observed: a row of L, less its diagonal.
    whitened: Vec<f64>,
    /// √(Var f + ρ²): the diagonal of L.
    std: f64,
}

/// Σ c·f(x), with its whitened coordinates.
#[derive(Clone)]
pub(crate) struct DualFunctional {
    terms: Vec<(f64, Vec<f64>)>,
    whitened: Vec<f64>,
}

impl<'a> DualLaw<'a> {
    pub fn prior(kernel: &'a dyn Kernel) -> Self {
        Self { kernel, steps: Vec::new() }
    }

    pub fn observe_all(&mut self, points: &[f64], noise_vars: &[f64]) {
        let dim = points.len() / noise_vars.len().max(1);
        for (x, &noise_var) in points.chunks_exact(dim).zip(noise_vars) {
            let total = self.var(x) + noise_var;
            // Without noise, what is known already to the last digits has nothing to add.
            if noise_var > 0.0 || total > KNOWN * self.kernel.var(x) {
                let functional = self.functional(&[(1.0, x)]);
                self.push(x, &functional, total);
            }
        }
    }

    fn whiten(&self, x: &[f64]) -> Vec<f64> {
        let mut z = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let g = self.kernel.eval(x, &step.point) - dot(&step.whitened, &z);
            z.push(g / step.std);
        }
        z
    }

    pub fn functional(&self, terms: &[(f64, &[f64])]) -> DualFunctional {
        let mut whitened = vec![0.0; self.steps.len()];
        for (c, x) in terms {
            axpy(*c, &self.whiten(x), &mut whitened);
        }
        DualFunctional { terms: terms.iter().map(|&(c, x)| (c, x.to_vec())).collect(), whitened }
    }

    pub fn cov(&self, functional: &DualFunctional, x: &[f64]) -> f64 {
        let prior: f64 = functional.terms.iter().map(|(c, point)| c * self.kernel.eval(x, point)).sum();
        prior - dot(&functional.whitened, &self.whiten(x))
    }

    pub fn var(&self, x: &[f64]) -> f64 {
        let z = self.whiten(x);
        (self.kernel.var(x) - dot(&z, &z)).max(0.0)
    }

    pub fn push(&mut self, x: &[f64], functional: &DualFunctional, total: f64) {
        self.steps.push(Step { point: x.to_vec(), whitened: functional.whitened.clone(), std: total.sqrt() });
    }

    /// Brings a block's columns up to the first `steps` observations.
    fn extend(&self, steps: usize, rows: &[f64], count: usize, columns: &mut Vec<f64>) {
        let dim = rows.len() / count;
        for done in columns.len() / count..steps {
            let step = &self.steps[done];
            let mut column: Vec<f64> = rows.chunks_exact(dim).map(|x| self.kernel.eval(x, &step.point)).collect();
            subtract(&step.whitened, columns, &mut column);
            column.iter_mut().for_each(|g| *g /= step.std);
            columns.extend(column);
        }
    }

    pub fn scan_vars(&self, rows: &[f64], columns: &mut Vec<f64>, out: &mut [Variance]) {
        let count = out.len();
        self.extend(self.steps.len(), rows, count, columns);
        for (i, (x, out)) in rows.chunks_exact(rows.len() / count).zip(out).enumerate() {
            let prior = self.kernel.var(x);
            let known: f64 = columns.iter().skip(i).step_by(count).map(|z| z * z).sum();
            *out = Variance { value: prior - known, scale: prior };
        }
    }

    pub fn scan(&self, functional: &DualFunctional, rows: &[f64], columns: &mut Vec<f64>, out: &mut [f64]) {
        let count = out.len();
        self.extend(functional.whitened.len(), rows, count, columns);
        for (x, out) in rows.chunks_exact(rows.len() / count).zip(out.iter_mut()) {
            *out = functional.terms.iter().map(|(c, point)| c * self.kernel.eval(x, point)).sum();
        }
        subtract(&functional.whitened, columns, out);
    }
}

/// out −= Σᵢ zᵢ · columnᵢ.
fn subtract(whitened: &[f64], columns: &[f64], out: &mut [f64]) {
    for (z, column) in whitened.iter().zip(columns.chunks_exact(out.len())) {
        axpy(-z, column, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Linear, law::linear::LinearLaw};

    #[test]
    fn dual_and_weight_space_are_one_law() {
        let (observed, noise) = ([1.0, 2.0, -0.5, 0.25, 1.5, 1.0], [0.3, 0.0, 0.1]);
        let mut dual = DualLaw::prior(&Linear);
        dual.observe_all(&observed, &noise);
        let mut linear = LinearLaw::prior(2);
        linear.observe_all(&observed, &noise);
        for x in [[0.3, 0.4], [-1.0, 2.0], [5.0, 0.1]] {
            assert!((dual.var(&x) - linear.var(&x).value).abs() < 1e-12);
            let terms: [(f64, &[f64]); 2] = [(2.0, &[1.0, 1.0]), (-1.0, &[0.0, 3.0])];
            let want = dot(&linear.functional(&terms), &x);
            let functional = dual.functional(&terms);
            assert!((dual.cov(&functional, &x) - want).abs() < 1e-12);
            let mut scanned = [0.0];
            dual.scan(&functional, &x, &mut Vec::new(), &mut scanned);
            assert!((scanned[0] - want).abs() < 1e-12);
        }
    }
}
