//! Small data sets and networks for tests.

use homing_train::{Draw, Examples, Inputs, LabelledExamples, Network, device, models};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Noisy 8 × 8 images; each class has a bright bar at a different place.
pub struct Bars {
    pub inputs: Inputs,
    pub labels: Vec<u32>,
    pub rows: Vec<usize>,
}

impl Bars {
    pub fn new(count: usize, classes: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut pixels, mut labels) = (Vec::new(), Vec::new());
        for row in 0..count {
            let class = row % classes;
            labels.push(class as u32);
            pixels.extend((0..64).map(|at| {
                let bright = if at / 8 == class * 8 / classes { 160 } else { 0 };
                bright + rng.random_range(0..90u8)
            }));
        }
        Self { inputs: Inputs::pixels([1, 8, 8], pixels), labels, rows: (0..count).collect() }
    }

    pub fn examples(&self) -> Examples<'_> {
        Examples { inputs: &self.inputs, rows: &self.rows }
    }

    pub fn labelled(&self) -> LabelledExamples<'_> {
        LabelledExamples { examples: self.examples(), labels: &self.labels }
    }
}

pub fn cnn(classes: usize, seed: u64) -> Network<models::Cnn> {
    let device = device("cpu").unwrap();
    let net = models::Cnn::new([1, 8, 8], classes, &mut Draw::new(seed, 0, &device));
    Network::new(net, &device, (127.5, 127.5))
}

/// Returns a classifier of rows of `width` numbers, with the given hidden layers.
pub fn mlp(width: usize, hidden: &[usize], classes: usize, seed: u64) -> Network<models::Mlp> {
    let device = device("cpu").unwrap();
    let net = models::Mlp::new(width, hidden, classes, &mut Draw::new(seed, 0, &device));
    Network::new(net, &device, (0.0, 1.0))
}

pub fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}
