//! The study of the defaults: which rule, noise and preparation of the rows suit a classifier on the picks.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table};
use homing_experiment::study::{
    BASELINE, BUDGETS, CONDITIONS, PAPER, PROGRAM, SceneName, Score, StudyData, StudyRow, choose, held_out, read_study,
    run, scores, settings, worth_more_scenes, write_study,
};
use homing_pool::disk;

use crate::digits;
use crate::terminal::{self, Bar, plain_table};

/// Name of the study, and what it shows.
pub const STUDY: [&str; 2] =
    ["defaults", "Rule, noise and preparation of the rows: which are best for a classifier on the picks"];

/// Name of the table of results.
const TABLE: &str = "defaults.csv";

/// Number of draws of each scene; a quick study has one.
const DRAWS: u64 = 2;

/// Numbers of targets; a quick study has only the second.
const TARGETS: [usize; 3] = [3, 20, 100];

/// Number of settings that the table lists.
const LISTED: usize = 12;

/// How large a study is, and where its data and results are.
pub struct Extent<'a> {
    pub data: &'a Path,
    pub out: &'a Path,
    pub draws: Option<u64>,
    pub first_draw: u64,
    pub quick: bool,
    pub quiet: bool,
}

/// Runs the study on the built-in digits and on every data set of the folder.
pub fn study(extent: &Extent<'_>) -> Result<()> {
    disk::create_dir_all(extent.out).with_context(|| format!("{} cannot be created", extent.out.display()))?;
    let mut settings = settings(extent.quick);
    let draws = extent.draws.unwrap_or(if extent.quick { 1 } else { DRAWS });
    let targets = if extent.quick { &TARGETS[1..2] } else { &TARGETS[..] };
    let mut sets = StudyData::open_all(extent.data)?;
    if sets.iter().all(|set| set.name != "digits") {
        sets.insert(0, built_in());
    }
    let per_set = targets.len() * CONDITIONS.len();
    let bar = Bar::counting("scenes", sets.len() * draws as usize * per_set, extent.quiet);
    let mut rows: Vec<StudyRow> = Vec::new();
    let table = extent.out.join(TABLE);
    for draw in extent.first_draw..extent.first_draw + draws {
        for set in &sets {
            let names = targets.iter().flat_map(|&targets| {
                let data = set.name.clone();
                CONDITIONS.map(|condition| SceneName {
                    data: data.clone(),
                    draw,
                    targets,
                    condition: condition.to_string(),
                })
            });
            rows.extend(run(set, names.collect(), &settings)?);
            bar.inc(per_set);
            write_study(&table, &rows)?;
        }
        settings = worth_more_scenes(&rows, settings);
    }
    bar.finish();
    print(&rows)?;
    writeln!(terminal::stdout(), "The results are in {}.", table.display())?;
    Ok(())
}

/// Prints the results of a study that ran before.
pub fn compare(out: &Path) -> Result<()> {
    print(&read_study(&out.join(TABLE))?)
}

fn built_in() -> StudyData {
    let digits = digits::load();
    let labels: Vec<String> = digits.labels.iter().map(ToString::to_string).collect();
    let dim = digits.pixels.len() / labels.len();
    StudyData::new("digits", dim, digits.pixels.iter().map(|pixel| pixel / 16.0).collect(), &labels)
}

fn print(rows: &[StudyRow]) -> Result<()> {
    let mut out = terminal::stdout();
    let scores = scores(rows);
    let named = |score: &&Score| [BASELINE, "cosine", "random", PROGRAM, PAPER].contains(&&*score.setting);
    let mut shown: Vec<&Score> = scores.iter().take(LISTED).collect();
    shown.extend(scores.iter().skip(LISTED).filter(named));
    writeln!(out, "Accuracy in percent after {BUDGETS:?} picks, and points against {BASELINE}:\n")?;
    writeln!(out, "{}\n", table_of(&shown))?;
    let program = scores.iter().find(|score| score.setting == PROGRAM);
    let paper = scores.iter().find(|score| score.setting == PAPER);
    if let (Some(program), Some(paper)) = (program, paper) {
        writeln!(out, "Points against {BASELINE}, with the defaults of the program and with those of the paper:\n")?;
        writeln!(out, "{}\n", parts_of(program, paper))?;
    }
    for held in held_out(rows) {
        writeln!(
            out,
            "Chosen without {}: {}; on {0} it is {:+.1} points against {BASELINE}.",
            held.data, held.setting, held.difference
        )?;
    }
    if let Some(choice) = choose(rows) {
        let (score, best) = (&choice.score, &choice.best);
        let why = if score.setting == best.setting {
            String::from("it is best in the mean of the average difference and that on its worst data set")
        } else {
            format!("it comes first among those within a standard error of the best, {}", best.setting)
        };
        writeln!(
            out,
            "Chosen on {} scenes: {} ({:+.1} ± {:.1} points on average, {:+.1} on {}), because {why}.",
            choice.scenes, score.setting, score.mean, score.error, score.worst.1, score.worst.0
        )?;
    }
    Ok(())
}

fn table_of(scores: &[&Score]) -> Table {
    let mut table = plain_table();
    let mut header = vec!["setting".to_owned()];
    header.extend(BUDGETS.map(|budget| budget.to_string()));
    header.extend(["mean".to_owned(), "worst data set".to_owned()]);
    table.set_header(header);
    for score in scores {
        let mut cells = vec![score.setting.clone()];
        cells.extend(score.accuracies.iter().map(|accuracy| format!("{accuracy:.1}")));
        cells.push(format!("{:+.1} ± {:.1}", score.mean, score.error));
        cells.push(format!("{:+.1} {}", score.worst.1, score.worst.0));
        table.add_row(cells);
    }
    align_numbers(&mut table);
    table
}

fn parts_of(program: &Score, paper: &Score) -> Table {
    let mut table = plain_table();
    table.set_header(["scenes", "program", "paper"]);
    let mut add = |name: String, one: Option<&f64>, other: Option<&f64>| {
        let points = |x: Option<&f64>| x.map_or_else(String::new, |x| format!("{x:+.1}"));
        table.add_row([name, points(one), points(other)]);
    };
    add_all(&program.by_data, &paper.by_data, String::clone, &mut add);
    add_all(&program.by_condition, &paper.by_condition, String::clone, &mut add);
    add_all(&program.by_targets, &paper.by_targets, |count| format!("{count} targets"), &mut add);
    let named = |(data, count): &(String, usize)| format!("{data}, {count} targets");
    add_all(&program.by_data_and_targets, &paper.by_data_and_targets, named, &mut add);
    align_numbers(&mut table);
    table
}

fn add_all<K: Ord>(
    one: &BTreeMap<K, f64>,
    other: &BTreeMap<K, f64>,
    name: impl Fn(&K) -> String,
    add: &mut impl FnMut(String, Option<&f64>, Option<&f64>),
) {
    for (key, value) in one {
        add(name(key), Some(value), other.get(key));
    }
}

fn align_numbers(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
