//! Reference values of activeft, the authors' library, in its own conventions.
//!
//! The inputs are generated portably (see `tests/data/activeft.md`). activeft computes in f32 and selects with repetition,
//! and its ITL has no ρ² inside the logarithm.

use homing::{Noise, Plan, Strategy, Task};

use crate::oracle::{points, run};

fn inputs() -> (Vec<f64>, Vec<f64>) {
    let mut state: u64 = 1;
    let mut next = || {
        state = (1_103_515_245 * state + 12345) % (1 << 31);
        // The library received single precision.
        f64::from((2.0 * state as f64 / f64::from(1u32 << 31) - 1.0) as f32)
    };
    let pool = (0..200 * 16).map(|_| next()).collect();
    let targets = (0..5 * 16).map(|_| next()).collect();
    (pool, targets)
}

#[test]
fn picks_and_values_of_activeft() {
    let golden: serde_json::Value = serde_json::from_str(include_str!("../data/activeft.json")).unwrap();
    let (pool, targets) = inputs();
    let task = Task::new(points(&pool, 16), points(&targets, 16));
    let total: f64 = targets.iter().map(|x| x * x).sum();
    let mut compared = 0;
    for (name, want) in golden.as_object().unwrap() {
        let (rule, noise) = name.split_once('/').unwrap();
        // Without a noise, the library adds 0.01 to the diagonal.
        let noise_var = match noise.strip_prefix("noise_std=") {
            Some("None") | None => 0.01,
            Some(std) => std.parse::<f64>().unwrap().powi(2),
        };
        let strategy: Strategy = match rule {
            "ITL" => "itl-value".parse().unwrap(),
            // Undirected VTL is VTL with the pool as its targets.
            "VTL" | "UndirectedVTL" => "vtl".parse().unwrap(),
            "CTL" => "ctl".parse().unwrap(),
            "UndirectedITL" => "uncertainty".parse().unwrap(),
            "Cosine" => "cosine".parse().unwrap(),
            other => panic!("no counterpart for {other}"),
        };
        let undirected = rule == "UndirectedVTL";
        let task = task.targets(if undirected { Some(points(&pool, 16)) } else { task.targets });
        let indices: Vec<usize> =
            want["idx"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize).collect();
        let plan = Plan::default()
            .strategy(strategy)
            .count(indices.len())
            .noise(Noise::Std(noise_var.sqrt()))
            .repeat(rule != "Cosine");
        let selection = run(&task, &plan);
        assert_eq!(selection.rows(), indices, "{name}");
        for (pick, value) in selection.picks.iter().zip(want["val"].as_array().unwrap()) {
            let value = value.as_f64().unwrap();
            let got = match rule {
                // Its VTL is the negative remaining variance, and ours the removed variance. Its CTL is a mean, and ours a
                // sum.
                "VTL" => -pick.variance_left.unwrap() * total,
                "UndirectedVTL" => -pick.variance_left.unwrap() * pool.iter().map(|x| x * x).sum::<f64>(),
                "CTL" => pick.score / 5.0,
                _ => pick.score,
            };
            assert!((got - value).abs() < 2e-4 * (1.0 + value.abs()), "{name} rank {}: {got} {value}", pick.rank);
            compared += 1;
        }
    }
    assert_eq!(compared, 15 * 8 + 5);
}
