//! The forward and the backward pass on slices. Pixels lie side by side, each with all its channels.
//!
//! Images are processed in groups of fixed size, and the groups' gradients of the weights are added in order. So the results
//! are the same on any number of threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::patches::{Sizes, WINDOW};

/// Images whose gradients are summed before those of other groups are added.
const GROUP: usize = 4;

/// Positions per matrix product, about; patches at more positions would not fit into the cache of a core.
const POSITIONS: usize = 256;

/// Marks a window whose output is zero because of the ReLU.
const NONE: u8 = WINDOW as u8;

/// Outputs of the pooling, and the position in its window that each output comes from.
pub(super) struct Pooled {
    pub values: Vec<f32>,
    pub winners: Vec<u8>,
}

/// Gradients of the weights, of the bias and, if requested, of the input.
pub(super) struct Gradients {
    pub input: Option<Vec<f32>>,
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
}

/// Buffers for the images of one matrix product.
struct Buffers {
    padded: Vec<f32>,
    /// Positions × places of a patch.
    patches: Vec<f32>,
    /// Positions × outputs.
    outputs: Vec<f32>,
}

impl Buffers {
    fn new(sizes: &Sizes) -> Self {
        let positions = images_per_product(sizes) * sizes.positions();
        Self {
            padded: vec![0.0; sizes.padded()],
            patches: vec![0.0; positions * sizes.patch()],
            outputs: vec![0.0; positions * sizes.outputs],
        }
    }

    /// Gathers the patches of some images and returns their number of positions.
    fn gather(&mut self, sizes: &Sizes, images: &[f32]) -> usize {
        let patches = self.patches.chunks_exact_mut(sizes.positions() * sizes.patch());
        for (image, patches) in images.chunks_exact(sizes.image()).zip(patches) {
            sizes.pad(image, &mut self.padded);
            sizes.gather(&self.padded, patches);
        }
        images.len() / sizes.image() * sizes.positions()
    }
}

fn images_per_product(sizes: &Sizes) -> usize {
    (POSITIONS / sizes.positions()).clamp(1, GROUP)
}

/// Computes max-pool(ReLU(W ∗ x + b)) for images that follow each other in `input`.
pub(super) fn forward(sizes: &Sizes, input: &[f32], weight: &[f32], bias: &[f32]) -> Pooled {
    let weight = sizes.by_place(weight);
    let weight = MatRef::from_column_major_slice(&weight, sizes.outputs, sizes.patch());
    let (images, pooled) = (images_per_product(sizes), sizes.windows() * sizes.outputs);
    let count = input.len() / sizes.image() * pooled;
    let (mut values, mut winners) = (vec![0.0; count], vec![NONE; count]);
    input
        .par_chunks(images * sizes.image())
        .zip(values.par_chunks_mut(images * pooled).zip(winners.par_chunks_mut(images * pooled)))
        .for_each_init(
            || Buffers::new(sizes),
            |buffers, (input, (values, winners))| {
                let positions = buffers.gather(sizes, input);
                let outputs = &mut buffers.outputs[..positions * sizes.outputs];
                matmul(
                    MatMut::from_column_major_slice_mut(outputs, sizes.outputs, positions),
                    Accum::Replace,
                    weight,
                    columns(&buffers.patches, sizes.patch(), positions),
                    1.0,
                    Par::Seq,
                );
                pool(outputs, bias, values, winners);
            },
        );
    Pooled { values, winners }
}

/// Computes the gradients from those of the outputs.
pub(super) fn backward(
    sizes: &Sizes,
    input: &[f32],
    weight: &[f32],
    gradient: &[f32],
    winners: &[u8],
    wants_input: bool,
) -> Gradients {
    let weight = sizes.by_output(weight);
    let weight = MatRef::from_column_major_slice(&weight, sizes.patch(), sizes.outputs);
    let (group, pooled) = (GROUP * sizes.image(), GROUP * sizes.windows() * sizes.outputs);
    let mut of_input = vec![0.0; if wants_input { input.len() } else { 0 }];
    let mut into: Vec<&mut [f32]> = of_input.chunks_mut(group).collect();
    into.resize_with(input.len().div_ceil(group), Default::default);
    let sums: Vec<Sums> = into
        .into_par_iter()
        .zip(input.par_chunks(group).zip(gradient.par_chunks(pooled).zip(winners.par_chunks(pooled))))
        .map_init(
            || Buffers::new(sizes),
            |buffers, (into, (input, (gradient, winners)))| {
                let mut sums = Sums::new(sizes);
                sums.add_group(sizes, buffers, input, (gradient, winners), into, weight);
                sums
            },
        )
        .collect();
    let total = sums.iter().fold(Sums::new(sizes), Sums::plus);
    Gradients { input: wants_input.then_some(of_input), weight: sizes.undo_by_place(&total.weight), bias: total.bias }
}

/// Gradients of the weights, as all outputs for each place of a patch, and of the bias, summed over images.
struct Sums {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Sums {
    fn new(sizes: &Sizes) -> Self {
        Self { weight: vec![0.0; sizes.outputs * sizes.patch()], bias: vec![0.0; sizes.outputs] }
    }

    fn plus(mut self, other: &Self) -> Self {
        add(&mut self.weight, &other.weight);
        add(&mut self.bias, &other.bias);
        self
    }

    /// Adds the gradients of a group of images, and writes those of the images into `into` unless it is empty.
    fn add_group(
        &mut self,
        sizes: &Sizes,
        buffers: &mut Buffers,
        input: &[f32],
        (gradient, winners): (&[f32], &[u8]),
        into: &mut [f32],
        weight: MatRef<'_, f32>,
    ) {
        let (image, patches) = (sizes.image(), sizes.positions() * sizes.patch());
        let pooled = sizes.windows() * sizes.outputs;
        let images = images_per_product(sizes);
        let outputs = gradient.chunks(images * pooled).zip(winners.chunks(images * pooled));
        for (at, (input, (gradient, winners))) in input.chunks(images * image).zip(outputs).enumerate() {
            let positions = buffers.gather(sizes, input);
            let of_outputs = &mut buffers.outputs[..positions * sizes.outputs];
            unpool(gradient, winners, of_outputs, &mut self.bias);
            let of_outputs = MatRef::from_column_major_slice(of_outputs, sizes.outputs, positions);
            matmul(
                MatMut::from_column_major_slice_mut(&mut self.weight, sizes.outputs, sizes.patch()),
                Accum::Add,
                of_outputs,
                columns(&buffers.patches, sizes.patch(), positions).transpose(),
                1.0,
                Par::Seq,
            );
            if into.is_empty() {
                continue;
            }
            let of_patches = &mut buffers.patches[..positions * sizes.patch()];
            matmul(
                MatMut::from_column_major_slice_mut(&mut *of_patches, sizes.patch(), positions),
                Accum::Replace,
                weight,
                of_outputs,
                1.0,
                Par::Seq,
            );
            let into = into[at * images * image..].chunks_exact_mut(image);
            for (into, patches) in into.zip(of_patches.chunks_exact(patches)) {
                buffers.padded.fill(0.0);
                sizes.scatter(patches, &mut buffers.padded);
                sizes.crop(&buffers.padded, into);
            }
            // The border is zero again for the next image.
            buffers.padded.fill(0.0);
        }
    }
}

/// Returns the first columns of a matrix that is stored column by column.
fn columns(values: &[f32], rows: usize, columns: usize) -> MatRef<'_, f32> {
    MatRef::from_column_major_slice(&values[..rows * columns], rows, columns)
}

fn add(sum: &mut [f32], values: &[f32]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// Takes the largest value of each window, adds the bias and applies the ReLU. A window with a NaN yields NaN.
fn pool(outputs: &[f32], bias: &[f32], values: &mut [f32], winners: &mut [u8]) {
    let width = bias.len();
    let pooled = values.chunks_exact_mut(width).zip(winners.chunks_exact_mut(width));
    for (window, (values, winners)) in outputs.chunks_exact(WINDOW * width).zip(pooled) {
        let (first, others) = window.split_at(width);
        values.copy_from_slice(first);
        winners.fill(0);
        for (position, outputs) in (1..).zip(others.chunks_exact(width)) {
            for ((value, winner), &output) in values.iter_mut().zip(winners.iter_mut()).zip(outputs) {
                let wins = output > *value || output.is_nan();
                *value = if wins { output } else { *value };
                *winner = if wins { position } else { *winner };
            }
        }
        for ((value, winner), bias) in values.iter_mut().zip(winners).zip(bias) {
            let sum = *value + bias;
            let is_cut = sum <= 0.0;
            *value = if is_cut { 0.0 } else { sum };
            *winner = if is_cut { NONE } else { *winner };
        }
    }
}

/// Gives the gradient of each window to the position that its output comes from, and adds it to that of the bias.
fn unpool(gradient: &[f32], winners: &[u8], outputs: &mut [f32], bias: &mut [f32]) {
    let width = bias.len();
    let pooled = gradient.chunks_exact(width).zip(winners.chunks_exact(width));
    for (window, (gradient, winners)) in outputs.chunks_exact_mut(WINDOW * width).zip(pooled) {
        for (position, outputs) in (0..).zip(window.chunks_exact_mut(width)) {
            for ((output, gradient), winner) in outputs.iter_mut().zip(gradient).zip(winners) {
                *output = if *winner == position { *gradient } else { 0.0 };
            }
        }
        for ((sum, gradient), winner) in bias.iter_mut().zip(gradient).zip(winners) {
            *sum += if *winner == NONE { 0.0 } else { *gradient };
        }
    }
}
