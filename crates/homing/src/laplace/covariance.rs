//! Σ: points under it, and their kernel.

use faer::{Mat, MatRef};

use super::curvature::{Curvature, Form, MOST_WEIGHTS};
use super::eigen::Eigen;
use crate::algebra::product;
use crate::{Embeddings, Error, Kernel, Linear, Points, Product, Result, Scaled, fold_covariance};

/// Σ = (H + τI)⁻¹ with H as it is approximated.
pub struct Covariance {
    classes: usize,
    width: usize,
    bias: bool,
    shape: Shape,
}

enum Shape {
    /// Diagonal in g·R_G ⊗ h·R_A for gradients g ⊗ h.
    Structured {
        kernel: Box<dyn Kernel>,
        /// R_G and R_A; none leaves g and h as they are.
        turns: Option<(Mat<f64>, Mat<f64>)>,
        /// √S in the coordinates h·R_A.
        spread: Vec<f64>,
    },
    /// Σ, row after row.
    Full(Vec<f64>),
}

impl Curvature {
    /// Σ for a prior precision τ.
    pub fn covariance(self, prior_precision: f64) -> Result<Covariance> {
        let tau = prior_precision;
        if !(tau.is_normal() && tau > 0.0 && tau.recip().is_normal()) {
            let expected = "it must be a positive number";
            return Err(Error::Setting { name: "the prior precision", value: tau, expected });
        }
        let Self { classes, width, bias, form } = self;
        let shape = match form {
            Form::Diagonal(table) => {
                let table = Mat::from_fn(width, classes, |j, c| (table[(c, j)] + tau).recip());
                Shape::scaled(&table, None)?
            }
            Form::Kronecker(factors) => {
                let (g, a) = (&factors.outputs.values, &factors.inputs.values);
                let table = Mat::from_fn(width, classes, |j, c| (g[c] * a[j] + tau).recip());
                Shape::scaled(&table, Some((factors.outputs.vectors, factors.inputs.vectors)))?
            }
            Form::Damped(factors) => {
                let (of_outputs, of_inputs) = factors.damping(tau);
                let mean =
                    factors.outputs.values.iter().map(|g| (g + of_outputs).recip()).sum::<f64>() / classes as f64;
                let root = |eigen: &Eigen, damping: f64| eigen.scaled(|value| (value + damping).sqrt().recip());
                Shape::Structured {
                    kernel: Box::new(Product::new(classes, false)),
                    turns: Some((root(&factors.outputs, of_outputs), root(&factors.inputs, of_inputs))),
                    spread: vec![mean.sqrt(); width],
                }
            }
            Form::Full(eigen) => {
                let root = eigen.scaled(|value| (value + tau).sqrt().recip());
                let sigma = &root * root.transpose();
                Shape::Full((0..sigma.ncols()).flat_map(|j| sigma.col_as_slice(j)).copied().collect())
            }
        };
        Ok(Covariance { classes, width, bias, shape })
    }
}

impl Shape {
    /// With a table of variances, a column a class.
    fn scaled(table: &Mat<f64>, turns: Option<(Mat<f64>, Mat<f64>)>) -> Result<Self> {
        let (width, classes) = (table.nrows(), table.ncols());
        let spread = (0..width).map(|j| ((0..classes).map(|c| table[(j, c)]).sum::<f64>() / classes as f64).sqrt());
        let rows: Vec<f64> = (0..classes).flat_map(|c| table.col_as_slice(c)).copied().collect();
        Ok(Self::Structured { kernel: Box::new(Scaled::new(classes, &rows)?), turns, spread: spread.collect() })
    }
}

impl Covariance {
    /// The kernel k(x, x′) = φ(x)ᵀΣφ(x′) of the points that [`loss_gradients`](Self::loss_gradients) makes.
    pub fn kernel(&self) -> &dyn Kernel {
        match &self.shape {
            Shape::Structured { kernel, .. } => &**kernel,
            Shape::Full(_) => &Linear,
        }
    }

    /// Numbers a point of [`loss_gradients`](Self::loss_gradients): C + w, and C·w under a full Σ.
    pub fn width(&self) -> usize {
        match self.shape {
            Shape::Structured { .. } => self.classes + self.width,
            Shape::Full(_) => self.classes * self.width,
        }
    }

    /// Loss gradients φ = (p − e_ŷ) ⊗ [h, 1] (Eq. 22) of examples, as points of [`kernel`](Self::kernel), one after the other.
    ///
    /// In factored form, turned into the coordinates in which Σ is diagonal; under a full Σ, Σ^½φ itself.
    pub fn loss_gradients(&self, hidden: Embeddings<'_>, probabilities: Embeddings<'_>) -> Result<Vec<f64>> {
        self.check(hidden)?;
        if probabilities.dim() != self.classes {
            return Err(Error::Layer { what: "probabilities", got: probabilities.dim(), expected: self.classes });
        }
        let points = Points::loss_gradient(hidden, probabilities)?;
        points.check_finite("hidden layer")?;
        let blocks = points.map_blocks(|_, block| {
            let rows = MatRef::from_row_major_slice(block, block.len() / points.dim(), points.dim());
            let (residuals, hidden) = rows.split_at_col(self.classes);
            self.place(residuals, self.extended(hidden).as_ref())
        });
        points.check_read()?;
        let placed = blocks.concat();
        match &self.shape {
            Shape::Structured { .. } => Ok(placed),
            Shape::Full(sigma) => fold_covariance(Embeddings::new(&placed[..], self.width())?, sigma),
        }
    }

    /// Embeddings of the linear kernel [h, 1]ᵀ S [h′, 1], with S the mean over the classes of their blocks Σ_cc: w numbers an
    /// example, one example after the other.
    ///
    /// Output gradients of the last layer: ∂f_c/∂W = e_c ⊗ [h, 1], so that Cov(f_c(x), f_c(x′)) = [h, 1]ᵀ Σ_cc [h′, 1]. The process
    /// that this is the covariance of is the logit of one class, drawn at random, less its mean. For Σ = I it is the last-layer
    /// embedding, as the paper has it. Where G ⊗ A stands for H, S has the eigenvectors of A.
    pub fn last_layer(&self, hidden: Embeddings<'_>) -> Result<Vec<f64>> {
        self.check(hidden)?;
        hidden.check_finite("hidden layer")?;
        let (turn, spread) = match &self.shape {
            Shape::Structured { turns, spread, .. } => (turns.as_ref().map(|(_, inputs)| inputs.as_ref()), &spread[..]),
            Shape::Full(_) => (None, &[][..]),
        };
        let blocks = hidden.map_blocks(|_, block| {
            let rows = MatRef::from_row_major_slice(block, block.len() / hidden.dim(), hidden.dim());
            let mut placed = row_major(turned(self.extended(rows).as_ref(), turn).as_ref());
            for row in placed.chunks_exact_mut(self.width) {
                row.iter_mut().zip(spread).for_each(|(x, s)| *x *= s);
            }
            placed
        });
        hidden.check_read()?;
        let placed = blocks.concat();
        match &self.shape {
            Shape::Structured { .. } => Ok(placed),
            Shape::Full(sigma) => fold_covariance(Embeddings::new(&placed[..], self.width)?, &self.mean_block(sigma)),
        }
    }

    /// Numbers an example of [`last_layer`](Self::last_layer): w, with the 1 of the bias.
    pub fn last_layer_width(&self) -> usize {
        self.width
    }

    /// Σ written out, row after row; weight (c, j) from input j to class c is number c·w + j. For up to [`MOST_WEIGHTS`] weights.
    pub fn dense(&self) -> Result<Vec<f64>> {
        let weights = self.classes * self.width;
        if weights > MOST_WEIGHTS {
            return Err(Error::LayerTooLarge { weights, most: MOST_WEIGHTS });
        }
        let Shape::Structured { kernel, .. } = &self.shape else {
            let Shape::Full(sigma) = &self.shape else { unreachable!("there are two shapes") };
            return Ok(sigma.clone());
        };
        let unit = |at: fn(usize, usize) -> usize, size: usize| {
            Mat::from_fn(weights, size, |i, j| f64::from(u8::from(at(i, self.width) == j)))
        };
        let points =
            self.place(unit(usize::div_euclid, self.classes).as_ref(), unit(usize::rem_euclid, self.width).as_ref());
        let mut sigma = vec![0.0; weights * weights];
        kernel.block(&points, &points, self.classes + self.width, &mut sigma);
        Ok(sigma)
    }

    fn check(&self, hidden: Embeddings<'_>) -> Result<()> {
        let expected = self.width - usize::from(self.bias);
        if hidden.dim() == expected {
            Ok(())
        } else {
            Err(Error::Layer { what: "hidden layers", got: hidden.dim(), expected })
        }
    }

    /// [h, 1].
    fn extended(&self, hidden: MatRef<'_, f64>) -> Mat<f64> {
        Mat::from_fn(hidden.nrows(), self.width, |i, j| if j < hidden.ncols() { hidden[(i, j)] } else { 1.0 })
    }

    /// Gradients g ⊗ h, as points of the kernel; under a full Σ, written out.
    fn place(&self, outer: MatRef<'_, f64>, inner: MatRef<'_, f64>) -> Vec<f64> {
        let Shape::Structured { turns, .. } = &self.shape else {
            let written_out = Mat::from_fn(outer.nrows(), self.classes * self.width, |i, at| {
                outer[(i, at / self.width)] * inner[(i, at % self.width)]
            });
            return row_major(written_out.as_ref());
        };
        let outer = turned(outer, turns.as_ref().map(|(outputs, _)| outputs.as_ref()));
        let inner = turned(inner, turns.as_ref().map(|(_, inputs)| inputs.as_ref()));
        row_major(faer::concat![[outer, inner]].as_ref())
    }

    /// The mean of the blocks Σ_cc, row after row.
    fn mean_block(&self, sigma: &[f64]) -> Vec<f64> {
        let (classes, width) = (self.classes, self.width);
        let entry = |j: usize, k: usize| {
            (0..classes).map(|c| sigma[(c * width + j) * classes * width + c * width + k]).sum::<f64>() / classes as f64
        };
        (0..width).flat_map(|j| (0..width).map(move |k| (j, k))).map(|(j, k)| entry(j, k)).collect()
    }
}

/// Rows times a matrix.
fn turned(rows: MatRef<'_, f64>, turn: Option<MatRef<'_, f64>>) -> Mat<f64> {
    let Some(turn) = turn else { return rows.to_owned() };
    let mut out = Mat::zeros(rows.nrows(), turn.ncols());
    product(out.as_mut(), faer::Accum::Replace, rows, turn, 1.0);
    out
}

fn row_major(rows: MatRef<'_, f64>) -> Vec<f64> {
    (0..rows.nrows()).flat_map(|i| rows.row(i).iter().copied()).collect()
}
