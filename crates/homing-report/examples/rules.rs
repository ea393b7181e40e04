//! Draws `docs/images/rules.svg`, five picks from the same pool under three rules:
//! `cargo run --release -p homing-report --example rules > docs/images/rules.svg`.

use homing::{Embeddings, Gaussian, Noise, Plan, Task, select};
use homing_report::Figure;
use homing_report::plots::{Plot, Size, key};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RULES: [(&str, &str); 3] =
    [("itl-top-b", "scored once (itl-top-b)"), ("itl", "itl"), ("undirected-itl", "no targets (undirected-itl)")];
const TARGETS: [(f64, f64); 3] = [(2.2, 7.6), (3.4, 6.2), (5.0, 7.4)];
const SIZE: Size = Size { width: 270.0, height: 262.0, names: 0.0 };
const DOMAIN: [f64; 2] = [-0.3, 10.3];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut point = |x: [f64; 2], y: [f64; 2]| (random.random_range(x[0]..x[1]), random.random_range(y[0]..y[1]));
    let mut pool: Vec<(f64, f64)> = (0..82).map(|_| point([0.0, 10.0], [0.0, 10.0])).collect();
    // Eight of the rows are near-duplicates.
    pool.extend((0..8).map(|_| point([3.4, 4.0], [6.5, 7.1])));
    let flat = |points: &[(f64, f64)]| points.iter().flat_map(|&(x, y)| [x, y]).collect::<Vec<f64>>();
    let (rows, targets) = (flat(&pool), flat(&TARGETS));
    let kernel = Gaussian::new(1.5)?;
    let mut plots = Vec::new();
    for (rule, title) in RULES {
        let task = match rule {
            "undirected-itl" => Task::undirected(Embeddings::new(&rows[..], 2)?),
            _ => Task::new(Embeddings::new(&rows[..], 2)?, Embeddings::new(&targets[..], 2)?),
        };
        let plan = Plan::default().strategy(rule.parse()?).count(5).noise(Noise::Std(0.3));
        let picks: Vec<(f64, f64)> =
            select(&task.kernel(&kernel), &plan)?.rows().iter().map(|&row| pool[row]).collect();
        let mut plot = Plot::new(title, "", SIZE, DOMAIN, DOMAIN, "");
        plot.without_ticks().strip("frame", DOMAIN).dots("pool-dots", &pool);
        plot.numbered(&picks).diamonds("diamonds", &TARGETS);
        plots.push(plot);
    }
    let figure = Figure {
        title: "Five picks from the same pool under three rules".into(),
        keys: vec![key("pool-dots", "pool"), key("diamonds", "targets"), key("obs", "picks, in order")],
        plots,
        notes: Vec::new(),
    };
    print!("{}", figure.render()?);
    Ok(())
}
