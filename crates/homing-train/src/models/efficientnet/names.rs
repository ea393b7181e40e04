//! Names of the tensors in weights files, one column per naming.

use super::design::Design;
use super::layout::{MAP, STEM, WIDTH, blocks};

/// Namings in the order of the columns below; the first is that of this crate.
pub(super) const NAMINGS: [&str; 5] =
    ["homing", "efficientnet_pytorch", "timm", "torchvision", "NVIDIA's DeepLearningExamples"];

/// Position of NVIDIA's naming in the columns.
const NVIDIA: usize = 4;

/// Number that the norms of NVIDIA's networks add to the variance, whatever the design says.
const NVIDIA_EPS: f32 = 1e-3;

/// Returns the number that norms add to the variance if the weights have a naming.
pub(super) fn norm_eps(naming: usize, design: &Design) -> f32 {
    if naming == NVIDIA { NVIDIA_EPS } else { design.norm_eps }
}

type Names = [&'static str; 5];

const STEM_CONV: Names = ["stem.conv", "_conv_stem", "conv_stem", "features.0.0", "stem.conv"];
const STEM_NORM: Names = ["stem.norm", "_bn0", "bn1", "features.0.1", "stem.bn"];
const LAST_CONV: Names = ["last.conv", "_conv_head", "conv_head", "features.8.0", "features.conv"];
const LAST_NORM: Names = ["last.norm", "_bn1", "bn2", "features.8.1", "features.bn"];
const CLASSIFIER: Names = ["classifier", "_fc", "classifier", "classifier.1", "classifier.fc"];

/// Prefixes of the names in a block: `{b}` counts blocks, `{s}` stages from 0, `{t}` stages from 1, `{r}` blocks of a stage.
const BLOCK: Names =
    ["blocks.{b}.", "_blocks.{b}.", "blocks.{s}.{r}.", "features.{t}.{r}.block.", "layers.{s}.block{r}."];

/// Layers of a block with expansion.
const EXPANDED: BlockNames = BlockNames {
    expand_conv: ["expand.conv", "_expand_conv", "conv_pw", "0.0", "expand.conv"],
    expand_norm: ["expand.norm", "_bn0", "bn1", "0.1", "expand.bn"],
    depthwise_conv: ["depthwise.conv", "_depthwise_conv", "conv_dw", "1.0", "depsep.conv"],
    depthwise_norm: ["depthwise.norm", "_bn1", "bn2", "1.1", "depsep.bn"],
    squeeze: ["squeeze", "_se_reduce", "se.conv_reduce", "2.fc1", "se.squeeze"],
    excite: ["excite", "_se_expand", "se.conv_expand", "2.fc2", "se.expand"],
    project_conv: ["project.conv", "_project_conv", "conv_pwl", "3.0", "proj.conv"],
    project_norm: ["project.norm", "_bn2", "bn3", "3.1", "proj.bn"],
};

/// Layers of a block without expansion.
const PLAIN: BlockNames = BlockNames {
    depthwise_conv: ["depthwise.conv", "_depthwise_conv", "conv_dw", "0.0", "depsep.conv"],
    depthwise_norm: ["depthwise.norm", "_bn1", "bn1", "0.1", "depsep.bn"],
    squeeze: ["squeeze", "_se_reduce", "se.conv_reduce", "1.fc1", "se.squeeze"],
    excite: ["excite", "_se_expand", "se.conv_expand", "1.fc2", "se.expand"],
    project_conv: ["project.conv", "_project_conv", "conv_pw", "2.0", "proj.conv"],
    project_norm: ["project.norm", "_bn2", "bn2", "2.1", "proj.bn"],
    ..EXPANDED
};

struct BlockNames {
    expand_conv: Names,
    expand_norm: Names,
    depthwise_conv: Names,
    depthwise_norm: Names,
    squeeze: Names,
    excite: Names,
    project_conv: Names,
    project_norm: Names,
}

/// A tensor of a weights file.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// Name in each naming.
    pub names: [String; 5],
    /// Expected shape; none where any extent is allowed.
    pub shape: Vec<Option<usize>>,
    /// Whether the tensor may be missing.
    pub optional: bool,
}

/// Returns all tensors of a design.
pub(super) fn slots(design: &Design) -> Vec<Slot> {
    let mut all = Slots::default();
    all.conv(&own(STEM_CONV), [STEM, 3, 3, 3]);
    all.norm(&own(STEM_NORM), STEM);
    for (count, block) in blocks().into_iter().enumerate() {
        let counts = [("{b}", count), ("{s}", block.stage), ("{t}", block.stage + 1), ("{r}", block.repeat)];
        let before = BLOCK.map(|name| {
            counts.iter().fold(name.to_owned(), |name, (mark, count)| name.replace(mark, &count.to_string()))
        });
        let within = |names: Names| std::array::from_fn(|naming| format!("{}{}", before[naming], names[naming]));
        let names = if block.expands() { EXPANDED } else { PLAIN };
        let (inputs, inner, outputs, squeezed) = (block.inputs, block.inner, block.outputs, block.squeezed());
        if block.expands() {
            all.conv(&within(names.expand_conv), [inner, inputs, 1, 1]);
            all.norm(&within(names.expand_norm), inner);
        }
        all.conv(&within(names.depthwise_conv), [inner, 1, block.kernel, block.kernel]);
        all.norm(&within(names.depthwise_norm), inner);
        if design.squeeze_excite {
            all.biased(&within(names.squeeze), [squeezed, inner, 1, 1]);
            all.biased(&within(names.excite), [inner, squeezed, 1, 1]);
        }
        all.conv(&within(names.project_conv), [outputs, inner, 1, 1]);
        all.norm(&within(names.project_norm), outputs);
    }
    all.conv(&own(LAST_CONV), [WIDTH, MAP, 1, 1]);
    all.norm(&own(LAST_NORM), WIDTH);
    for (part, shape) in [("weight", vec![None, Some(WIDTH)]), ("bias", vec![None])] {
        all.0.push(Slot { names: with(&own(CLASSIFIER), part), shape, optional: true });
    }
    all.0
}

#[derive(Default)]
struct Slots(Vec<Slot>);

impl Slots {
    fn push<const D: usize>(&mut self, layer: &[String; 5], part: &str, shape: [usize; D]) {
        self.0.push(Slot { names: with(layer, part), shape: shape.map(Some).to_vec(), optional: false });
    }

    fn conv(&mut self, layer: &[String; 5], shape: [usize; 4]) {
        self.push(layer, "weight", shape);
    }

    fn biased(&mut self, layer: &[String; 5], shape: [usize; 4]) {
        self.push(layer, "weight", shape);
        self.push(layer, "bias", [shape[0]]);
    }

    fn norm(&mut self, layer: &[String; 5], width: usize) {
        for part in ["weight", "bias", "running_mean", "running_var"] {
            self.push(layer, part, [width]);
        }
    }
}

fn own(names: Names) -> [String; 5] {
    names.map(String::from)
}

fn with(layer: &[String; 5], part: &str) -> [String; 5] {
    std::array::from_fn(|naming| format!("{}.{part}", layer[naming]))
}
