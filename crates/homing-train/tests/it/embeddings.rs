//! Comparison of the kinds of embeddings with their definitions.

use homing::Embeddings;
use homing::last_layer::{Approximation, Curvature, LastLayer, Mode};
use homing_train::{
    Embedder, EmbeddingKind, Examples, Inputs, LabelledExamples, Learner, Lesson, LessonEnd, Sigma, Sketch,
};

use crate::world::{Bars, cnn, mlp, noise};

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Returns the kernel between examples for a kind of embedding.
fn kernel(network: &dyn Learner, examples: Examples<'_>, kind: EmbeddingKind) -> impl Fn(usize, usize) -> f64 {
    let embedder = Embedder::new(network, kind, None);
    let embedded = embedder.embed(examples).unwrap();
    let points = embedded.points().unwrap();
    let count = examples.rows.len();
    let value = |at: usize| embedder.kernel().eval(&points.row(at / count), &points.row(at % count));
    let values: Vec<f64> = (0..count * count).map(value).collect();
    move |i, j| values[i * count + j]
}

#[test]
fn the_outputs_are_the_last_layer_of_the_hidden_one() {
    let bars = Bars::new(5, 3, 0);
    let network = cnn(3, 1);
    let prediction = network.predict(bars.examples()).unwrap();
    let weights = network.save().unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&weights).unwrap();
    let last: Vec<f32> = tensors
        .tensor("last.weight")
        .unwrap()
        .data()
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    for (hidden, outputs) in prediction.hidden.chunks_exact(prediction.width).zip(prediction.outputs.chunks_exact(3)) {
        for (class, output) in outputs.iter().enumerate() {
            let column: Vec<f32> = last.iter().skip(class).step_by(3).copied().collect();
            assert!((dot(hidden, &column) - f64::from(*output)).abs() < 1e-5);
        }
    }
    let sums: Vec<f32> = prediction.probabilities().chunks_exact(3).map(|row| row.iter().sum()).collect();
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6));
}

#[test]
fn network_gradients_are_finite_differences() {
    // A small step along one weight changes f by the gradient times the step.
    let inputs = Inputs::rows(4, noise(8, 1));
    let network = mlp(4, &[5], 3, 2);
    let at = Examples { inputs: &inputs, rows: &[0, 1] };
    let weights = network.save().unwrap();
    let gradients = network.gradients(at, 1).unwrap();
    let per_class = gradients.len() / 3;
    assert_eq!(per_class, 4 * 5 + 5 + 5 * 3 + 3);
    // Parameters are in the order of the gradients: weight before bias, layer by layer.
    let names = ["hidden.0.weight", "hidden.0.bias", "last.weight", "last.bias"];
    let step = 1e-3;
    let mut place = 0;
    for name in names {
        let count = safetensors::SafeTensors::deserialize(&weights).unwrap().tensor(name).unwrap().data().len() / 4;
        for i in 0..count {
            let outputs = |sign: f32| {
                let mut moved = mlp(4, &[5], 3, 2);
                moved.load(nudged(&weights, name, i, sign * step)).unwrap();
                moved.predict(at).unwrap().outputs
            };
            let (up, down) = (outputs(1.0), outputs(-1.0));
            for class in 0..3 {
                let slope = (up[3 + class] - down[3 + class]) / (2.0 * step);
                let gradient = gradients[class * per_class + place];
                assert!((slope - gradient).abs() < 2e-3, "{name} {i} {class}: {slope} {gradient}");
            }
            place += 1;
        }
    }
}

/// Returns weights with one number changed.
fn nudged(weights: &[u8], name: &str, i: usize, by: f32) -> Vec<u8> {
    let tensors = safetensors::SafeTensors::deserialize(weights).unwrap();
    let tensor = tensors.tensor(name).unwrap();
    let at = tensor.data().as_ptr() as usize - weights.as_ptr() as usize + 4 * i;
    let mut out = weights.to_vec();
    let value = f32::from_le_bytes(out[at..at + 4].try_into().unwrap()) + by;
    out[at..at + 4].copy_from_slice(&value.to_le_bytes());
    out
}

#[test]
fn last_layer_gradients_are_their_part_of_the_network_gradients() {
    // The kernel of output gradients is the inner product of the gradients of one output with respect to the last layer.
    let inputs = Inputs::rows(4, noise(12, 3));
    let network = mlp(4, &[5], 3, 4);
    let rows = [0, 1, 2];
    let at = Examples { inputs: &inputs, rows: &rows };
    let kernel = kernel(&network, at, EmbeddingKind::OutputGradient);
    let full: Vec<Vec<f32>> = (0..3).map(|i| network.gradients(at, i).unwrap()).collect();
    let per_class = full[0].len() / 3;
    let last = per_class - (5 * 3 + 3)..per_class;
    for (i, j) in [(0, 0), (0, 1), (1, 2)] {
        let expected = dot(&full[i][last.clone()], &full[j][last.clone()]);
        assert!((kernel(i, j) - expected).abs() < 1e-5);
    }
}

#[test]
fn loss_gradients_are_the_slope_of_the_loss_with_the_most_probable_label() {
    // The loss gradient is that of −ln p_ŷ with respect to the last layer (Eq. 22).
    let inputs = Inputs::rows(4, noise(8, 5));
    let network = mlp(4, &[], 3, 6);
    let at = Examples { inputs: &inputs, rows: &[0, 1] };
    let kernel = kernel(&network, at, EmbeddingKind::LossGradient);
    let prediction = network.predict(at).unwrap();
    let guesses = prediction.guesses();
    let weights = network.save().unwrap();
    let gradient = |row: usize| -> Vec<f32> {
        let loss = |weights: Vec<u8>| {
            let mut moved = mlp(4, &[], 3, 6);
            moved.load(weights).unwrap();
            let p = moved.predict(at).unwrap().probabilities()[3 * row + guesses[row] as usize];
            -f64::from(p).ln()
        };
        let slope = |name: &str, i: usize| {
            ((loss(nudged(&weights, name, i, 1e-3)) - loss(nudged(&weights, name, i, -1e-3))) / 2e-3) as f32
        };
        (0..12).map(|i| slope("last.weight", i)).chain((0..3).map(|i| slope("last.bias", i))).collect()
    };
    let gradients = [gradient(0), gradient(1)];
    for (i, j) in [(0, 0), (0, 1), (1, 1)] {
        let expected = dot(&gradients[i], &gradients[j]);
        assert!((kernel(i, j) - expected).abs() < 1e-3, "{} {expected}", kernel(i, j));
    }
}

/// If all classes have the same weight, two examples of one class and one of another have the weights ¾, ¾ and 1½.
#[test]
fn sigma_is_of_the_loss_that_the_network_learns_from() {
    let inputs = Inputs::rows(4, noise(12, 7));
    let network = mlp(4, &[], 2, 8);
    let learned = LabelledExamples { examples: Examples { inputs: &inputs, rows: &[0, 1, 2] }, labels: &[1, 0, 1] };
    let prediction = network.predict(learned.examples).unwrap();
    let (p, weights) = (prediction.probabilities(), network.last_layer());
    let view = |values, dim| Embeddings::new(values, dim).unwrap();
    let expected = |shares: &[f64]| {
        let layer =
            LastLayer::new(view(&prediction.hidden[..], 4), view(&p[..], 2), true).unwrap().weighted(shares).unwrap();
        let curvature = Curvature::new(&layer, Approximation::Full).unwrap();
        let mode = Mode::new(&layer, view(&weights[..], 2), &[1, 0, 1]).unwrap();
        let precision = curvature.fit_prior(&mode).unwrap().precision;
        curvature.covariance(precision).unwrap().dense().unwrap()
    };
    for (reweight, shares) in [(true, [0.75, 1.5, 0.75]), (false, [1.0; 3])] {
        let sigma = Sigma::Laplace(Approximation::Full).covariance(&network, learned, reweight).unwrap().unwrap();
        assert_eq!(sigma.dense().unwrap(), expected(&shares));
    }
    assert_ne!(expected(&[0.75, 1.5, 0.75]), expected(&[1.0; 3]));
}

#[test]
fn a_sketch_keeps_inner_products_on_average() {
    let (x, y) = (noise(20_000, 1), noise(20_000, 2));
    let z: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 0.7 * x + 0.3 * y).collect();
    let sketch = Sketch::new(x.len(), 4096);
    let error = (dot(&sketch.of(&x), &sketch.of(&z)) / dot(&x, &z) - 1.0).abs();
    assert!(error < 0.06, "{error}");
}

#[test]
fn every_kind_has_a_name() {
    for name in ["last-layer", "loss-gradient", "output-gradient", "network-gradient", "network-gradient:64", "outputs"]
    {
        assert_eq!(name.parse::<EmbeddingKind>().unwrap().to_string(), name);
    }
    let message = "first-layer".parse::<EmbeddingKind>().unwrap_err().to_string();
    assert!(message.contains("use last-layer"), "{message}");
    assert!("network-gradient:0".parse::<EmbeddingKind>().is_err());
}

#[test]
fn a_linear_classifier_fits_numbers() {
    let (count, width) = (60, 6);
    let numbers = noise(count * width, 9);
    let labels: Vec<u32> = numbers.chunks_exact(width).map(|row| u32::from(row[0] + row[3] > 0.0)).collect();
    let inputs = Inputs::rows(width, numbers);
    let rows: Vec<usize> = (0..count).collect();
    let train = LabelledExamples { examples: Examples { inputs: &inputs, rows: &rows }, labels: &labels };
    let mut network = mlp(width, &[], 2, 0);
    let until = LessonEnd::Epochs(200);
    network.fit(&Lesson::new(train, until, 0.05)).unwrap();
    assert!(homing_train::accuracy(&network, train).unwrap() > 0.95);
}
