//! The fused layer as an operation of burn, with its gradient.

use std::sync::Arc;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Flex, TensorMetadata, backend_extension};
use burn::tensor::TensorData;

use super::kernel::{self, Pooled};
use super::patches::Sizes;

/// Backends with the fused layer.
#[backend_extension(Flex, Autodiff)]
pub(super) trait HalvingConv: Backend {
    /// Computes max-pool(ReLU(W ∗ x + b)) of images, `[count, height, width, channels]`, with weights
    /// `[outputs, channels, kernel, kernel]`.
    fn halving_conv(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        padding: usize,
    ) -> FloatTensor<Self>;
}

impl HalvingConv for Flex {
    fn halving_conv(x: FlexTensor, weight: FlexTensor, bias: FlexTensor, padding: usize) -> FlexTensor {
        Inputs::new(&x, &weight, padding).forward(&bias).0
    }
}

impl<C: CheckpointStrategy> HalvingConv for Autodiff<Flex, C> {
    fn halving_conv(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        padding: usize,
    ) -> FloatTensor<Self> {
        let [(x, x_node), (weight, weight_node), (bias, bias_node)] =
            [x, weight, bias].map(FloatTensor::<Self>::into_parts);
        let inputs = Inputs::new(&x, &weight, padding);
        let (output, winners) = inputs.forward(&bias);
        match Gradient.prepare::<C>([x_node, weight_node, bias_node]).compute_bound().stateful() {
            OpsKind::Tracked(preparation) => preparation.finish((inputs, winners), output),
            OpsKind::UnTracked(preparation) => preparation.finish(output),
        }
    }
}

/// Images and weights of a layer, contiguous in memory.
#[derive(Clone, Debug)]
struct Inputs {
    x: FlexTensor,
    weight: FlexTensor,
    sizes: Sizes,
}

impl Inputs {
    fn new(x: &FlexTensor, weight: &FlexTensor, padding: usize) -> Self {
        let (images, weights) = (x.shape(), weight.shape());
        let sizes = Sizes {
            height: images[1],
            width: images[2],
            channels: images[3],
            outputs: weights[0],
            kernel: weights[2],
            padding,
        };
        assert_eq!((weights[1], weights[3]), (sizes.channels, sizes.kernel), "the shape of the weights");
        Self { x: x.to_contiguous(), weight: weight.to_contiguous(), sizes }
    }

    /// Returns the output and where in its window each number comes from.
    fn forward(&self, bias: &FlexTensor) -> (FlexTensor, Arc<[u8]>) {
        let bias = bias.to_contiguous();
        let Pooled { values, winners } =
            kernel::forward(&self.sizes, numbers(&self.x), numbers(&self.weight), numbers(&bias));
        let [height, width] = self.sizes.pooled();
        (tensor(values, [self.x.shape()[0], height, width, self.sizes.outputs]), winners.into())
    }
}

fn numbers(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("networks compute in f32, and the tensor is contiguous")
}

fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// The backward pass of the fused layer.
#[derive(Debug)]
struct Gradient;

impl Backward<Flex, 3> for Gradient {
    type State = (Inputs, Arc<[u8]>);

    fn backward(self, ops: Ops<Self::State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let (Inputs { x, weight, sizes }, winners) = ops.state;
        let gradient = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let wants_input = ops.parents[0].is_some();
        let of = kernel::backward(&sizes, numbers(&x), numbers(&weight), numbers(&gradient), &winners, wants_input);
        let [of_x, of_weight, of_bias] = ops.parents;
        if let (Some(node), Some(values)) = (of_x, of.input) {
            let shape = [x.shape()[0], sizes.height, sizes.width, sizes.channels];
            gradients.register::<Flex>(node.id, tensor(values, shape));
        }
        if let Some(node) = of_weight {
            let shape = [sizes.outputs, sizes.channels, sizes.kernel, sizes.kernel];
            gradients.register::<Flex>(node.id, tensor(of.weight, shape));
        }
        if let Some(node) = of_bias {
            gradients.register::<Flex>(node.id, tensor(of.bias, [sizes.outputs]));
        }
    }
}
