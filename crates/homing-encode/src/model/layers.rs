//! Layers of networks on rows of numbers. Each call runs on the thread that makes it.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use pulp::Arch;

/// y = W·x + b for each row x.
pub(crate) struct Linear {
    /// Outputs × inputs.
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
    inputs: usize,
    outputs: usize,
}

impl Linear {
    pub(crate) fn new(weight: Vec<f32>, bias: Option<Vec<f32>>, inputs: usize) -> Self {
        let outputs = weight.len() / inputs.max(1);
        Self { weight, bias, inputs, outputs }
    }

    /// Returns one layer with the outputs of several, one after the other.
    pub(crate) fn joined(layers: Vec<Linear>) -> Self {
        let (inputs, outputs) = (layers[0].inputs, layers.iter().map(|layer| layer.outputs).sum());
        let bias = layers.iter().any(|layer| layer.bias.is_some()).then(|| {
            let bias = |layer: &Linear| layer.bias.clone().unwrap_or_else(|| vec![0.0; layer.outputs]);
            layers.iter().flat_map(bias).collect()
        });
        Self { weight: layers.into_iter().flat_map(|layer| layer.weight).collect(), bias, inputs, outputs }
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    pub(crate) fn apply(&self, rows: &[f32]) -> Vec<f32> {
        let count = rows.len() / self.inputs;
        let mut out = vec![0.0; count * self.outputs];
        let accumulate = match &self.bias {
            Some(bias) => {
                out.chunks_exact_mut(self.outputs).for_each(|row| row.copy_from_slice(bias));
                Accum::Add
            }
            None => Accum::Replace,
        };
        let rows = MatRef::from_row_major_slice(rows, count, self.inputs);
        let weight = MatRef::from_row_major_slice(&self.weight, self.outputs, self.inputs);
        let to = MatMut::from_row_major_slice_mut(&mut out, count, self.outputs);
        matmul(to, accumulate, rows, weight.transpose(), 1.0, Par::Seq);
        out
    }
}

/// Layer normalisation of each row.
pub(crate) struct Norm {
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Vec<f32>,
    pub(crate) epsilon: f32,
}

impl Norm {
    pub(crate) fn apply(&self, rows: &mut [f32]) {
        let width = self.scale.len();
        // Without the attribute, LLVM would not compile the loops for the vectors of the machine.
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for row in rows.chunks_exact_mut(width) {
                    let mean = sum(row, |value| value) / width as f32;
                    let variance = sum(row, |value| (value - mean) * (value - mean)) / width as f32;
                    let factor = 1.0 / (variance + self.epsilon).sqrt();
                    for ((value, scale), shift) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
                        *value = (*value - mean) * factor * scale + shift;
                    }
                }
            },
        );
    }

    pub(crate) fn applied(&self, rows: &[f32]) -> Vec<f32> {
        let mut rows = rows.to_vec();
        self.apply(&mut rows);
        rows
    }
}

/// Sums the terms in sixteen lanes, which the compiler turns into vector instructions.
#[allow(clippy::inline_always, reason = "it is compiled for the vectors of this machine, as a part of its callers")]
#[inline(always)]
fn sum(row: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; 16];
    let (lanes, rest) = row.as_chunks::<16>();
    for lane in lanes {
        for (sum, &value) in sums.iter_mut().zip(lane) {
            *sum += term(value);
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|&value| term(value)).sum::<f32>()
}

/// Activation function between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    /// x·Φ(x).
    Gelu,
    /// The usual approximation of x·Φ(x) by a hyperbolic tangent.
    GeluTanh,
    /// x·σ(1.702 x).
    QuickGelu,
    /// max(x, 0).
    Relu,
    /// x·σ(x).
    Silu,
}

impl Activation {
    /// Returns the activation that a configuration of Hugging Face names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "gelu" | "gelu_python" => Self::Gelu,
            "gelu_pytorch_tanh" | "gelu_new" | "gelu_fast" => Self::GeluTanh,
            "quick_gelu" => Self::QuickGelu,
            "relu" => Self::Relu,
            "silu" | "swish" => Self::Silu,
            _ => return None,
        })
    }

    pub(crate) fn apply(self, values: &mut [f32]) {
        fn each(values: &mut [f32], function: impl Fn(f32) -> f32) {
            Arch::new().dispatch(
                #[inline(always)]
                || values.iter_mut().for_each(|value| *value = function(*value)),
            );
        }
        match self {
            Self::Gelu => each(
                values,
                #[inline(always)]
                |x| 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2)),
            ),
            Self::GeluTanh => each(
                values,
                #[inline(always)]
                |x| x * sigmoid(1.595_769 * (x + 0.044_715 * x * x * x)),
            ),
            Self::QuickGelu => each(
                values,
                #[inline(always)]
                |x| x * sigmoid(1.702 * x),
            ),
            Self::Relu => each(
                values,
                #[inline(always)]
                |x| x.max(0.0),
            ),
            Self::Silu => each(
                values,
                #[inline(always)]
                |x| x * sigmoid(x),
            ),
        }
    }
}

#[allow(clippy::inline_always, reason = "as `sum`")]
#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Error function with an absolute error below 5·10⁻⁷ (Abramowitz and Stegun, 7.1.26).
#[allow(clippy::inline_always, reason = "as `sum`")]
#[inline(always)]
fn erf(x: f32) -> f32 {
    let a = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * a);
    let series = t * (0.254_829_6 + t * (-0.284_496_72 + t * (1.421_413_8 + t * (-1.453_152_1 + t * 1.061_405_4))));
    (1.0 - series * exp(-a * a)).copysign(x)
}

/// eˣ with a relative error below 3·10⁻⁷. It has no branches, so the compiler can use vector instructions.
#[allow(clippy::inline_always, reason = "as `sum`")]
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding and subtracting this number rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.3, 88.7);
    let whole = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
    // ln 2 in two parts, of which the first has few digits.
    let rest = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let series = 1.0
        + rest
            * (1.0
                + rest
                    * (0.5
                        + rest
                            * (0.166_666_66 + rest * (0.041_665_795 + rest * (0.008_333_452 + rest * 0.001_398_2)))));
    series * f32::from_bits(((whole as i32 + 127) << 23) as u32)
}

/// Replaces each row of `width` numbers by its softmax.
pub(crate) fn softmax(rows: &mut [f32], width: usize) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in rows.chunks_exact_mut(width) {
                let most = row.iter().fold(f32::NEG_INFINITY, |most, &value| most.max(value));
                row.iter_mut().for_each(|value| *value = exp(*value - most));
                let factor = 1.0 / sum(row, |value| value);
                row.iter_mut().for_each(|value| *value *= factor);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_and_errors_are_exact_to_single_precision() {
        for i in -870..=880 {
            let x = i as f32 / 10.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 5e-7, "{x}: {} {exact}", exp(x));
        }
        for (x, exact) in [(0.0, 0.0), (0.5, 0.520_499_9), (-1.0, -0.842_700_8), (2.0, 0.995_322_3), (6.0, 1.0)] {
            assert!((erf(x) - exact).abs() < 1e-6, "{x}: {}", erf(x));
        }
    }

    #[test]
    fn layers_by_hand() {
        let linear = Linear::new(vec![1.0, 2.0, 3.0, 4.0], Some(vec![0.5, 0.0]), 2);
        assert_eq!(linear.apply(&[1.0, 1.0, 0.0, 1.0]), [3.5, 7.0, 2.5, 4.0]);
        let norm = Norm { scale: vec![1.0, 2.0], shift: vec![0.0, 1.0], epsilon: 0.0 };
        assert_eq!(norm.applied(&[1.0, 3.0]), [-1.0, 3.0]);
        let mut rows = [0.0, 0.0, 1.0, 1.0 + 3.0_f32.ln()];
        softmax(&mut rows, 2);
        assert!((rows[0] - 0.5).abs() < 1e-6 && (rows[3] - 0.75).abs() < 1e-6);
        let mut values = [-1.0, 0.0, 2.0];
        Activation::Relu.apply(&mut values);
        assert_eq!(values, [0.0, 0.0, 2.0]);
    }
}
