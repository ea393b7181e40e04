//! How fast the CNN of the MNIST experiment learns: `bench/train.py` runs this beside PyTorch.
//!
//! Prints, for each number of examples, the milliseconds of one epoch at 64 examples a step.

use std::time::Instant;

use homing_train::{Examples, Inputs, Labelled, Lesson, Until, device, models};

const SIZES: [usize; 6] = [1, 10, 50, 100, 300, 1280];
const REPEATS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cpu".into());
    let pixels = |count: usize| (0..count * 784).map(|i| (i * 7919 % 251) as u8).collect::<Vec<_>>();
    for count in SIZES {
        let inputs = Inputs::pixels([1, 28, 28], pixels(count));
        let rows: Vec<usize> = (0..count).collect();
        let labels: Vec<u32> = rows.iter().map(|row| (row % 10) as u32).collect();
        let train = Labelled { examples: Examples { inputs: &inputs, rows: &rows }, labels: &labels };
        let mut network = models::network("cnn", inputs.shape(), 10, &device(&name)?)?;
        let epochs = (640 / count).clamp(1, 20);
        let lesson = |epochs| Lesson {
            train,
            valid: None,
            until: Until::Epochs(epochs),
            rate: 1e-3,
            batch: 64,
            reweight: false,
            seed: 0,
        };
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
