//! Per-query fine-tuning: for one query, choose examples, fine-tune a linear classifier on their labels, and predict the query.
//!
//!     homing embed cifar100_webp.tar --part test --model efficientnet-lite0 --weights efficientnet_lite0.safetensors \
//!         --out cifar100-features.safetensors
//!     cargo run --release -p homing-train --example per_query -- cifar100-features.safetensors 1000
//!
//! The data are rows of numbers with labels. Queries are drawn at random, and all other rows are the pool. Each query is the
//! only target of its selection. Every rule gets the same queries and budgets, and the network is the same each time, so the
//! rules are compared in pairs. The output is a table with the accuracy, its standard error, and the difference from
//! nearest neighbours with the standard error of the paired difference.

use std::error::Error;
use std::path::Path;

use homing::{Embeddings, Noise, Plan, Task, select};
use homing_data::{OpenOptions, open};
use homing_train::{Examples, LabelledExamples, Lesson, LessonEnd, device, mean_and_error, models};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const RULES: [&str; 5] = ["cosine", "itl", "vtl", "undirected-itl", "random"];
const BUDGETS: [usize; 3] = [5, 20, 50];
/// Noise standard deviations as multiples of the root of the mean squared norm.
const NOISE: f64 = 0.1;
const EPOCHS: usize = 30;
const SEED: u64 = 0;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, queries] = &arguments[..] else { return Err("usage: per_query DATA QUERIES".into()) };
    let data = open(Path::new(path), &OpenOptions::default())?.train;
    let labels: Vec<u32> =
        data.labels.iter().copied().collect::<Option<_>>().ok_or("every row of the data needs a label")?;
    let classes = data.classes.len();
    let (width, all) = (data.inputs.size(), (0..data.len()).collect::<Vec<_>>());
    let rows = data.inputs.read(&all)?;
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let count: usize = queries.parse()?;
    let drawn = sample(&mut rng, data.len(), count.min(data.len() / 2)).into_vec();
    let pool_rows: Vec<usize> = all.iter().copied().filter(|row| !drawn.contains(row)).collect();
    let pool: Vec<f32> =
        pool_rows.iter().flat_map(|&row| rows[row * width..(row + 1) * width].iter().copied()).collect();

    // Whether each query is answered correctly: by rule, then by budget.
    let answers: Vec<Vec<Vec<bool>>> = drawn
        .par_iter()
        .map(|&query| {
            let target = &rows[query * width..(query + 1) * width];
            let answer = |rule: &str| -> Result<Vec<bool>> {
                let task = Task::new(Embeddings::new(&pool[..], width)?, Embeddings::new(target, width)?);
                let plan = Plan::default()
                    .strategy(rule.parse()?)
                    .count(BUDGETS[BUDGETS.len() - 1])
                    .noise(Noise::Relative(NOISE * NOISE))
                    .seed(query as u64);
                let picks: Vec<usize> = select(&task, &plan)?.rows().into_iter().map(|at| pool_rows[at]).collect();
                BUDGETS
                    .iter()
                    .map(|&budget| {
                        let picks = &picks[..budget];
                        let lesson_labels: Vec<u32> = picks.iter().map(|&row| labels[row]).collect();
                        let mut network = models::network(&"linear".parse()?, &[width], classes, &device("cpu")?)?;
                        network.restart(SEED);
                        let examples = Examples { inputs: &data.inputs, rows: picks };
                        let train = LabelledExamples { examples, labels: &lesson_labels };
                        network.fit(&Lesson::new(train, LessonEnd::Epochs(EPOCHS), 1e-3))?;
                        let guess = network.predict(Examples { inputs: &data.inputs, rows: &[query] })?.guesses()[0];
                        Ok(guess == labels[query])
                    })
                    .collect()
            };
            RULES.iter().map(|rule| answer(rule)).collect::<Result<Vec<_>>>()
        })
        .collect::<Result<_>>()?;

    println!("rule,budget,queries,accuracy,error,ahead_of_nearest,error_of_difference");
    let share = |is_right: bool| 100.0 * f64::from(u8::from(is_right));
    for (at, rule) in RULES.iter().enumerate() {
        for (b, budget) in BUDGETS.iter().enumerate() {
            let own: Vec<f64> = answers.iter().map(|of| share(of[at][b])).collect();
            let ahead: Vec<f64> = answers.iter().map(|of| share(of[at][b]) - share(of[0][b])).collect();
            let ((mean, error), (difference, spread)) =
                (mean_and_error(&own).ok_or("no queries")?, mean_and_error(&ahead).ok_or("no queries")?);
            println!("{rule},{budget},{},{mean:.2},{error:.2},{difference:+.2},{spread:.2}", answers.len());
        }
    }
    Ok(())
}
