//! Training, stopping and saving networks.

use half::{bf16, f16};
use homing_train::{AdamSettings, Learner, Lesson, LessonCurve, LessonEnd, Network, accuracy, models};

use safetensors::tensor::{TensorView, serialize};
use safetensors::{Dtype, SafeTensors};

use crate::world::{Bars, cnn};

fn lesson<'a>(train: &'a Bars, valid: Option<&'a Bars>, until: LessonEnd, seed: u64) -> Lesson<'a> {
    let valid = valid.map(Bars::labelled);
    Lesson { valid, minibatch_size: 16, reweight: true, seed, ..Lesson::new(train.labelled(), until, 1e-3) }
}

fn trained(until: LessonEnd, seed: u64) -> (Network<models::Cnn>, LessonCurve) {
    let (train, valid) = (Bars::new(24, 3, 1), Bars::new(30, 3, 2));
    let mut network = cnn(3, 5);
    let curve = network.fit(&lesson(&train, Some(&valid), until, seed)).unwrap();
    (network, curve)
}

#[test]
fn a_network_learns_its_examples() {
    let (network, curve) = trained(LessonEnd::Epochs(12), 0);
    assert_eq!((curve.epochs.len(), curve.kept), (12, 12));
    assert!(curve.epochs[11].loss < 0.5 * curve.epochs[0].loss, "{curve:?}");
    let test = Bars::new(60, 3, 3);
    assert!(accuracy(&network, test.labelled()).unwrap() > 0.9);
}

/// Converts a number to the bytes of another type.
type Number<'a> = &'a dyn Fn(f32) -> Vec<u8>;

/// Converts the numbers of a weights file to another type.
fn retyped(file: &[u8], dtype: Dtype, number: impl Fn(f32) -> Vec<u8>) -> Vec<u8> {
    let read = |data: &[u8]| -> Vec<u8> {
        data.as_chunks().0.iter().flat_map(|&bytes| number(f32::from_le_bytes(bytes))).collect()
    };
    let file = SafeTensors::deserialize(file).unwrap();
    let data: Vec<_> = file.iter().map(|(name, tensor)| (name, tensor.shape().to_vec(), read(tensor.data()))).collect();
    let view = |(name, shape, data)| (name, TensorView::new(dtype, shape, data).unwrap());
    serialize(data.iter().map(|(name, shape, data)| view((name, shape.clone(), data))), None).unwrap()
}

#[test]
fn weights_of_every_float_type_are_accepted_and_others_refused() {
    let (mut network, _) = trained(LessonEnd::Epochs(1), 0);
    let saved = network.save().unwrap();
    let test = Bars::new(20, 3, 3);
    let outputs = |network: &Network<models::Cnn>| network.predict(test.examples()).unwrap().outputs;
    let single = outputs(&network);
    let types: [(Dtype, Number<'_>, f32); 3] = [
        (Dtype::F64, &|number| f64::from(number).to_le_bytes().to_vec(), 0.0),
        (Dtype::F16, &|number| f16::from_f32(number).to_le_bytes().to_vec(), 0.01),
        (Dtype::BF16, &|number| bf16::from_f32(number).to_le_bytes().to_vec(), 0.05),
    ];
    for (dtype, number, error) in types {
        network.start_from(retyped(&saved, dtype, number)).unwrap();
        let difference = outputs(&network).iter().zip(&single).map(|(one, two)| (one - two).abs()).fold(0.0, f32::max);
        assert!(difference <= error, "{dtype}: {difference}");
        // The network can learn and be saved like any other.
        let lesson = lesson(&test, None, LessonEnd::Epochs(1), 0);
        network.fit(&lesson).unwrap();
        assert_eq!(network.save().unwrap().len(), saved.len());
    }
    let integers = retyped(&saved, Dtype::I32, |number| (number as i32).to_le_bytes().to_vec());
    let message = network.load(integers).unwrap_err().to_string();
    assert!(message.contains("conv1.bias holds I32, not floats; save the weights as float32"), "{message}");
    assert!(network.load(b"no file".to_vec()).unwrap_err().to_string().contains("is not a safetensors file"));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let bytes = |seed| trained(LessonEnd::Epochs(2), seed).0.save().unwrap();
    assert!(bytes(7) == bytes(7));
    assert!(bytes(7) != bytes(8));
    let mut network = cnn(3, 0);
    network.restart(4);
    let once = network.save().unwrap();
    network.restart(3);
    assert!(once != network.save().unwrap());
    network.restart(4);
    assert!(once == network.save().unwrap());
}

#[test]
fn the_best_epoch_is_kept() {
    let (network, curve) = trained(LessonEnd::ValidationDrops { patience: 2, max_epochs: 30 }, 1);
    let valid = Bars::new(30, 3, 2);
    let best = curve.epochs.iter().map(|epoch| epoch.valid.unwrap()).fold(0.0, f64::max);
    assert_eq!(curve.epochs[curve.kept - 1].valid, Some(best));
    assert_eq!(accuracy(&network, valid.labelled()).unwrap(), best);
    assert!(curve.epochs.len() == curve.kept + 2 || curve.epochs.len() == 30, "{curve:?}");
}

#[test]
fn weights_come_back_as_they_were() {
    let (network, _) = trained(LessonEnd::Epochs(1), 0);
    let test = Bars::new(9, 3, 4);
    let mut other = cnn(3, 99);
    other.load(network.save().unwrap()).unwrap();
    assert_eq!(other.predict(test.examples()).unwrap().outputs, network.predict(test.examples()).unwrap().outputs);
    let message = cnn(4, 0).load(network.save().unwrap()).unwrap_err().to_string();
    assert!(message.contains("last"), "{message}");
}

#[test]
fn a_network_starts_again_from_what_it_was_given() {
    let (trained_network, _) = trained(LessonEnd::Epochs(1), 0);
    let weights = trained_network.save().unwrap();
    let mut network = cnn(3, 99);
    network.start_from(weights.clone()).unwrap();
    network.fit(&lesson(&Bars::new(6, 3, 5), None, LessonEnd::Epochs(1), 0)).unwrap();
    assert!(network.save().unwrap() != weights);
    network.restart(7);
    assert!(network.save().unwrap() == weights);
}

#[test]
fn classes_weigh_the_same_however_many_examples_they_have() {
    // With 30 examples of one class and 1 of another, the single example must still count.
    let all = Bars::new(60, 2, 1);
    let rows: Vec<usize> = (0..60).filter(|row| row % 2 == 0).chain([1]).collect();
    let labels: Vec<u32> = rows.iter().map(|&row| all.labels[row]).collect();
    let few = Bars { inputs: all.inputs.clone(), labels, rows };
    let loss = |reweight| {
        let mut network = cnn(2, 3);
        let until = LessonEnd::Epochs(1);
        network.fit(&Lesson { reweight, minibatch_size: 64, ..lesson(&few, None, until, 0) }).unwrap();
        let prediction = network.predict(homing_train::Examples { inputs: &few.inputs, rows: &[1] }).unwrap();
        prediction.probabilities()[1]
    };
    assert!(loss(true) > loss(false), "{} {}", loss(true), loss(false));
}

#[test]
fn bad_lessons_are_refused() {
    let train = Bars::new(4, 4, 0);
    let message = cnn(3, 0).fit(&lesson(&train, None, LessonEnd::Epochs(1), 0)).unwrap_err().to_string();
    assert!(message.contains("example 3 has the label 3, but there are 3 classes"), "{message}");
}

#[test]
fn the_last_of_equally_good_epochs_can_be_kept() {
    let (train, valid) = (Bars::new(24, 3, 1), Bars::new(30, 3, 2));
    let until = LessonEnd::ValidationDrops { patience: 12, max_epochs: 60 };
    let curve = |keep_last_best| {
        let mut network = cnn(3, 5);
        let curve = network.fit(&Lesson { keep_last_best, ..lesson(&train, Some(&valid), until, 1) }).unwrap();
        let best = curve.epochs[curve.kept - 1].valid.unwrap();
        assert_eq!(accuracy(&network, valid.labelled()).unwrap(), best);
        curve
    };
    let (first, last) = (curve(false), curve(true));
    // The same epochs run, because only a rise makes the lesson longer.
    assert_eq!(first.epochs, last.epochs);
    let best = first.epochs.iter().map(|epoch| epoch.valid.unwrap()).fold(0.0, f64::max);
    let is_best = |epoch: &homing_train::Epoch| epoch.valid == Some(best);
    assert_eq!(first.kept, first.epochs.iter().position(is_best).unwrap() + 1);
    assert_eq!(last.kept, last.epochs.iter().rposition(is_best).unwrap() + 1);
    assert!(last.kept > first.kept, "no two epochs are equally good, so the test shows nothing");
}

#[test]
fn steps_are_of_even_size_or_full() {
    let train = Bars::new(24, 3, 1);
    let saved = |minibatch_size, full_minibatches| {
        let mut network = cnn(3, 5);
        let lesson = lesson(&train, None, LessonEnd::Epochs(2), 0);
        network.fit(&Lesson { minibatch_size, full_minibatches, ..lesson }).unwrap();
        network.save().unwrap()
    };
    // 24 examples in steps of 12 are even and full; at most 16 per step makes steps of 12 and 12, or of 16 and 8.
    assert!(saved(12, true) == saved(12, false));
    assert!(saved(16, false) == saved(12, false));
    assert!(saved(16, true) != saved(16, false));
}

#[test]
fn a_large_epsilon_makes_small_steps() {
    let train = Bars::new(24, 3, 1);
    let moved = |epsilon| {
        let mut network = cnn(3, 5);
        let before = network.last_layer();
        let usual = lesson(&train, None, LessonEnd::Epochs(1), 0);
        network.fit(&Lesson { adam: AdamSettings { epsilon, ..usual.adam }, ..usual }).unwrap();
        let pairs = before.iter().zip(network.last_layer()).map(|(a, b)| f64::from((a - b).abs()));
        pairs.fold(0.0, f64::max)
    };
    // A step is the learning rate times m/(√v + ε), so at most the learning rate, and almost nothing if ε is large.
    assert!(moved(1e-8) >= moved(1e-5) && moved(1e-5) > 1e-4 && moved(1e3) < 1e-6);
}
