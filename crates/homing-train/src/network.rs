//! A learner that wraps a burn module.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::nn::Linear;
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::store::{ModuleSnapshot, SafetensorsStore};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Bytes, Device, Int, Tensor, TensorData};
use safetensors::Dtype;

use crate::device::has_own_memory;
use crate::draw::{Draw, Dropout};
use crate::learner::{
    AdamSettings, Epoch, Examples, LabelledExamples, Learner, Lesson, LessonCurve, LessonEnd, Prediction, accuracy,
    class_weights,
};
use crate::weights::{parse, single};
use crate::{Error, Inputs, Remedy, Result};

/// Examples per forward pass: on the CPU, and on a device with its own memory.
pub(crate) const CHUNK: [usize; 2] = [64, 1024];

/// Limit on the numbers that are kept on a device: 4 GiB.
const MOST_HELD: usize = 1 << 30;

/// Streams of random numbers of one seed.
const WEIGHTS: u64 = 0;
const LESSON: u64 = 1;

/// A network in two parts: the layers up to the last hidden layer, and the linear layer after it.
pub trait Net: Module {
    /// Returns how many numbers one example has.
    fn size(&self) -> usize;

    /// Returns h(x), one row per example.
    fn hidden(&self, x: Tensor<2>, dropout: &mut Dropout<'_>) -> Tensor<2>;

    /// Returns the last layer.
    fn head(&self) -> &Linear;

    /// Returns the same network with initial weights.
    fn fresh(&self, draw: &mut Draw) -> Self;
}

/// A [`Net`] and the device that it runs on.
pub struct Network<N: Net> {
    net: N,
    /// The network to restart from, if weights were given.
    start: Option<N>,
    device: Device,
    /// Subtracted from every input, and the divisor of the difference.
    scale: (f32, f32),
    /// Scaled inputs that are kept on the device.
    held: Vec<(Inputs, Tensor<2>)>,
    /// The optimiser after the last lesson, if its moments are kept.
    optimizer: Option<ModuleOptimizer>,
}

impl<N: Net> Network<N> {
    /// Wraps a network that sees every input x as (x − `scale.0`) / `scale.1`.
    pub fn new(net: N, device: &Device, scale: (f32, f32)) -> Self {
        let (start, held, optimizer) = (None, Vec::new(), None);
        Self { net: numbered(net.to_device(device)), start, device: device.clone(), scale, held, optimizer }
    }

    /// Returns the number of examples per forward pass.
    fn chunk(&self) -> usize {
        CHUNK[usize::from(has_own_memory(&self.device))]
    }

    fn copy_to_device(&mut self, inputs: &Inputs) -> Result<()> {
        let all: Vec<usize> = (0..inputs.len()).collect();
        let mut held = Tensor::empty([all.len(), inputs.size()], &self.device);
        for at in all.chunks(self.chunk()) {
            let part = self.tensor(Examples { inputs, rows: &all }, at)?;
            held = held.slice_assign([at[0]..at[0] + at.len(), 0..inputs.size()], part);
        }
        self.held.push((inputs.clone(), held));
        Ok(())
    }

    fn tensor(&self, examples: Examples<'_>, at: &[usize]) -> Result<Tensor<2>> {
        let size = self.net.size();
        if examples.inputs.size() != size {
            return Err(Error::Shape { expected: size, got: examples.inputs.size() });
        }
        let rows: Vec<usize> = at.iter().map(|&i| examples.rows[i]).collect();
        if let Some((_, held)) = self.held.iter().find(|(inputs, _)| inputs.is_same(examples.inputs)) {
            let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
            return Ok(held.clone().select(0, Tensor::from_data(TensorData::new(rows, [at.len()]), &self.device)));
        }
        let mut values = examples.inputs.read(&rows)?;
        let (shift, scale) = self.scale;
        values.iter_mut().for_each(|value| *value = (*value - shift) / scale);
        Ok(Tensor::from_data(TensorData::new(values, [rows.len(), size]), &self.device))
    }

    /// Takes one step on the examples at `at`. Returns the network after it and the loss before it; the loss stays on the
    /// device, so that the step need not finish first.
    fn step(
        &self,
        net: N,
        lesson: &Lesson<'_>,
        at: &[usize],
        class_weights: &[f32],
        adam: &mut Adam,
    ) -> Result<(N, Tensor<1>)> {
        let x = self.tensor(lesson.train.examples, at)?;
        let labels: Vec<i64> = at.iter().map(|&i| i64::from(lesson.train.labels[i])).collect();
        let weights: Vec<f32> = labels.iter().map(|&label| class_weights[label as usize]).collect();
        let total: f32 = weights.iter().sum();
        let outputs = net.head().forward(net.hidden(x, &mut Dropout::On(&mut adam.draw)));
        let labels = Tensor::<2, Int>::from_data(TensorData::new(labels, [at.len(), 1]), &adam.device);
        let weights = Tensor::<2>::from_data(TensorData::new(weights, [at.len(), 1]), &adam.device);
        let loss = (log_softmax(outputs, 1).gather(1, labels) * weights).sum() / -total;
        let gradients = GradientsParams::from_grads(loss.backward(), &net);
        Ok((adam.optimizer.step(lesson.adam.learning_rate, net, gradients), loss.inner()))
    }
}

/// State that a lesson carries from step to step.
struct Adam {
    optimizer: ModuleOptimizer,
    draw: Draw,
    device: Device,
}

impl<N: Net> Learner for Network<N> {
    fn classes(&self) -> usize {
        self.net.head().weight.dims()[1]
    }

    fn is_biased(&self) -> bool {
        self.net.head().bias.is_some()
    }

    fn weights(&self) -> usize {
        let mut count = Count(0);
        self.net.clone().train().visit(&mut count);
        count.0
    }

    fn hold(&mut self, inputs: &Inputs) -> Result<()> {
        let numbers = |inputs: &Inputs| inputs.len() * inputs.size();
        let held = self.held.iter().any(|(held, _)| held.is_same(inputs));
        let total: usize = self.held.iter().map(|(held, _)| numbers(held)).sum();
        if held || !has_own_memory(&self.device) || inputs.are_files() || total + numbers(inputs) > MOST_HELD {
            return Ok(());
        }
        self.copy_to_device(inputs)
    }

    fn last_layer(&self) -> Vec<f32> {
        let head = self.net.head();
        let mut weights = numbers(head.weight.val());
        weights.extend(head.bias.iter().flat_map(|bias| numbers(bias.val())));
        weights
    }

    fn predict(&self, examples: Examples<'_>) -> Result<Prediction> {
        let [width, classes] = self.net.head().weight.dims();
        let mut prediction =
            Prediction { hidden: Vec::new(), width, outputs: Vec::new(), classes, biased: self.is_biased() };
        let all: Vec<usize> = (0..examples.rows.len()).collect();
        for at in all.chunks(self.chunk()) {
            let hidden = self.net.hidden(self.tensor(examples, at)?, &mut Dropout::Off);
            let outputs = self.net.head().forward(hidden.clone());
            prediction.hidden.extend(numbers(hidden));
            prediction.outputs.extend(numbers(outputs));
        }
        Ok(prediction)
    }

    fn fit(&mut self, lesson: &Lesson<'_>) -> Result<LessonCurve> {
        let LabelledExamples { examples, labels } = lesson.train;
        let classes = self.classes();
        if let Some(at) = labels.iter().position(|&label| label as usize >= classes) {
            return Err(Error::Label { row: examples.rows[at], label: labels[at], classes });
        }
        let weights = class_weights(labels, classes, lesson.reweight);
        let device = self.device.clone().autodiff();
        let optimizer = self.optimizer.take().filter(|_| lesson.adam.keeps_moments);
        let optimizer = optimizer.unwrap_or_else(|| optimizer_of(lesson.adam.epsilon));
        let mut adam = Adam { optimizer, draw: Draw::new(lesson.seed, LESSON, &device), device };
        let mut order: Vec<usize> = (0..labels.len()).collect();
        let size = if lesson.full_minibatches {
            lesson.minibatch_size.max(1)
        } else {
            minibatch_size(labels.len(), lesson.minibatch_size)
        };
        let mut net = self.net.clone().train();
        let mut best = Best::of(lesson);
        let mut epochs = Vec::new();
        while !labels.is_empty() && best.continues(epochs.len()) {
            adam.draw.shuffle(&mut order);
            let mut losses = Vec::new();
            for at in order.chunks(size) {
                let (after, loss) = self.step(net, lesson, at, &weights, &mut adam)?;
                net = after;
                losses.push(loss);
            }
            self.net = net.valid();
            let valid = lesson.valid.map(|valid| accuracy(self, valid)).transpose()?;
            let steps = losses.len() as f64;
            let loss = numbers(Tensor::cat(losses, 0)).into_iter().map(f64::from).sum::<f64>() / steps;
            epochs.push(Epoch { loss, valid });
            best.offer(valid, epochs.len(), &self.net);
        }
        let kept = best.keep(&mut self.net).unwrap_or(epochs.len());
        self.optimizer = lesson.adam.keeps_moments.then_some(adam.optimizer);
        Ok(LessonCurve { epochs, kept })
    }

    fn restart(&mut self, seed: u64) {
        self.net = match &self.start {
            Some(start) => start.clone(),
            None => numbered(self.net.fresh(&mut Draw::new(seed, WEIGHTS, &self.device))),
        };
    }

    fn start_from(&mut self, weights: Vec<u8>) -> Result<()> {
        self.load(weights)?;
        self.start = Some(self.net.clone());
        Ok(())
    }

    fn save(&self) -> Result<Vec<u8>> {
        // The order of the metadata changes from run to run.
        let mut store = SafetensorsStore::from_bytes(None).clear_metadata();
        self.net.save_into(&mut store).map_err(unfit)?;
        store.get_bytes().map_err(unfit)
    }

    fn load(&mut self, weights: Vec<u8>) -> Result<()> {
        let weights = single(weights)?;
        let misfit = match integers(&weights) {
            Some(found) => Error::weights(format!("{found}, not floats"), Remedy::SaveAsFloats),
            None => Error::weights(format!("they hold {}", tensors(&weights)), Remedy::MatchWeights),
        };
        self.net.load_from(&mut SafetensorsStore::from_bytes(Some(weights))).map(drop).map_err(|_| misfit)?;
        self.net = numbered(self.net.clone());
        Ok(())
    }

    fn save_moments(&self) -> Result<Option<Vec<u8>>> {
        let Some(optimizer) = &self.optimizer else { return Ok(None) };
        let moments = optimizer.into_bytes().map_err(unfit)?;
        Ok(Some([blake3::hash(&moments).as_bytes(), &moments[..]].concat()))
    }

    fn load_moments(&mut self, saved: Vec<u8>, adam: &AdamSettings) -> Result<()> {
        // Burn trusts what it reads, so damaged bytes are refused first.
        let whole = saved.split_first_chunk::<32>().filter(|(hash, moments)| blake3::hash(moments) == **hash);
        let Some((_, moments)) = whole else { return Err(unfit("the moments of the optimiser are damaged")) };
        let optimizer = optimizer_of(adam.epsilon).from_bytes(Bytes::from_bytes_vec(moments.to_vec()));
        self.optimizer = Some(optimizer.map_err(unfit)?);
        Ok(())
    }

    fn gradients(&self, examples: Examples<'_>, at: usize) -> Result<Vec<f32>> {
        let net = self.net.clone().train();
        let x = self.tensor(examples, &[at])?;
        let mut all = Vec::new();
        for class in 0..self.classes() {
            // A backward pass consumes its forward pass.
            let outputs = net.head().forward(net.hidden(x.clone(), &mut Dropout::Off));
            let gradients = GradientsParams::from_grads(outputs.narrow(1, class, 1).sum().backward(), &net);
            net.visit(&mut Flatten { gradients: &gradients, all: &mut all });
        }
        Ok(all)
    }
}

/// Returns Adam with zero moments.
fn optimizer_of(epsilon: f64) -> ModuleOptimizer {
    AdamConfig::new().with_epsilon(epsilon as f32).init()
}

/// Gives the parameters the numbers 1, 2, … as ids. The moments of an optimiser are stored by id, so they then belong to the
/// same parameters after new weights were drawn or loaded.
fn numbered<N: Net>(net: N) -> N {
    net.map(&mut Numbering(0))
}

struct Numbering(u64);

impl ModuleMapper for Numbering {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (_, tensor, mapper) = param.consume();
        self.0 += 1;
        Param::from_mapped_value(ParamId::from(self.0), tensor, mapper)
    }
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("every device computes in f32")
}

/// Lists the tensors of a safetensors file with their shapes, without biases.
fn tensors(file: &[u8]) -> String {
    const SHOWN: usize = 6;
    let Ok(tensors) = parse(file) else { return "no tensors".into() };
    let without_biases = tensors.iter().filter(|(name, _)| !name.ends_with("bias"));
    let mut names: Vec<String> = without_biases.map(|(name, tensor)| format!("{name} {:?}", tensor.shape())).collect();
    names.sort();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names.truncate(SHOWN);
    format!("{}{more}", names.join(", "))
}

/// Describes the first tensor of a safetensors file that does not hold floats.
fn integers(file: &[u8]) -> Option<String> {
    let tensors = parse(file).ok()?;
    let others = tensors.iter().filter(|(_, tensor)| tensor.dtype() != Dtype::F32);
    others.map(|(name, tensor)| format!("{name} holds {}", tensor.dtype())).min()
}

fn unfit(error: impl std::fmt::Display) -> Error {
    Error::weights(error.to_string(), Remedy::SaveWeightsAgain)
}

/// Collects the gradients of a module's parameters in order; a parameter without influence contributes zeros.
struct Flatten<'a> {
    gradients: &'a GradientsParams,
    all: &'a mut Vec<f32>,
}

impl ModuleVisitor for Flatten<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !param.val().is_require_grad() {
            return;
        }
        match self.gradients.get::<D>(param.id) {
            Some(gradient) => self.all.extend(numbers(gradient)),
            None => self.all.extend(std::iter::repeat_n(0.0, param.val().shape().num_elements())),
        }
    }
}

/// Counts the trainable numbers of a module.
struct Count(usize);

impl ModuleVisitor for Count {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if param.val().is_require_grad() {
            self.0 += param.val().shape().num_elements();
        }
    }
}

/// Returns the number of examples per step, at most `most`, such that all steps of an epoch have nearly the same size. A
/// last step on a few examples would undo what the network learned in the others.
fn minibatch_size(count: usize, most: usize) -> usize {
    let steps = count.div_ceil(most.max(1)).max(1);
    count.div_ceil(steps).max(1)
}

/// The best epoch so far.
struct Best<N> {
    until: LessonEnd,
    keep_last: bool,
    net: Option<N>,
    valid: f64,
    /// Epoch of the network.
    epoch: usize,
    /// Epoch in which the accuracy rose last.
    rise: usize,
}

impl<N: Clone> Best<N> {
    fn of(lesson: &Lesson<'_>) -> Self {
        Self { until: lesson.until, keep_last: lesson.keep_last_best, net: None, valid: -1.0, epoch: 0, rise: 0 }
    }

    fn continues(&self, done: usize) -> bool {
        match self.until {
            LessonEnd::Epochs(count) => done < count,
            LessonEnd::ValidationDrops { patience, max_epochs } => {
                done < max_epochs && done < self.rise.saturating_add(patience.max(1))
            }
        }
    }

    fn offer(&mut self, valid: Option<f64>, epoch: usize, net: &N) {
        let Some(valid) = valid.filter(|&valid| valid > self.valid || self.keep_last && valid == self.valid) else {
            return;
        };
        if valid > self.valid {
            self.rise = epoch;
        }
        (self.net, self.valid, self.epoch) = (Some(net.clone()), valid, epoch);
    }

    /// Replaces the last network with the best one. Returns how many epochs the best one has seen.
    fn keep(self, net: &mut N) -> Option<usize> {
        if matches!(self.until, LessonEnd::Epochs(_)) {
            return None;
        }
        *net = self.net?;
        Some(self.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Mlp;

    #[test]
    fn inputs_on_the_device_are_seen_as_before() {
        let device = Device::flex();
        let inputs = Inputs::pixels([1, 2, 2], (0..=255).collect::<Vec<u8>>());
        let net = Mlp::new(4, &[5], 3, &mut Draw::new(0, 0, &device));
        let mut network = Network::new(net, &device, (127.5, 127.5));
        let prediction =
            |network: &Network<Mlp>| network.predict(Examples { inputs: &inputs, rows: &[63, 0, 7, 7] }).unwrap();
        let train = LabelledExamples { examples: Examples { inputs: &inputs, rows: &[3, 60, 31] }, labels: &[0, 1, 2] };
        let until = LessonEnd::Epochs(3);
        let lesson = Lesson { minibatch_size: 2, reweight: true, ..Lesson::new(train, until, 0.1) };
        let lesson_results = |network: &mut Network<Mlp>| {
            network.restart(1);
            let curve = network.fit(&lesson).unwrap();
            let prediction = prediction(network);
            (curve, prediction.hidden, prediction.outputs, network.gradients(train.examples, 1).unwrap())
        };
        let before = lesson_results(&mut network);
        network.copy_to_device(&inputs).unwrap();
        assert_eq!(network.held[0].1.dims(), [64, 4]);
        assert_eq!(lesson_results(&mut network), before);
    }

    #[test]
    fn steps_are_of_even_size() {
        let sizes = |count, most| -> Vec<usize> {
            vec![0; count].chunks(minibatch_size(count, most)).map(<[i32]>::len).collect()
        };
        assert_eq!(sizes(64, 64), [64]);
        assert_eq!(sizes(65, 64), [33, 32]);
        assert_eq!(sizes(130, 64), [44, 44, 42]);
        assert_eq!(sizes(3, 0), [1, 1, 1]);
        assert_eq!(minibatch_size(0, 64), 1);
    }
}
