//! Variance of the targets over the rounds, for each rule.

use anyhow::Result;
use homing_report::plots::{Page, Plot, Section, Size};

use super::line::{SITUATIONS, world};

const ROUNDS: usize = 20;
/// Number of runs of the random rule that are averaged.
const RUNS: u64 = 40;
const RULES: [(&str, &str, &str); 5] = [
    ("itl", "itl", "ITL"),
    ("vtl", "vtl", "VTL"),
    ("ctl", "ctl", "CTL"),
    ("uncertainty", "unsa", "uncertainty"),
    ("random", "random", "random"),
];

pub fn page(seed: u64) -> Result<Page> {
    let mut plots = Vec::new();
    let names = RULES.iter().map(|(_, _, name)| (*name).to_owned());
    let mut table = vec![["", "floor"].map(str::to_owned).into_iter().chain(names).collect::<Vec<_>>()];
    for situation in &SITUATIONS {
        let world = world(situation)?;
        let size = Size { width: 420.0, height: 300.0, names: 76.0 };
        let mut plot = Plot::new(situation.name, "", size, [0.0, ROUNDS as f64], [0.0, 1.0], "labels");
        let floor = world.floor()?;
        plot.named_line("l floor", "floor η²", &[(0.0, floor), (ROUNDS as f64, floor)]);
        let mut row = vec![situation.name.to_owned(), format!("{floor:.3}")];
        for (rule, class, name) in RULES.into_iter().rev() {
            let runs = if rule == "random" { RUNS } else { 1 };
            let mut mean = [0.0; ROUNDS + 1];
            for run in 0..runs {
                let vars = world.mean_vars(&world.picks(rule, ROUNDS, seed + run)?)?;
                mean.iter_mut().zip(vars).for_each(|(mean, var)| *mean += var / runs as f64);
            }
            let points: Vec<(f64, f64)> = mean.iter().enumerate().map(|(n, &var)| (n as f64, var)).collect();
            plot.named_line(&format!("l {class}"), name, &points);
            row.insert(2, format!("{:.3}", mean[ROUNDS / 2]));
        }
        plots.push(plot.finished());
        table.push(row);
    }
    let note = format!(
        "Mean posterior variance of the targets on a line after each label; the table shows it after {} labels. The line of random is the mean of {RUNS} runs.",
        ROUNDS / 2
    );
    let section = Section {
        title: "Variance of the targets".into(),
        note,
        columns: 3,
        plots,
        keys: Vec::new(),
        table,
        ..Section::default()
    };
    Ok(Page::new(
        "Variance against rounds",
        "Directed rules approach the floor with a few labels; undirected rules spend labels on the whole pool.",
        vec![section],
    ))
}
