//! The covariance Σ: points under it, and their kernel.

use faer::{Mat, MatRef};

use super::curvature::{Curvature, CurvatureForm, MOST_WEIGHTS};
use super::eigen::Eigen;
use crate::base::algebra::{matrix, product, zeros};
use crate::{Embeddings, Error, Kernel, Linear, Points, Product, Result, Scaled, fold_covariance};

/// Covariance Σ = (H + τI)⁻¹ of the last layer's weights, with an approximation of H.
///
/// ```
/// use homing::Embeddings;
/// use homing::last_layer::{Approximation, Curvature, LastLayer};
///
/// let (hidden, p) = ([1.0f32, 0.2, 0.1, 0.9, 0.8, 0.3], [0.7f32, 0.3, 0.4, 0.6, 0.6, 0.4]); // three examples, two classes
/// let layer = LastLayer::new(Embeddings::new(&hidden, 2)?, Embeddings::new(&p, 2)?, true)?;
/// let sigma = Curvature::new(&layer, Approximation::Kronecker)?.covariance(1.0)?;
/// let points = sigma.loss_gradients(Embeddings::new(&[0.9f32, 0.1], 2)?, Embeddings::new(&[0.8f32, 0.2], 2)?)?;
/// assert_eq!(points.len(), sigma.width());
/// assert!(sigma.kernel().var(&points) > 0.0);
/// # Ok::<(), homing::Error>(())
/// ```
pub struct Covariance {
    classes: usize,
    width: usize,
    bias: bool,
    shape: CovarianceForm,
}

enum CovarianceForm {
    /// Diagonal in the coordinates g·R_G ⊗ h·R_A of gradients g ⊗ h.
    Structured {
        kernel: Box<dyn Kernel>,
        /// R_G and R_A; `None` leaves g and h unchanged.
        rotations: Option<(Mat<f64>, Mat<f64>)>,
        /// √S in the coordinates h·R_A.
        spread: Vec<f64>,
    },
    /// Σ, row-major.
    Full(Vec<f64>),
}

impl Curvature {
    /// Returns Σ for a prior precision τ.
    pub fn covariance(self, prior_precision: f64) -> Result<Covariance> {
        let tau = prior_precision;
        if !(tau.is_normal() && tau > 0.0 && tau.recip().is_normal()) {
            let expected = "it must be a positive number";
            return Err(Error::Setting { name: "the prior precision", value: tau, expected });
        }
        let Self { classes, width, bias, form } = self;
        let shape = match form {
            CurvatureForm::Diagonal(table) => {
                let table = matrix(width, classes, |j, c| (table[(c, j)] + tau).recip());
                CovarianceForm::scaled(&table, None)?
            }
            CurvatureForm::Kronecker(factors) => {
                let (g, a) = (&factors.outputs.values, &factors.inputs.values);
                let table = matrix(width, classes, |j, c| (g[c] * a[j] + tau).recip());
                CovarianceForm::scaled(&table, Some((factors.outputs.vectors, factors.inputs.vectors)))?
            }
            CurvatureForm::Damped(factors) => {
                let (of_outputs, of_inputs) = factors.damping(tau);
                let mean =
                    factors.outputs.values.iter().map(|g| (g + of_outputs).recip()).sum::<f64>() / classes as f64;
                let root = |eigen: &Eigen, damping: f64| eigen.scaled(|value| (value + damping).sqrt().recip());
                CovarianceForm::Structured {
                    kernel: Box::new(Product::new(classes, false)),
                    rotations: Some((root(&factors.outputs, of_outputs), root(&factors.inputs, of_inputs))),
                    spread: vec![mean.sqrt(); width],
                }
            }
            CurvatureForm::Full(eigen) => {
                let root = eigen.scaled(|value| (value + tau).sqrt().recip());
                let sigma = &root * root.transpose();
                CovarianceForm::Full((0..sigma.ncols()).flat_map(|j| sigma.col_as_slice(j)).copied().collect())
            }
        };
        Ok(Covariance { classes, width, bias, shape })
    }
}

impl CovarianceForm {
    /// Creates the form for a table of variances, with one column per class.
    fn scaled(table: &Mat<f64>, rotations: Option<(Mat<f64>, Mat<f64>)>) -> Result<Self> {
        let (width, classes) = (table.nrows(), table.ncols());
        let spread = (0..width).map(|j| ((0..classes).map(|c| table[(j, c)]).sum::<f64>() / classes as f64).sqrt());
        let rows: Vec<f64> = (0..classes).flat_map(|c| table.col_as_slice(c)).copied().collect();
        Ok(Self::Structured { kernel: Box::new(Scaled::new(classes, &rows)?), rotations, spread: spread.collect() })
    }
}

impl Covariance {
    /// Returns the kernel k(x, x′) = φ(x)ᵀΣφ(x′) of the points that [`loss_gradients`](Self::loss_gradients) returns.
    pub fn kernel(&self) -> &dyn Kernel {
        match &self.shape {
            CovarianceForm::Structured { kernel, .. } => &**kernel,
            CovarianceForm::Full(_) => &Linear,
        }
    }

    /// Returns the number of values per point of [`loss_gradients`](Self::loss_gradients): C + w, or C·w under a full Σ.
    pub fn width(&self) -> usize {
        match self.shape {
            CovarianceForm::Structured { .. } => self.classes + self.width,
            CovarianceForm::Full(_) => self.classes * self.width,
        }
    }

    /// Returns the loss gradients φ = (p − e_ŷ) ⊗ [h, 1] (Eq. 22) of examples, as points of [`kernel`](Self::kernel),
    /// row-major.
    ///
    /// The gradients are in factored form, rotated into the coordinates in which Σ is diagonal. Under a full Σ, they are
    /// Σ^½φ itself.
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
            CovarianceForm::Structured { .. } => Ok(placed),
            CovarianceForm::Full(sigma) => fold_covariance(Embeddings::new(&placed[..], self.width())?, sigma),
        }
    }

    /// Returns embeddings of the linear kernel [h, 1]ᵀ S [h′, 1], where S is the mean of the classes' blocks Σ_cc: w values
    /// per example, row-major.
    ///
    /// These are output gradients of the last layer: ∂f_c/∂W = e_c ⊗ [h, 1], so Cov(f_c(x), f_c(x′)) = [h, 1]ᵀ Σ_cc [h′,
    /// 1]. The kernel is the covariance of the centred logit of a class that is drawn at random. For Σ = I, the result is
    /// the last-layer embedding, as in the paper. If G ⊗ A approximates H, S has the eigenvectors of A.
    pub fn last_layer(&self, hidden: Embeddings<'_>) -> Result<Vec<f64>> {
        self.check(hidden)?;
        hidden.check_finite("hidden layer")?;
        let (rotation, spread) = match &self.shape {
            CovarianceForm::Structured { rotations, spread, .. } => {
                (rotations.as_ref().map(|(_, inputs)| inputs.as_ref()), &spread[..])
            }
            CovarianceForm::Full(_) => (None, &[][..]),
        };
        let blocks = hidden.map_blocks(|_, block| {
            let rows = MatRef::from_row_major_slice(block, block.len() / hidden.dim(), hidden.dim());
            let mut placed = row_major(rotate(self.extended(rows).as_ref(), rotation).as_ref());
            for row in placed.chunks_exact_mut(self.width) {
                row.iter_mut().zip(spread).for_each(|(x, s)| *x *= s);
            }
            placed
        });
        hidden.check_read()?;
        let placed = blocks.concat();
        match &self.shape {
            CovarianceForm::Structured { .. } => Ok(placed),
            CovarianceForm::Full(sigma) => {
                fold_covariance(Embeddings::new(&placed[..], self.width)?, &self.mean_block(sigma))
            }
        }
    }

    /// Returns the number of values per example of [`last_layer`](Self::last_layer): w, including the 1 of the bias.
    pub fn last_layer_width(&self) -> usize {
        self.width
    }

    /// Returns Σ as a dense matrix, row-major, for up to [`MOST_WEIGHTS`] weights. Weight (c, j), from input j to class c,
    /// has the index c·w + j.
    pub fn dense(&self) -> Result<Vec<f64>> {
        let weights = self.classes * self.width;
        if weights > MOST_WEIGHTS {
            return Err(Error::LayerTooLarge { weights, most: MOST_WEIGHTS });
        }
        let CovarianceForm::Structured { kernel, .. } = &self.shape else {
            let CovarianceForm::Full(sigma) = &self.shape else { unreachable!("there are only two forms") };
            return Ok(sigma.clone());
        };
        let unit = |at: fn(usize, usize) -> usize, size: usize| {
            matrix(weights, size, |i, j| f64::from(u8::from(at(i, self.width) == j)))
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

    /// Returns [h, 1].
    fn extended(&self, hidden: MatRef<'_, f64>) -> Mat<f64> {
        matrix(hidden.nrows(), self.width, |i, j| if j < hidden.ncols() { hidden[(i, j)] } else { 1.0 })
    }

    /// Returns gradients g ⊗ h as points of the kernel; under a full Σ, as dense vectors.
    fn place(&self, outer: MatRef<'_, f64>, inner: MatRef<'_, f64>) -> Vec<f64> {
        let CovarianceForm::Structured { rotations, .. } = &self.shape else {
            let dense = matrix(outer.nrows(), self.classes * self.width, |i, at| {
                outer[(i, at / self.width)] * inner[(i, at % self.width)]
            });
            return row_major(dense.as_ref());
        };
        let outer = rotate(outer, rotations.as_ref().map(|(outputs, _)| outputs.as_ref()));
        let inner = rotate(inner, rotations.as_ref().map(|(_, inputs)| inputs.as_ref()));
        row_major(faer::concat![[outer, inner]].as_ref())
    }

    /// Returns the mean of the blocks Σ_cc, row-major.
    fn mean_block(&self, sigma: &[f64]) -> Vec<f64> {
        let (classes, width) = (self.classes, self.width);
        let entry = |j: usize, k: usize| {
            (0..classes).map(|c| sigma[(c * width + j) * classes * width + c * width + k]).sum::<f64>() / classes as f64
        };
        (0..width).flat_map(|j| (0..width).map(move |k| (j, k))).map(|(j, k)| entry(j, k)).collect()
    }
}

/// Multiplies the rows with a matrix, if there is one.
fn rotate(rows: MatRef<'_, f64>, rotation: Option<MatRef<'_, f64>>) -> Mat<f64> {
    let Some(rotation) = rotation else { return rows.to_owned() };
    let mut out = zeros(rows.nrows(), rotation.ncols());
    product(out.as_mut(), faer::Accum::Replace, rows, rotation, 1.0);
    out
}

fn row_major(rows: MatRef<'_, f64>) -> Vec<f64> {
    (0..rows.nrows()).flat_map(|i| rows.row(i).iter().copied()).collect()
}
