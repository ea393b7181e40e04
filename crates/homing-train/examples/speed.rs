//! Training speed of the CNN of the MNIST experiment; `bench/train.py` compares it with PyTorch.
//!
//! Prints the milliseconds per epoch for each number of examples, with 64 examples per step.

use std::time::Instant;

use homing_train::{Examples, Inputs, LabelledExamples, Lesson, LessonEnd, device, models};

const SIZES: [usize; 6] = [1, 10, 50, 100, 300, 1280];
const REPEATS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cpu".into());
    let pixels = |count: usize| (0..count * 784).map(|i| (i * 7919 % 251) as u8).collect::<Vec<_>>();
    for count in SIZES {
        let inputs = Inputs::pixels([1, 28, 28], pixels(count));
        let rows: Vec<usize> = (0..count).collect();
        let labels: Vec<u32> = rows.iter().map(|row| (row % 10) as u32).collect();
        let train = LabelledExamples { examples: Examples { inputs: &inputs, rows: &rows }, labels: &labels };
        let mut network = models::network(&"cnn".parse()?, inputs.shape(), 10, &device(&name)?)?;
        let epochs = (640 / count).clamp(1, 20);
        let lesson = |epochs| Lesson::new(train, LessonEnd::Epochs(epochs), 1e-3);
        network.fit(&lesson(1))?;
        let mut best = f64::INFINITY;
        for _ in 0..REPEATS {
            let start = Instant::now();
            network.fit(&lesson(epochs))?;
            best = best.min(start.elapsed().as_secs_f64() / epochs as f64);
        }
        println!("{count} {:.3}", 1e3 * best);
    }
    Ok(())
}
