//! Products of two linear kernels, which represent gradients of a last layer without computing them.

use super::Kernel;
use crate::base::algebra::{dot, inner_products};

/// The kernel k(x, x′) = (a·a′) · (h·h′ + bias) for points [a, h]: the linear kernel of a ⊗ [h, √bias].
///
/// The gradient of a last layer's C × p weights is such a product, so C + p numbers per row replace C·p.
///
/// ```
/// use homing::{Kernel, Product};
///
/// let kernel = Product::new(2, true); // two numbers a, then h
/// assert_eq!(kernel.eval(&[1.0, 2.0, 3.0], &[0.5, 0.25, 2.0]), (0.5 + 0.5) * (6.0 + 1.0));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Product {
    split: usize,
    bias: f64,
}

impl Product {
    /// Creates the kernel for points whose first `split` numbers are a, and whose other numbers are h.
    pub fn new(split: usize, bias: bool) -> Self {
        Self { split, bias: f64::from(u8::from(bias)) }
    }
}

impl Kernel for Product {
    fn eval(&self, x: &[f64], other: &[f64]) -> f64 {
        let ((a, h), (b, g)) = (x.split_at(self.split), other.split_at(self.split));
        dot(a, b) * (dot(h, g) + self.bias)
    }

    fn check_point(&self, x: &[f64]) -> Result<(), &'static str> {
        if x.len() >= self.split {
            Ok(())
        } else {
            Err("give at least as many numbers as the first of the two factors has")
        }
    }

    fn block(&self, rows: &[f64], points: &[f64], dim: usize, out: &mut [f64]) {
        let mut hidden = vec![0.0; out.len()];
        inner_products(rows, points, dim, 0..self.split, out);
        inner_products(rows, points, dim, self.split..dim, &mut hidden);
        for (value, hidden) in out.iter_mut().zip(hidden) {
            *value *= hidden + self.bias;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Embeddings, Points};

    #[test]
    fn the_product_is_the_inner_product_of_the_gradients() {
        let h = [0.5, -1.0, 2.0, 0.25];
        let p = [0.2, 0.7, 0.1, 0.5, 0.25, 0.25];
        let points =
            Points::loss_gradient(Embeddings::new(&h[..], 2).unwrap(), Embeddings::new(&p[..], 3).unwrap()).unwrap();
        // ∂ℓ/∂W[c][f] = (p_c − 1{c = ŷ}) · [h, 1]_f, written out.
        let gradient = |i: usize| -> Vec<f64> {
            let y = [1, 0][i];
            let hidden = [h[2 * i], h[2 * i + 1], 1.0];
            (0..3).flat_map(|c| hidden.map(|f| (p[3 * i + c] - f64::from(u8::from(c == y))) * f)).collect()
        };
        let kernel = Product::new(3, true);
        for (i, j) in [(0, 0), (0, 1), (1, 1)] {
            let got = kernel.eval(&points.row(i), &points.row(j));
            let want = dot(&gradient(i), &gradient(j));
            assert!((got - want).abs() < 1e-14, "{got} {want}");
        }
    }
}
