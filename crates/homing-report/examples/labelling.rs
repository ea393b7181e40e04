//! Draws `docs/images/labelling.svg`, the accuracy after some answers by each rule, from the table that `bench/labelling.py` writes:
//! `cargo run --release -p homing-report --example labelling < docs/results/labelling/curves.csv > docs/images/labelling.svg`.

use std::io::read_to_string;

use homing_report::Figure;
use homing_report::plots::{Plot, Size, key};

const SIZE: Size = Size { width: 330.0, height: 250.0, names: 0.0 };

/// Rules of the table and the class of their lines.
const RULES: [(&str, &str); 5] =
    [("itl", "itl"), ("ctl", "ctl"), ("nearest-each", "badge"), ("uncertainty", "density"), ("random", "random")];

struct Row<'a> {
    panel: (&'a str, &'a str),
    rule: &'a str,
    answers: f64,
    accuracy: f64,
    error: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = read_to_string(std::io::stdin())?;
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines().skip(1) {
        let [data, pool, rule, answers, accuracy, error] = line.split(',').collect::<Vec<_>>()[..] else {
            return Err(format!("this line does not have six fields: {line}").into());
        };
        rows.push(Row {
            panel: (data, pool),
            rule,
            answers: answers.parse()?,
            accuracy: accuracy.parse()?,
            error: error.parse()?,
        });
    }
    let most = rows.iter().map(|row| row.answers).fold(0.0, f64::max);
    let mut panels: Vec<(&str, &str)> = Vec::new();
    for row in &rows {
        if !panels.contains(&row.panel) {
            panels.push(row.panel);
        }
    }
    let plot = |&(data, pool): &(&str, &str)| {
        let mut plot = Plot::new(&format!("{data}, {pool}"), "", SIZE, [0.0, most], [0.0, 100.0], "answers");
        for (rule, class) in RULES {
            let of_rule = || rows.iter().filter(|row| row.panel == (data, pool) && row.rule == rule);
            let band: Vec<_> =
                of_rule().map(|row| (row.answers, row.accuracy - row.error, row.accuracy + row.error)).collect();
            let line: Vec<_> = of_rule().map(|row| (row.answers, row.accuracy)).collect();
            plot.band(&format!("shade {class}"), &band).line(&format!("l {class}"), &line);
        }
        plot
    };
    let figure = Figure {
        title: "Accuracy on the task after some answers, %".into(),
        keys: RULES.iter().map(|(rule, class)| key(&format!("l {class}"), rule)).collect(),
        plots: panels.iter().map(plot).collect(),
        notes: vec![
            "Six tasks of five classes with twenty unlabelled targets. Shaded: one standard error of the mean over the tasks. \
             A row of another class is answered with “not my task”."
                .into(),
        ],
    };
    print!("{}", figure.render()?);
    Ok(())
}
