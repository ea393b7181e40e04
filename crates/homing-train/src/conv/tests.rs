//! The fused layer compared with burn's own operations.

use burn::module::{Module, Param};

use super::*;
use crate::draw::Draw;

/// Values and gradients of the loss Σ c·y, with a different c for each output.
struct Results {
    values: Vec<f32>,
    /// Gradients of the images, the weights and the bias.
    gradients: [Vec<f32>; 3],
}

fn results(conv: &Conv2d, images: &Tensor<4>, layer: impl Fn(&Conv2d, Tensor<4>) -> Tensor<4>) -> Results {
    fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_into_vec().unwrap()
    }
    let conv = conv.clone().train();
    let x = Tensor::<4>::from_data(images.clone().into_data(), &Device::flex().autodiff()).require_grad();
    let y = layer(&conv, x.clone());
    let count = y.shape().num_elements();
    let slopes = (0..count).map(|i| (i * 7919 % 13) as f32 - 6.0).collect::<Vec<_>>();
    let slopes = Tensor::<1>::from_data(slopes.as_slice(), &Device::flex()).reshape(y.dims());
    let values = numbers(y.clone().inner());
    let gradients = (y * Tensor::from_inner(slopes)).sum().backward();
    let of = |param: &Param<Tensor<4>>| numbers(param.val().grad(&gradients).unwrap());
    let bias = conv.bias.as_ref().unwrap().val().grad(&gradients).unwrap();
    Results { values, gradients: [numbers(x.grad(&gradients).unwrap()), of(&conv.weight), numbers(bias)] }
}

fn assert_close(got: &[f32], want: &[f32], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(1.0f32, |most, value| most.max(value.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= 1e-5 * scale, "{what}: {got} instead of {want} at {i}");
    }
}

#[test]
fn the_fused_layer_computes_what_burns_operations_compute() {
    let unfused = |conv: &Conv2d, x| max_pool2d(relu(conv.forward(x)), MaxPoolOptions::new([2, 2]));
    for (count, channels, [height, width], kernel, padding) in [
        (1, [1, 1], [2, 2], 1, 0),
        (9, [1, 32], [28, 28], 3, 1),
        (5, [32, 64], [14, 14], 3, 1),
        (6, [64, 128], [7, 7], 3, 1),
        (3, [2, 5], [9, 4], 3, 0),
        (13, [3, 7], [5, 8], 5, 2),
        (2, [3, 4], [3, 11], 3, 2),
    ] {
        let mut draw = Draw::new(1, 0, &Device::flex());
        let conv = draw.conv(channels, kernel, padding);
        let images = draw.conv([channels[0], count], height.max(width), 0).weight.val();
        let images = images.narrow(2, 0, height).narrow(3, 0, width) * (height.max(width) as f32);
        let got = results(&conv, &images, |conv, x| halving_convs(&[conv], x));
        let want = results(&conv, &images, unfused);
        let what = format!("{count} images, {channels:?}, {height} × {width}, kernel {kernel}, padding {padding}");
        assert_close(&got.values, &want.values, &what);
        for (name, (got, want)) in ["images", "weights", "bias"].iter().zip(got.gradients.iter().zip(&want.gradients)) {
            assert_close(got, want, &format!("{what}: gradient of the {name}"));
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let mut draw = Draw::new(1, 0, &Device::flex());
    let conv = draw.conv([3, 16], 3, 1);
    let images = draw.conv([3, 21], 10, 0).weight.val();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let results = pool.install(|| results(&conv, &images, |conv, x| halving_convs(&[conv], x)));
        (results.values, results.gradients)
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn a_pixel_that_is_not_a_number_is_not_hidden() {
    let conv = Draw::new(1, 0, &Device::flex()).conv([1, 2], 3, 1);
    for at in 0..16 {
        let pixels: Vec<f32> = (0..16).map(|i| if i == at { f32::NAN } else { -1.0 }).collect();
        let x = Tensor::<1>::from_data(pixels.as_slice(), &Device::flex()).reshape([1, 1, 4, 4]);
        let y: Vec<f32> = halving_convs(&[&conv], x).into_data().try_into_vec().unwrap();
        assert!(y.iter().any(|value| value.is_nan()), "pixel {at}");
    }
}
