//! Prints the picks and scores of every rule, and a diagnosis, on data that is the same on every machine.
//!
//! `crates/homing/same-numbers` compares the output of several builds and processors: the picked rows before the bar, and
//! the bits of scores and variances after it.

use std::error::Error;

use homing::diagnose::{Diagnosis, Question};
use homing::{Embeddings, Gaussian, Kernel, Linear, Plan, STRATEGIES, Strategy, Task, select};

/// Enough rows for the engine that drafts many picks per pass.
const ROWS: usize = 1200;
/// Few rows for the diagnosis, whose time grows with the cube of their number for kernels other than the linear one.
const DIAGNOSED: usize = 300;
const DIM: usize = 37;
const TARGETS: usize = 7;
const CLASSES: usize = 4;
const PICKS: usize = 12;

/// Pseudo-random numbers from −1 to 1 (SplitMix64).
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some((((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64) - 1.0)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let bits = |numbers: &[f64]| numbers.iter().map(|x| format!("{:016x}", x.to_bits())).collect::<Vec<_>>().join(" ");
    let mut numbers = Numbers(1);
    let pool: Vec<f32> = numbers.by_ref().take(ROWS * DIM).map(|x| x as f32).collect();
    let targets: Vec<f32> = numbers.by_ref().take(TARGETS * DIM).map(|x| x as f32).collect();
    let probabilities: Vec<f64> = {
        let raw: Vec<f64> = numbers.by_ref().take(ROWS * CLASSES).map(|x| x + 1.001).collect();
        raw.chunks(CLASSES).flat_map(|row| row.iter().map(|x| x / row.iter().sum::<f64>())).collect()
    };
    let kernels: [(&str, Box<dyn Kernel>); 2] =
        [("linear", Box::new(Linear)), ("gaussian", Box::new(Gaussian::new(4.0)?))];
    for (name, kernel) in &kernels {
        let task = Task::new(Embeddings::new(&pool[..], DIM)?, Embeddings::new(&targets[..], DIM)?)
            .kernel(&**kernel)
            .probabilities(Embeddings::new(&probabilities[..], CLASSES)?);
        for entry in STRATEGIES {
            let plan = Plan::default().strategy(Strategy::from(entry)).count(PICKS);
            let Ok(selection) = select(&task, &plan) else { continue };
            let scores: Vec<f64> = selection.picks.iter().flat_map(|pick| [pick.score, pick.information]).collect();
            println!("{name} {} {:?} | {}", entry.name, selection.rows(), bits(&scores));
        }
        let few = Embeddings::new(&pool[..DIAGNOSED * DIM], DIM)?;
        let task = Task::new(few, Embeddings::new(&targets[..], DIM)?).kernel(&**kernel);
        let question = Question::new(task).count(PICKS);
        let diagnosis = Diagnosis::new(&question)?;
        let targets: Vec<f64> =
            diagnosis.targets.iter().flat_map(|t| [t.prior, t.irreducible, t.labelled, t.now]).collect();
        println!("{name} diagnosis {:?} | {}", diagnosis.batch, bits(&targets));
        let bounds = [diagnosis.capacity.lower, diagnosis.capacity.upper, diagnosis.ratio.lower, diagnosis.ratio.upper];
        println!("{name} bounds | {}", bits(&bounds));
    }
    Ok(())
}
