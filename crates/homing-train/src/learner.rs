//! What the loop of Algorithm 1 asks of a network.

use crate::{Inputs, Result};

/// Some examples of a set, by number.
#[derive(Clone, Copy, Debug)]
pub struct Examples<'a> {
    /// The set.
    pub inputs: &'a Inputs,
    /// Which of it.
    pub rows: &'a [usize],
}

/// Examples with their labels.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// The examples.
    pub examples: Examples<'a>,
    /// One a row, counted from 0.
    pub labels: &'a [u32],
}

/// What a network says of examples: the last hidden layer h(x) and the outputs f(x) = W h(x) + b.
#[derive(Clone, Debug)]
pub struct Look {
    /// Row by row, `width` numbers each.
    pub hidden: Vec<f32>,
    /// Width of the last hidden layer.
    pub width: usize,
    /// Row by row, `classes` numbers each, before the softmax.
    pub outputs: Vec<f32>,
    /// How many outputs there are.
    pub classes: usize,
    /// Whether the last layer has a bias.
    pub biased: bool,
}

impl Look {
    /// The softmax of the outputs, row by row.
    pub fn probabilities(&self) -> Vec<f32> {
        let mut out = Vec::with_capacity(self.outputs.len());
        for row in self.outputs.chunks_exact(self.classes) {
            let top = row.iter().copied().fold(f32::MIN, f32::max);
            let total: f64 = row.iter().map(|f| f64::from(f - top).exp()).sum();
            out.extend(row.iter().map(|f| (f64::from(f - top).exp() / total) as f32));
        }
        out
    }

    /// The most probable class of each row, the first of equals.
    pub fn guesses(&self) -> Vec<u32> {
        let best = |row: &[f32]| (1..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best });
        self.outputs.chunks_exact(self.classes).map(|row| best(row) as u32).collect()
    }
}

/// How long to learn.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// This many epochs.
    Epochs(usize),
    /// The accuracy on the validation examples has not risen for `patience` epochs, or `most` are done; the best epoch is
    /// kept, the first of equals. The paper stops where the accuracy first falls, its authors' code keeps the best of 100.
    ValidationDrops {
        /// Epochs without a rise that end the lesson.
        patience: usize,
        /// Epochs at most.
        most: usize,
    },
}

/// What to learn and how: Adam on the cross-entropy.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// What to learn from.
    pub train: Labelled<'a>,
    /// What the best epoch is chosen on.
    pub valid: Option<Labelled<'a>>,
    /// How long.
    pub until: Until,
    /// Adam's learning rate.
    pub rate: f64,
    /// Most examples a step; the steps of an epoch are of even size.
    pub batch: usize,
    /// Whether every class weighs as much as any other, however many examples it has.
    pub reweight: bool,
    /// Of the order and of dropout.
    pub seed: u64,
}

/// One pass over the examples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Epoch {
    /// Mean loss a step.
    #[serde(deserialize_with = "null_as_nan")]
    pub loss: f64,
    /// Accuracy on the validation examples, where there are any.
    pub valid: Option<f64>,
}

/// A number that may not be one, such as the loss of a lesson that went astray: JSON has null for it.
pub(crate) fn null_as_nan<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(<Option<f64> as serde::Deserialize>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// How a lesson went.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Curve {
    /// The epochs in order.
    pub epochs: Vec<Epoch>,
    /// How many of them the network that was kept has seen.
    pub kept: usize,
}

/// A network that can be asked, taught, saved and restored.
pub trait Learner {
    /// How many classes it tells apart.
    fn classes(&self) -> usize;

    /// Whether the last layer has a bias.
    fn is_biased(&self) -> bool;

    /// How many weights learn.
    fn weights(&self) -> usize;

    /// Keeps a set at hand that it will be asked about again and again, where that is faster.
    fn hold(&mut self, _: &Inputs) -> Result<()> {
        Ok(())
    }

    /// The last layer's weights: a row for each of its inputs, the bias last; a column a class.
    fn last_layer(&self) -> Vec<f32>;

    /// The last hidden layer and the outputs.
    fn look(&self, examples: Examples<'_>) -> Result<Look>;

    /// Learns, from the weights it has.
    fn fit(&mut self, lesson: &Lesson<'_>) -> Result<Curve>;

    /// Forgets what it learned: the weights it was told to start from, or else those of the seed.
    fn restart(&mut self, seed: u64);

    /// Takes weights that `save` gave, and starts from them whenever it starts again.
    fn start_from(&mut self, weights: Vec<u8>) -> Result<()>;

    /// The weights, as a safetensors file.
    fn save(&self) -> Result<Vec<u8>>;

    /// Takes weights that `save` gave.
    fn load(&mut self, weights: Vec<u8>) -> Result<()>;

    /// The gradient of every output with respect to every weight that learns, for one example: `classes` rows.
    fn gradients(&self, examples: Examples<'_>, at: usize) -> Result<Vec<f32>>;
}

/// A weight for each class: 1, or as many examples as a class has on average over as many as it has.
pub(crate) fn class_weights(labels: &[u32], classes: usize, reweight: bool) -> Vec<f32> {
    let mut counts = vec![0usize; classes];
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    let present = counts.iter().filter(|&&count| count > 0).count();
    let average = labels.len() as f32 / present.max(1) as f32;
    counts.iter().map(|&count| if reweight { average / count.max(1) as f32 } else { 1.0 }).collect()
}

/// The share of examples whose most probable class is their label.
pub fn accuracy(learner: &dyn Learner, test: Labelled<'_>) -> Result<f64> {
    let guesses = learner.look(test.examples)?.guesses();
    let right = guesses.iter().zip(test.labels).filter(|(guess, label)| guess == label).count();
    Ok(right as f64 / test.labels.len().max(1) as f64)
}
