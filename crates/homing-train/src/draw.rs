//! Random numbers of a network: initial weights and dropout masks. They come from a separate generator, because burn has
//! only one for the whole process.

use burn::module::Param;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{Linear, LinearConfig, PaddingConfig2d};
use burn::tensor::{Device, Tensor, TensorData};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Bernoulli, Distribution, Uniform};

/// A seeded source of random tensors.
pub struct Draw {
    rng: ChaCha8Rng,
    device: Device,
}

impl Draw {
    /// Makes tensors on `device`. Each `stream` of a seed is independent of the others.
    pub fn new(seed: u64, stream: u64, device: &Device) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self { rng, device: device.clone() }
    }

    /// Returns the device of the tensors.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Draws a linear layer whose numbers are uniform within ±1/√inputs.
    pub fn linear(&mut self, inputs: usize, outputs: usize, bias: bool) -> Linear {
        let mut layer = LinearConfig::new(inputs, outputs).with_bias(bias).init(&self.device);
        layer.weight = self.uniform([inputs, outputs], inputs);
        layer.bias = bias.then(|| self.uniform([outputs], inputs));
        layer
    }

    /// Draws a convolution with a square kernel and a border of `padding` zeros, whose numbers are uniform within
    /// ±1/√inputs.
    pub fn conv(&mut self, channels: [usize; 2], kernel: usize, padding: usize) -> Conv2d {
        let border = PaddingConfig2d::Explicit(padding, padding, padding, padding);
        let mut layer = Conv2dConfig::new(channels, [kernel; 2]).with_padding(border).init(&self.device);
        let inputs = channels[0] * kernel * kernel;
        layer.weight = self.uniform([channels[1], channels[0], kernel, kernel], inputs);
        layer.bias = Some(self.uniform([channels[1]], inputs));
        layer
    }

    fn uniform<const D: usize>(&mut self, shape: [usize; D], inputs: usize) -> Param<Tensor<D>> {
        let bound = (inputs as f32).sqrt().recip();
        let within = Uniform::new_inclusive(-bound, bound).expect("the bound is finite");
        let values = within.sample_iter(&mut self.rng).take(shape.iter().product()).collect();
        Param::from_tensor(Tensor::from_data(TensorData::new::<f32, _>(values, shape), &self.device))
    }

    /// Shuffles a list.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        list.shuffle(&mut self.rng);
    }

    /// Draws a mask: 0 with probability `rate`, and 1/(1 − rate) otherwise.
    fn mask<const D: usize>(&mut self, shape: [usize; D], rate: f64) -> Tensor<D> {
        let scale = (1.0 / (1.0 - rate)) as f32;
        let is_kept = Bernoulli::new(1.0 - rate).expect("the rate is between 0 and 1");
        let values =
            (0..shape.iter().product()).map(|_| if is_kept.sample(&mut self.rng) { scale } else { 0.0 }).collect();
        Tensor::from_data(TensorData::new::<f32, _>(values, shape), &self.device)
    }
}

/// Dropout, which applies only while a network learns.
pub enum Dropout<'a> {
    /// The network predicts.
    Off,
    /// The network learns.
    On(&'a mut Draw),
}

impl Dropout<'_> {
    /// Sets each number to zero with probability `rate`.
    pub fn drop<const D: usize>(&mut self, x: Tensor<D>, rate: f64) -> Tensor<D> {
        match self {
            Self::Off => x,
            Self::On(draw) => {
                let mask = draw.mask(x.dims(), rate);
                x * mask
            }
        }
    }
}
