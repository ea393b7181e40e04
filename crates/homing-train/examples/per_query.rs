//! Per-query fine-tuning: for one query, choose examples, fine-tune a linear classifier on their labels, and predict the query.
//!
//!     homing embed cifar100_webp.tar --part test --model efficientnet-lite0 --weights efficientnet_lite0.safetensors \
//!         --out cifar100-features.safetensors
//!     cargo run --release -p homing-train --example per_query -- cifar100-features.safetensors 1000
//!
//! The data are rows of numbers with labels. Queries are drawn at random, and all other rows are the pool. Each query is the
//! only target of its selection. Every rule gets the same queries and budgets, and the network is the same each time, so the
//! rules are compared in pairs. They choose among the rows as they are, and among rows that are centred and scaled to unit
//! length as `homing select` does by default. The output is a table with the accuracy, its standard error, and the difference
//! from nearest neighbours on the same kind of rows, with the standard error of the paired difference.

use std::error::Error;
use std::path::Path;

use homing::{Embeddings, Noise, Plan, Task, select};
use homing_data::{OpenOptions, open};
use homing_train::{Examples, Inputs, LabelledExamples, Lesson, LessonEnd, device, mean_and_error, models};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const RULES: [&str; 4] = ["cosine", "itl", "undirected-itl", "random"];
const BUDGETS: [usize; 3] = [5, 20, 50];
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
    println!("rows,rule,budget,queries,accuracy,error,ahead_of_nearest,error_of_difference");
    let centred = prepared(rows.clone(), width, &pool_rows);
    for (kind, rows, noise) in
        [("as they are", rows, Noise::OTHER_ROWS), ("centred and scaled", centred, Noise::UNIT_ROWS)]
    {
        let pool: Vec<f32> =
            pool_rows.iter().flat_map(|&row| rows[row * width..(row + 1) * width].iter().copied()).collect();
        let (inputs, noise) = (&data.inputs, Noise::Relative(noise));
        let world = World { rows, width, pool, pool_rows: &pool_rows, inputs, labels: &labels, classes, noise };
        report(kind, &world.answers(&drawn)?)?;
    }
    Ok(())
}

/// Returns the rows minus the mean of the pool's, scaled to unit length.
fn prepared(mut rows: Vec<f32>, width: usize, pool: &[usize]) -> Vec<f32> {
    let mean: Vec<f64> = (0..width)
        .map(|at| pool.iter().map(|row| f64::from(rows[row * width + at])).sum::<f64>() / pool.len() as f64)
        .collect();
    for row in rows.chunks_exact_mut(width) {
        row.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= *mean as f32);
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        row.iter_mut().for_each(|x| *x /= norm);
    }
    rows
}

/// The rows among which rules choose, and the inputs and labels that the classifier learns from.
struct World<'a> {
    rows: Vec<f32>,
    width: usize,
    pool: Vec<f32>,
    pool_rows: &'a [usize],
    inputs: &'a Inputs,
    labels: &'a [u32],
    classes: usize,
    noise: Noise,
}

impl World<'_> {
    /// Returns whether each query is answered correctly: by rule, then by budget.
    fn answers(&self, queries: &[usize]) -> Result<Vec<Vec<Vec<bool>>>> {
        let one = |&query: &usize| {
            let Self { width, classes, inputs, .. } = *self;
            let target = &self.rows[query * width..(query + 1) * width];
            let answer = |rule: &str| -> Result<Vec<bool>> {
                let task = Task::new(Embeddings::new(&self.pool[..], width)?, Embeddings::new(target, width)?);
                let plan = Plan::default()
                    .strategy(rule.parse()?)
                    .count(BUDGETS[BUDGETS.len() - 1])
                    .noise(self.noise)
                    .seed(query as u64);
                let picks: Vec<usize> = select(&task, &plan)?.rows().into_iter().map(|at| self.pool_rows[at]).collect();
                BUDGETS
                    .iter()
                    .map(|&budget| {
                        let picks = &picks[..budget];
                        let lesson_labels: Vec<u32> = picks.iter().map(|&row| self.labels[row]).collect();
                        let mut network = models::network(&"linear".parse()?, &[width], classes, &device("cpu")?)?;
                        network.restart(SEED);
                        let examples = Examples { inputs, rows: picks };
                        let train = LabelledExamples { examples, labels: &lesson_labels };
                        network.fit(&Lesson::new(train, LessonEnd::Epochs(EPOCHS), 1e-3))?;
                        let guess = network.predict(Examples { inputs, rows: &[query] })?.guesses()[0];
                        Ok(guess == self.labels[query])
                    })
                    .collect()
            };
            RULES.iter().map(|rule| answer(rule)).collect()
        };
        queries.par_iter().map(one).collect()
    }
}

/// Prints a row per rule and budget.
fn report(kind: &str, answers: &[Vec<Vec<bool>>]) -> Result<()> {
    let share = |is_right: bool| 100.0 * f64::from(u8::from(is_right));
    for (at, rule) in RULES.iter().enumerate() {
        for (b, budget) in BUDGETS.iter().enumerate() {
            let own: Vec<f64> = answers.iter().map(|of| share(of[at][b])).collect();
            let ahead: Vec<f64> = answers.iter().map(|of| share(of[at][b]) - share(of[0][b])).collect();
            let ((mean, error), (difference, spread)) =
                (mean_and_error(&own).ok_or("no queries")?, mean_and_error(&ahead).ok_or("no queries")?);
            let queries = answers.len();
            println!("{kind},{rule},{budget},{queries},{mean:.2},{error:.2},{difference:+.2},{spread:.2}");
        }
    }
    Ok(())
}
