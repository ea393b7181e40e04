//! Checks of an experiment: values in range, no repetitions, and no options that the experiment itself sets.

use std::collections::HashSet;

use toml::{Table, Value};

use crate::error::{Fault, Remedy};
use crate::experiment::{Claim, Experiment, ExperimentLine, SeriesName, as_text};

/// Maximum number of runs of an experiment.
pub const MOST_CELLS: u64 = 10_000;

/// Maximum number of rounds of a run.
pub const MOST_ROUNDS: u64 = 1_000_000;

/// Options of `homing finetune` that an experiment sets itself, and what to do instead.
const RESERVED: [(&str, Remedy); 9] = [
    ("against", Remedy::Write("give each rule its own line")),
    ("seeds", Remedy::Write("write `seeds = NUMBER` at the top of the file")),
    ("seed", Remedy::GiveToRun("seed")),
    ("device", Remedy::GiveToRun("device")),
    ("run", Remedy::GiveToRun("out")),
    ("resume", Remedy::Write("run the same experiment again to continue it")),
    ("quiet", Remedy::GiveToRun("quiet")),
    ("cell", Remedy::Write("leave it out")),
    ("help", Remedy::Write("leave it out")),
];

type Result<T, E = Fault> = std::result::Result<T, E>;

/// Returns an error with a problem and its remedy.
macro_rules! refuse {
    ($write:literal, $($problem:tt)*) => {
        return Err(Fault::new(format!($($problem)*), $write))
    };
}

/// Refuses an experiment that cannot be run.
pub(crate) fn check(experiment: &Experiment) -> Result<()> {
    let missing = [
        (experiment.data.is_empty(), "data = [\"FILE\"]"),
        (experiment.seeds == 0, "seeds = NUMBER"),
        (experiment.lines.is_empty(), "a line"),
    ];
    if let Some((_, what)) = missing.into_iter().find(|(missing, _)| *missing) {
        refuse!("add it", "{what} is missing");
    }
    check_texts(experiment)?;
    check_arguments(&experiment.arguments, "[arguments]")?;
    if !experiment.arguments.contains_key("rounds") {
        refuse!("add it", "rounds = NUMBER is missing among the arguments");
    }
    check_seeds(experiment.seeds)?;
    if let Some(quick) = &experiment.quick {
        quick.seeds.map_or(Ok(()), check_seeds)?;
        check_arguments(&quick.arguments, "[quick]")?;
    }
    experiment.lines.iter().try_for_each(check_line)?;
    let mut names = HashSet::new();
    if let Some(line) = experiment.lines.iter().find(|line| !names.insert(&line.name)) {
        refuse!("give each line a different name", "two lines are called {:?}", line.name);
    }
    let series = experiment.series();
    let mut labels = HashSet::new();
    if let Some(twice) = series.iter().find(|series| !labels.insert(series.label())) {
        refuse!(
            "list each value once, and give each line a different name",
            "there are two series {:?}",
            twice.label()
        );
    }
    experiment.claims.iter().try_for_each(|claim| check_claim(claim, &series))
}

fn check_seeds(seeds: u64) -> Result<()> {
    if !(1..=MOST_CELLS).contains(&seeds) {
        refuse!("give a number from 1 to 10000", "seeds is {seeds}");
    }
    Ok(())
}

/// Refuses texts with control characters, which would disturb a terminal.
fn check_texts(experiment: &Experiment) -> Result<()> {
    let texts = [&experiment.title, &experiment.paper].into_iter().chain(&experiment.data).chain(&experiment.notes);
    let names = experiment.lines.iter().map(|line| &line.name).chain(experiment.claims.iter().map(|claim| &claim.says));
    if let Some(text) = texts.chain(names).find(|text| text.chars().any(char::is_control)) {
        refuse!("remove it", "the text {text:?} has a line break or another control character");
    }
    Ok(())
}

/// Escapes control characters, so that a message is one line.
pub(crate) fn printable(text: &str) -> String {
    let one = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.replace('\n', ", ").chars().map(one).collect()
}

fn check_arguments(arguments: &Table, place: &str) -> Result<()> {
    for (name, value) in arguments {
        check_name(name, place)?;
        check_value(name, value, place)?;
    }
    Ok(())
}

fn check_name(name: &str, place: &str) -> Result<()> {
    if let Some(&(_, remedy)) = RESERVED.iter().find(|(reserved, _)| *reserved == name) {
        let problem = format!("{place} contains {name:?}, but an experiment sets that option itself");
        return Err(Fault { problem, remedy });
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        let problem = format!("{name:?} in {place} is not the name of an argument");
        return Err(Fault { problem, remedy: Remedy::NameArgument });
    }
    Ok(())
}

fn check_value(name: &str, value: &Value, place: &str) -> Result<()> {
    let refuse =
        |write| Err(Fault::new(format!("{name} = {} in {place} is not allowed", printable(&as_text(value))), write));
    match value {
        Value::Integer(rounds) if name == "rounds" && !in_range(*rounds) => refuse("give a number from 1 to 1000000"),
        Value::Integer(_) => Ok(()),
        _ if name == "rounds" => refuse("give a number from 1 to 1000000"),
        Value::Float(number) if !number.is_finite() => refuse("give a finite number"),
        Value::Boolean(true) if name == "ask" => refuse(
            "leave it out, because nobody is asked while an experiment runs; `labels = \"FILE\"` gives labels from a file",
        ),
        Value::String(text) if text.chars().any(char::is_control) => refuse("remove the control characters"),
        Value::Array(_) => refuse("give a single value; only a line may have a list, which makes one series per value"),
        Value::Table(_) | Value::Datetime(_) => refuse("give a text, a number, true or false"),
        Value::String(_) | Value::Float(_) | Value::Boolean(_) => Ok(()),
    }
}

fn in_range(rounds: i64) -> bool {
    u64::try_from(rounds).is_ok_and(|rounds| (1..=MOST_ROUNDS).contains(&rounds))
}

fn check_line(line: &ExperimentLine) -> Result<()> {
    let name = &line.name;
    if name.is_empty() {
        refuse!("give it a name", "a line has an empty name");
    }
    let place = format!("line {name:?}");
    if line.varied().count() > 1 {
        refuse!("use a list for only one argument of a line", "{place} has two lists");
    }
    for (argument, value) in &line.arguments {
        check_name(argument, &place)?;
        match value {
            Value::Array(values) if values.is_empty() => {
                refuse!("give at least one value", "{argument} = [] in {place} is empty")
            }
            Value::Array(values) => values.iter().try_for_each(|value| check_value(argument, value, &place))?,
            value => check_value(argument, value, &place)?,
        }
    }
    let series = line.series().len();
    if !line.paper.is_empty() && line.paper.len() != series {
        refuse!(
            "give one result per series, or none",
            "{place} has {} results of the paper for {series} series",
            line.paper.len()
        );
    }
    if line.paper.iter().flatten().any(|figure| !figure.is_finite()) {
        refuse!("give finite numbers", "{place} has a result of the paper that is not finite");
    }
    Ok(())
}

fn check_claim(claim: &Claim, series: &[SeriesName]) -> Result<()> {
    let says = &claim.says;
    let known: Vec<String> = series.iter().map(SeriesName::label).collect();
    let pairs = [&claim.same, &claim.gap, &claim.than].into_iter().flatten().flatten();
    let named = claim.higher.iter().chain(&claim.lower).chain(pairs);
    if let Some(unknown) = named.into_iter().find(|name| !known.contains(*name)) {
        let near: Vec<String> =
            known.iter().filter(|label| label.starts_with(&format!("{unknown}, "))).cloned().collect();
        let choices = if near.is_empty() { known.join("\", \"") } else { near.join("\" or \"") };
        refuse!("correct the name", "the claim {says:?} names {unknown:?}, but the series are called \"{choices}\"");
    }
    if claim.every && claim.lower.len() < 2 {
        refuse!("leave it out", "the claim {says:?} says every, but names fewer than two lower lines");
    }
    let forms = [claim.same.is_some(), claim.higher.is_some(), claim.gap.is_some()];
    let halves = claim.higher.is_some() == claim.lower.is_empty() || claim.gap.is_some() != claim.than.is_some();
    if forms.into_iter().filter(|&form| form).count() != 1 || halves {
        refuse!("write one of the three", "the claim {says:?} needs either higher and lower, or same, or gap and than");
    }
    let is_twice = |pair: &Option<[String; 2]>| pair.as_ref().is_some_and(|[one, other]| one == other);
    let compares_itself = is_twice(&claim.same)
        || is_twice(&claim.gap)
        || is_twice(&claim.than)
        || claim.gap.is_some() && claim.gap == claim.than
        || claim.higher.as_ref().is_some_and(|higher| claim.lower.contains(higher));
    if compares_itself {
        refuse!("name two lines", "the claim {says:?} compares a line with itself");
    }
    let mut seen = HashSet::new();
    if let Some(twice) = claim.lower.iter().find(|name| !seen.insert(*name)) {
        refuse!("name it once", "the claim {says:?} names {twice:?} twice");
    }
    if !(claim.within.is_finite() && claim.within >= 0.0 && claim.times.is_finite() && claim.times > 0.0) {
        refuse!(
            "use 0 or more for within, and a number above 0 for times",
            "the claim {says:?} has a within or times that is out of range"
        );
    }
    Ok(())
}
