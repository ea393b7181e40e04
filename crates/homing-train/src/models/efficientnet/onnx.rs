//! The trunk in ONNX Runtime, which is several times as fast on a CPU.

use std::path::Path;
use std::sync::Mutex;

use homing_onnx::ort;
use ort::editor::{Graph, Model, Node, ONNX_DOMAIN, Opset};
use ort::environment::Environment;
use ort::memory::Allocator;
use ort::operator::Attribute;
use ort::session::Session;
use ort::session::builder::SessionBuilder;
use ort::value::{Outlet, Shape as Extents, SymbolicDimensions, Tensor, TensorElementType, ValueType};

use super::conv::{Shape, folded};
use super::design::{Activation, Design};
use super::layout::{BlockLayout, MAPS, SIDE, STEM, blocks};
use super::weights::Weights;
use crate::{Error, Result};

/// Version of the ONNX operators.
const OPSET: u32 = 17;

/// The trunk as a session of ONNX Runtime.
#[derive(Debug)]
pub(super) struct Onnx(Mutex<Session>);

impl Onnx {
    /// Builds the trunk with the library at `path`. The first library is used for the whole process.
    pub fn new(path: &Path, weights: &Weights, design: &Design) -> Result<Self> {
        let refused = |reason: String| Error::Library { path: path.into(), reason };
        let library = &homing_onnx::environment(path).map_err(refused)?;
        session(library, weights, design)
            .map(|session| Self(Mutex::new(session)))
            .map_err(|error| refused(error.to_string()))
    }

    /// Computes the feature maps of images, `[count, 3, 224, 224]`, with pixels from 0 to 255.
    pub fn maps(&self, pixels: Vec<f32>) -> Vec<f32> {
        let count = pixels.len() / (3 * SIDE * SIDE);
        let input =
            Tensor::from_array(([count, 3, SIDE, SIDE], pixels)).expect("the pixels are those of complete images");
        let mut session = self.0.lock().expect("no thread has panicked with the lock");
        let mut output = session.run(ort::inputs![input]).expect("ONNX Runtime accepted the graph");
        let maps = output.remove("maps").expect("the graph has this output");
        maps.try_extract_tensor::<f32>().expect("the output holds f32").1.to_vec()
    }
}

fn session(library: &Environment, weights: &Weights, design: &Design) -> ort::Result<Session> {
    let mut builder = GraphBuilder { graph: Graph::new()?, weights, design, count: 0 };
    builder.graph.set_inputs([images("images", [3, SIDE, SIDE])])?;
    builder.graph.set_outputs([images("maps", MAPS)])?;
    builder.trunk()?;
    let mut model = Model::new([Opset::new(ONNX_DOMAIN, OPSET)?])?;
    model.set_graph(builder.graph)?;
    let options = SessionBuilder::new(library)?.with_intra_threads(rayon::current_num_threads())?;
    model.into_session(&options)
}

/// Describes a tensor of images whose number is not fixed.
fn images(name: &str, [channels, height, width]: [usize; 3]) -> Outlet {
    let shape = Extents::new([-1, channels as i64, height as i64, width as i64]);
    let dimension_symbols = SymbolicDimensions::new(["count", "", "", ""].map(String::from));
    Outlet::new(name, ValueType::Tensor { ty: TensorElementType::Float32, shape, dimension_symbols })
}

/// The graph while it is built.
struct GraphBuilder<'a> {
    graph: Graph,
    weights: &'a Weights,
    design: &'a Design,
    /// Number of values that have a name.
    count: usize,
}

/// The output of a layer: its name, and its side length in pixels.
#[derive(Clone)]
struct Layer {
    name: String,
    side: usize,
}

impl GraphBuilder<'_> {
    fn trunk(&mut self) -> ort::Result<()> {
        let shift = self.constant(&self.design.shift.clone(), &[1, 3, 1, 1])?;
        let scale = self.constant(&self.design.scale.clone(), &[1, 3, 1, 1])?;
        let centred = self.node("Sub", &["images", &shift], vec![])?;
        let name = self.node("Div", &[&centred, &scale], vec![])?;
        let stem = Shape { channels: [STEM, 3], kernel: 3, stride: 2, groups: 1 };
        let stem = self.conv(&Layer { name, side: SIDE }, "stem", &stem)?;
        let mut layer = self.activated(&stem)?;
        for (count, block) in blocks().into_iter().enumerate() {
            layer = self.block(&layer, count, block)?;
        }
        self.graph.add_node(Node::new("Identity", ONNX_DOMAIN, "maps", [&layer.name], ["maps"], [])?)
    }

    fn block(&mut self, input: &Layer, count: usize, block: BlockLayout) -> ort::Result<Layer> {
        let BlockLayout { inner, inputs, outputs, kernel, stride, .. } = block;
        let name = |layer: &str| format!("blocks.{count}.{layer}");
        let pointwise = |channels: [usize; 2]| Shape { channels, kernel: 1, stride: 1, groups: 1 };
        let mut x = input.clone();
        if block.expands() {
            x = self.conv(&x, &name("expand"), &pointwise([inner, inputs]))?;
            x = self.activated(&x)?;
        }
        let depthwise = Shape { channels: [inner, 1], kernel, stride, groups: inner };
        x = self.conv(&x, &name("depthwise"), &depthwise)?;
        x = self.activated(&x)?;
        if self.design.squeeze_excite {
            let mean = Layer { name: self.node("GlobalAveragePool", &[&x.name], vec![])?, side: 1 };
            let squeezed = self.dense(&mean, &name("squeeze"), [block.squeezed(), inner])?;
            let squeezed = self.activated(&squeezed)?;
            let excited = self.dense(&squeezed, &name("excite"), [inner, block.squeezed()])?;
            let share = self.node("Sigmoid", &[&excited.name], vec![])?;
            x.name = self.node("Mul", &[&x.name, &share], vec![])?;
        }
        x = self.conv(&x, &name("project"), &pointwise([outputs, inner]))?;
        if block.skips() {
            x.name = self.node("Add", &[&x.name, &input.name], vec![])?;
        }
        Ok(x)
    }

    fn conv(&mut self, input: &Layer, name: &str, shape: &Shape) -> ort::Result<Layer> {
        let (weight, bias) = folded(self.weights, name, shape, self.design);
        self.convolved(input, (&weight, &bias), shape)
    }

    /// Adds a layer without a norm, on one pixel.
    fn dense(&mut self, input: &Layer, name: &str, channels: [usize; 2]) -> ort::Result<Layer> {
        let part = |part: &str| self.weights.get(&format!("{name}.{part}")).to_vec();
        let shape = Shape { channels, kernel: 1, stride: 1, groups: 1 };
        self.convolved(input, (&part("weight"), &part("bias")), &shape)
    }

    fn convolved(&mut self, input: &Layer, (weight, bias): (&[f32], &[f32]), shape: &Shape) -> ort::Result<Layer> {
        let &Shape { channels: [outputs, inputs], kernel, stride, groups } = shape;
        let (before, after) = self.design.padding.border(input.side, kernel, stride);
        let weight = self.constant(weight, &[outputs, inputs, kernel, kernel])?;
        let bias = self.constant(bias, &[outputs])?;
        let attributes = vec![
            Attribute::new("kernel_shape", vec![kernel as i64; 2])?,
            Attribute::new("strides", vec![stride as i64; 2])?,
            Attribute::new("pads", [before, before, after, after].map(|zeros| zeros as i64).to_vec())?,
            Attribute::new("group", groups as i64)?,
        ];
        let name = self.node("Conv", &[&input.name, &weight, &bias], attributes)?;
        Ok(Layer { name, side: (input.side + before + after - kernel) / stride + 1 })
    }

    fn activated(&mut self, input: &Layer) -> ort::Result<Layer> {
        let name = match self.design.activation {
            Activation::Silu => {
                let gate = self.node("Sigmoid", &[&input.name], vec![])?;
                self.node("Mul", &[&input.name, &gate], vec![])?
            }
            Activation::Relu6 => {
                let (low, high) = (self.constant(&[0.0], &[])?, self.constant(&[6.0], &[])?);
                self.node("Clip", &[&input.name, &low, &high], vec![])?
            }
        };
        Ok(Layer { name, side: input.side })
    }

    fn node(&mut self, operator: &str, inputs: &[&str], attributes: Vec<Attribute>) -> ort::Result<String> {
        let name = self.name();
        self.graph.add_node(Node::new(operator, ONNX_DOMAIN, &name, inputs, [&name], attributes)?)?;
        Ok(name)
    }

    fn constant(&mut self, values: &[f32], shape: &[usize]) -> ort::Result<String> {
        let name = self.name();
        let mut tensor =
            Tensor::<f32>::new(&Allocator::default(), Extents::new(shape.iter().map(|&extent| extent as i64)))?;
        tensor.extract_tensor_mut().1.copy_from_slice(values);
        self.graph.add_initializer(&name, tensor, false)?;
        Ok(name)
    }

    fn name(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }
}
