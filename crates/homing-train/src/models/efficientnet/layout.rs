//! The blocks of EfficientNet-B0, which Lite0 shares.

/// Side length of an image in pixels.
pub const SIDE: usize = 224;
/// Channels after the first convolution.
pub(super) const STEM: usize = 32;
/// Channels of a feature map.
pub(super) const MAP: usize = 320;
/// Shape of a feature map: channels, height, width.
pub const MAPS: [usize; 3] = [MAP, SIDE / 32, SIDE / 32];
/// Width of the last hidden layer.
pub(super) const WIDTH: usize = 1280;

/// Ratio of a block's input channels to the channels that squeeze-excite reduces to.
const SQUEEZE: usize = 4;

/// Stages: expansion, channels, number of blocks, stride of the first block, kernel.
const STAGES: [(usize, usize, usize, usize, usize); 7] = [
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, MAP, 1, 1, 3),
];

/// An inverted residual block: expand (1 × 1), convolve each channel, squeeze and excite, project (1 × 1).
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockLayout {
    pub stage: usize,
    /// Position within the stage.
    pub repeat: usize,
    pub inputs: usize,
    /// Channels between expansion and projection.
    pub inner: usize,
    pub outputs: usize,
    pub kernel: usize,
    pub stride: usize,
}

impl BlockLayout {
    pub fn expands(&self) -> bool {
        self.inner != self.inputs
    }

    pub fn squeezed(&self) -> usize {
        self.inputs / SQUEEZE
    }

    /// Returns whether the input is added to the output.
    pub fn skips(&self) -> bool {
        self.stride == 1 && self.inputs == self.outputs
    }
}

/// Returns all blocks in order.
pub(super) fn blocks() -> Vec<BlockLayout> {
    let mut blocks = Vec::new();
    let mut inputs = STEM;
    for (stage, (expansion, outputs, repeats, first, kernel)) in STAGES.into_iter().enumerate() {
        for repeat in 0..repeats {
            let stride = if repeat == 0 { first } else { 1 };
            blocks.push(BlockLayout { stage, repeat, inputs, inner: inputs * expansion, outputs, kernel, stride });
            inputs = outputs;
        }
    }
    blocks
}
