//! The interface between the loop of Algorithm 1 and a network.

use crate::{Inputs, Result};

/// Some examples of a set, by row.
#[derive(Clone, Copy, Debug)]
pub struct Examples<'a> {
    /// The set.
    pub inputs: &'a Inputs,
    /// The rows of the set.
    pub rows: &'a [usize],
}

/// Examples with their labels.
#[derive(Clone, Copy, Debug)]
pub struct LabelledExamples<'a> {
    /// The examples.
    pub examples: Examples<'a>,
    /// One class per row, counted from 0.
    pub labels: &'a [u32],
}

/// Output of a network for examples: the last hidden layer h(x) and the outputs f(x) = W h(x) + b.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The last hidden layer row by row, `width` numbers each.
    pub hidden: Vec<f32>,
    /// Width of the last hidden layer.
    pub width: usize,
    /// The outputs before the softmax, row by row, `classes` numbers each.
    pub outputs: Vec<f32>,
    /// Number of outputs.
    pub classes: usize,
    /// Whether the last layer has a bias.
    pub biased: bool,
}

impl Prediction {
    /// Returns the softmax of the outputs, row by row.
    pub fn probabilities(&self) -> Vec<f32> {
        let mut out = Vec::with_capacity(self.outputs.len());
        for row in self.outputs.chunks_exact(self.classes) {
            let top = row.iter().copied().fold(f32::MIN, f32::max);
            let total: f64 = row.iter().map(|f| f64::from(f - top).exp()).sum();
            out.extend(row.iter().map(|f| (f64::from(f - top).exp() / total) as f32));
        }
        out
    }

    /// Returns the most probable class of each row; among equals, the first.
    pub fn guesses(&self) -> Vec<u32> {
        let best = |row: &[f32]| (1..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best });
        self.outputs.chunks_exact(self.classes).map(|row| best(row) as u32).collect()
    }
}

/// When a lesson ends.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LessonEnd {
    /// After this many epochs.
    Epochs(usize),
    /// When the accuracy on the validation examples has not risen for `patience` epochs, or after `max_epochs`. The network
    /// of the best epoch is kept; among equals, the first, or the last with [`LearningSettings::keep_last_best`]. The paper
    /// stops when the accuracy first falls; its authors' code keeps the last best of 100 epochs.
    ///
    /// [`LearningSettings::keep_last_best`]: crate::LearningSettings::keep_last_best
    ValidationDrops {
        /// Number of epochs without a rise after which the lesson ends.
        patience: usize,
        /// Maximum number of epochs.
        max_epochs: usize,
    },
}

/// Training examples and settings of one lesson: Adam on the cross-entropy.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// Examples to learn from.
    pub train: LabelledExamples<'a>,
    /// Validation examples, which decide the best epoch.
    pub valid: Option<LabelledExamples<'a>>,
    /// When the lesson ends.
    pub until: LessonEnd,
    /// Whether the last of several equally good epochs is kept, instead of the first.
    pub keep_last_best: bool,
    /// How Adam steps.
    pub adam: AdamSettings,
    /// Maximum number of examples per step.
    pub minibatch_size: usize,
    /// Whether every step but the last of an epoch has that number of examples, instead of all having nearly the same.
    pub full_minibatches: bool,
    /// Whether all classes have the same weight, regardless of their numbers of examples.
    pub reweight: bool,
    /// Seed for the order of the examples and for dropout.
    pub seed: u64,
}

impl<'a> Lesson<'a> {
    /// Returns a lesson without validation examples, in steps of up to 64 examples that all weigh the same, with seed 0.
    pub fn new(train: LabelledExamples<'a>, until: LessonEnd, learning_rate: f64) -> Self {
        Self {
            train,
            valid: None,
            until,
            keep_last_best: false,
            adam: AdamSettings::new(learning_rate),
            minibatch_size: 64,
            full_minibatches: false,
            reweight: false,
            seed: 0,
        }
    }
}

/// How Adam steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamSettings {
    /// Learning rate.
    pub learning_rate: f64,
    /// Number ε that is added to the root of the second moment, which keeps steps finite.
    pub epsilon: f64,
    /// Whether the moments of the previous lesson are continued, instead of starting from zero.
    pub keeps_moments: bool,
}

impl AdamSettings {
    /// Default of [`Self::epsilon`], as in burn; PyTorch has 10⁻⁸.
    pub const EPSILON: f64 = 1e-5;

    /// Returns settings with the default ε, for a lesson that starts from zero moments.
    ///
    /// ```
    /// assert_eq!(homing_train::AdamSettings::new(0.001).epsilon, 1e-5);
    /// ```
    pub fn new(learning_rate: f64) -> Self {
        Self { learning_rate, epsilon: Self::EPSILON, keeps_moments: false }
    }
}

/// One pass over the examples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Epoch {
    /// Mean loss per step.
    #[serde(deserialize_with = "null_as_nan")]
    pub loss: f64,
    /// Accuracy on the validation examples, if there are any.
    pub valid: Option<f64>,
}

/// Reads null as NaN, because JSON stores a NaN, such as the loss of a diverged lesson, as null.
pub(crate) fn null_as_nan<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(<Option<f64> as serde::Deserialize>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// Course of a lesson.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LessonCurve {
    /// The epochs in order.
    pub epochs: Vec<Epoch>,
    /// Number of epochs that the kept network has seen.
    pub kept: usize,
}

/// A network that predicts, learns, and can be saved and restored: the extension point of this crate.
///
/// [`crate::fine_tune`] relies on this contract:
/// - The outputs are a linear function of the last hidden layer: f(x) = W h(x) + b. [`Self::last_layer`] returns W,
///   followed by b if [`Self::is_biased`]. [`Self::predict`] returns h and f row by row, in the order of the examples.
/// - The same weights, examples, lesson and seed give the same numbers, bit for bit. A resumed run therefore ends with the
///   same bytes as an uninterrupted one.
/// - [`Self::load`] restores exactly the network that [`Self::save`] saved. Weights of another network are refused and
///   change nothing.
/// - [`Self::restart`] discards all lessons: afterwards the network depends only on the seed, or on the weights that
///   [`Self::start_from`] received.
/// - [`Self::fit`] starts from the current weights. Labels are below [`Self::classes`].
/// - If lessons may continue the moments of the optimiser ([`AdamSettings::keeps_moments`]), [`Self::save_moments`] and
///   [`Self::load_moments`] carry them over an interruption. [`Self::restart`] does not change them.
///
/// A complete example is a linear classifier whose last hidden layer is the example itself, trained by gradient descent.
///
/// ```
/// use homing_train::{Epoch, Examples, Learner, Lesson, LessonCurve, LessonEnd, Prediction, Result, accuracy};
///
/// struct Softmax { width: usize, classes: usize, weights: Vec<f32>, start: Option<Vec<f32>> }
///
/// impl Learner for Softmax {
///     fn classes(&self) -> usize { self.classes }
///     fn is_biased(&self) -> bool { false }
///     fn weights(&self) -> usize { self.weights.len() }
///     fn last_layer(&self) -> Vec<f32> { self.weights.clone() }
///
///     fn predict(&self, examples: Examples<'_>) -> Result<Prediction> {
///         let hidden = examples.inputs.read(examples.rows)?;
///         let output = |x: &[f32], class: usize| (0..x.len()).map(|i| x[i] * self.weights[i * self.classes + class]).sum();
///         let outputs = hidden.chunks(self.width).flat_map(|x| (0..self.classes).map(move |class| output(x, class)));
///         let outputs: Vec<f32> = outputs.collect();
///         Ok(Prediction { hidden, width: self.width, outputs, classes: self.classes, biased: false })
///     }
///
///     fn fit(&mut self, lesson: &Lesson<'_>) -> Result<LessonCurve> {
///         let (LessonEnd::Epochs(count) | LessonEnd::ValidationDrops { max_epochs: count, .. }) = lesson.until;
///         let mut epochs = Vec::new();
///         for _ in 0..count {
///             let prediction = self.predict(lesson.train.examples)?;
///             let (p, mut loss) = (prediction.probabilities(), 0.0);
///             for (row, &label) in lesson.train.labels.iter().enumerate() {
///                 loss -= f64::from(p[row * self.classes + label as usize]).ln();
///                 for class in 0..self.classes {
///                     let error = p[row * self.classes + class] - f32::from(class == label as usize);
///                     for i in 0..self.width {
///                         let x = prediction.hidden[row * self.width + i];
///                         self.weights[i * self.classes + class] -= lesson.adam.learning_rate as f32 * error * x;
///                     }
///                 }
///             }
///             let valid = lesson.valid.map(|valid| accuracy(self, valid)).transpose()?;
///             epochs.push(Epoch { loss: loss / lesson.train.labels.len() as f64, valid });
///         }
///         Ok(LessonCurve { epochs, kept: count })
///     }
///
///     fn restart(&mut self, _: u64) {
///         self.weights = self.start.clone().unwrap_or_else(|| vec![0.0; self.width * self.classes]);
///     }
///
///     fn start_from(&mut self, weights: Vec<u8>) -> Result<()> {
///         self.load(weights)?;
///         self.start = Some(self.weights.clone());
///         Ok(())
///     }
///
///     fn save(&self) -> Result<Vec<u8>> {
///         Ok(self.weights.iter().flat_map(|weight| weight.to_le_bytes()).collect())
///     }
///
///     fn load(&mut self, weights: Vec<u8>) -> Result<()> {
///         if weights.len() != 4 * self.weights.len() {
///             return Err(homing_train::Error::Shape { expected: self.weights.len(), got: weights.len() / 4 });
///         }
///         self.weights = weights.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
///         Ok(())
///     }
///
///     fn gradients(&self, examples: Examples<'_>, at: usize) -> Result<Vec<f32>> {
///         let x = examples.inputs.read(&examples.rows[at..=at])?;
///         let gradient = |class| x.iter().flat_map(move |x| (0..self.classes).map(move |c| x * f32::from(c == class)));
///         Ok((0..self.classes).flat_map(gradient).collect())
///     }
/// }
///
/// use homing_train::{Inputs, LabelledExamples};
/// let inputs = Inputs::rows(2, vec![1.0, 0.0, 0.9, 0.2, 0.0, 1.0, 0.1, 0.8]);
/// let train = LabelledExamples { examples: Examples { inputs: &inputs, rows: &[0, 1, 2, 3] }, labels: &[0, 0, 1, 1] };
/// let mut learner = Softmax { width: 2, classes: 2, weights: vec![0.0; 4], start: None };
/// let until = LessonEnd::Epochs(50);
/// let curve = learner.fit(&Lesson::new(train, until, 0.5))?;
/// assert!(curve.epochs[49].loss < 0.2 && accuracy(&learner, train)? == 1.0);
/// # Ok::<(), homing_train::Error>(())
/// ```
pub trait Learner {
    /// Returns the number of classes.
    fn classes(&self) -> usize;

    /// Returns whether the last layer has a bias.
    fn is_biased(&self) -> bool;

    /// Returns the number of trainable weights.
    fn weights(&self) -> usize;

    /// Keeps a set of examples on the device if that makes repeated calls faster.
    fn hold(&mut self, _: &Inputs) -> Result<()> {
        Ok(())
    }

    /// Returns the weights of the last layer: one row per input, then the bias; one column per class.
    fn last_layer(&self) -> Vec<f32>;

    /// Computes the last hidden layer and the outputs.
    fn predict(&self, examples: Examples<'_>) -> Result<Prediction>;

    /// Learns from examples, starting from the current weights.
    fn fit(&mut self, lesson: &Lesson<'_>) -> Result<LessonCurve>;

    /// Resets the weights to those of [`Self::start_from`], or else to initial weights drawn with the seed.
    fn restart(&mut self, seed: u64);

    /// Loads saved weights, and makes [`Self::restart`] return to them.
    fn start_from(&mut self, weights: Vec<u8>) -> Result<()>;

    /// Returns the weights as a safetensors file.
    fn save(&self) -> Result<Vec<u8>>;

    /// Loads saved weights.
    fn load(&mut self, weights: Vec<u8>) -> Result<()>;

    /// Returns the moments of the optimiser after the last lesson, if there are any.
    fn save_moments(&self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Loads the moments that [`Self::save_moments`] returned, for lessons with the same settings.
    fn load_moments(&mut self, _: Vec<u8>, _: &AdamSettings) -> Result<()> {
        Ok(())
    }

    /// Computes the gradient of every output with respect to every trainable weight, for one example: `classes` rows.
    fn gradients(&self, examples: Examples<'_>, at: usize) -> Result<Vec<f32>>;
}

/// Returns the weight of each class: 1, or with `reweight` the average number of examples per class divided by the number of
/// examples of this class.
pub(crate) fn class_weights(labels: &[u32], classes: usize, reweight: bool) -> Vec<f32> {
    let mut counts = vec![0usize; classes];
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    let present = counts.iter().filter(|&&count| count > 0).count();
    let average = labels.len() as f32 / present.max(1) as f32;
    counts.iter().map(|&count| if reweight { average / count.max(1) as f32 } else { 1.0 }).collect()
}

/// Returns the share of examples whose most probable class is their label.
pub fn accuracy(learner: &dyn Learner, test: LabelledExamples<'_>) -> Result<f64> {
    let guesses = learner.predict(test.examples)?.guesses();
    let correct = guesses.iter().zip(test.labels).filter(|(guess, label)| guess == label).count();
    Ok(correct as f64 / test.labels.len().max(1) as f64)
}
