//! What a plan may say: nothing that is out of range, there twice, or an experiment's own to say.

use std::collections::HashSet;

use anyhow::{Result, bail};
use toml::{Table, Value};

use super::plan::{Claim, Line, Plan, Series, shown};

/// Runs that an experiment may have.
pub const MOST_CELLS: u64 = 10_000;

/// Rounds that a run may have.
pub const MOST_ROUNDS: u64 = 1_000_000;

/// Options of `homing finetune` that an experiment gives itself, and how to say there what they would say.
const OWN: [(&str, &str); 9] = [
    ("against", "give every rule a line of its own"),
    ("seeds", "write `seeds = NUMBER` at the top of the file"),
    ("seed", "give --seed to `homing experiment run`"),
    ("device", "give --device to `homing experiment run`"),
    ("run", "give --out to `homing experiment run`"),
    ("resume", "run the same experiment again to go on with it"),
    ("quiet", "give --quiet to `homing experiment run`"),
    ("cell", "leave it out"),
    ("help", "leave it out"),
];

/// Refuses a plan that cannot be run as it says.
pub fn check(plan: &Plan) -> Result<()> {
    let missing = [
        (plan.data.is_empty(), "data = [\"FILE\"]"),
        (plan.seeds == 0, "seeds = NUMBER"),
        (plan.lines.is_empty(), "a line"),
    ];
    if let Some((_, what)) = missing.into_iter().find(|(missing, _)| *missing) {
        bail!("it needs {what}");
    }
    check_texts(plan)?;
    check_arguments(&plan.arguments, "[arguments]")?;
    if !plan.arguments.contains_key("rounds") {
        bail!("it needs rounds = NUMBER among its arguments");
    }
    check_seeds(plan.seeds)?;
    if let Some(quick) = &plan.quick {
        quick.seeds.map_or(Ok(()), check_seeds)?;
        check_arguments(&quick.arguments, "[quick]")?;
    }
    plan.lines.iter().try_for_each(check_line)?;
    let mut names = HashSet::new();
    if let Some(line) = plan.lines.iter().find(|line| !names.insert(&line.name)) {
        bail!("two lines are called {:?}; give each a name of its own", line.name);
    }
    let series = plan.series();
    let mut labels = HashSet::new();
    if let Some(twice) = series.iter().find(|series| !labels.insert(series.label())) {
        bail!("{:?} is there twice; give every value once, and lines other names", twice.label());
    }
    plan.claims.iter().try_for_each(|claim| check_claim(claim, &series))
}

fn check_seeds(seeds: u64) -> Result<()> {
    if !(1..=MOST_CELLS).contains(&seeds) {
        bail!("seeds is {seeds}; give a number from 1 to {MOST_CELLS}");
    }
    Ok(())
}

/// Texts that are printed do not move the cursor of a terminal.
fn check_texts(plan: &Plan) -> Result<()> {
    let texts = [&plan.title, &plan.paper].into_iter().chain(&plan.data).chain(&plan.notes);
    let names = plan.lines.iter().map(|line| &line.name).chain(plan.claims.iter().map(|claim| &claim.says));
    if let Some(text) = texts.chain(names).find(|text| text.chars().any(char::is_control)) {
        bail!("the text {text:?} has a line break or another control character; write it without");
    }
    Ok(())
}

/// Control characters as their escapes, so that a message is one line.
pub fn printable(text: &str) -> String {
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
    if let Some((_, remedy)) = OWN.iter().find(|(own, _)| *own == name) {
        bail!("{name:?} stands in {place}, but an experiment gives that option itself; {remedy}");
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        bail!("{name:?} in {place} is no option of `homing finetune`; `homing finetune --help` lists them");
    }
    Ok(())
}

fn check_value(name: &str, value: &Value, place: &str) -> Result<()> {
    let refuse = |why: &str| bail!("{name} = {} in {place}: {why}", printable(&shown(value)));
    match value {
        Value::Integer(rounds) if name == "rounds" && !in_range(*rounds) => {
            refuse(&format!("give a number from 1 to {MOST_ROUNDS}"))
        }
        Value::Integer(_) => Ok(()),
        _ if name == "rounds" => refuse(&format!("give a number from 1 to {MOST_ROUNDS}")),
        Value::Float(number) if !number.is_finite() => refuse("give a finite number"),
        Value::String(text) if name == "labels" && text == "ask" => {
            refuse("nobody is asked while an experiment runs; name a file of labels, or leave it out")
        }
        Value::String(text) if text.chars().any(char::is_control) => refuse("write it without control characters"),
        Value::Array(_) => refuse("a list stands in a line, where it makes a series of each value"),
        Value::Table(_) | Value::Datetime(_) => refuse("give a text, a number, true or false"),
        Value::String(_) | Value::Float(_) | Value::Boolean(_) => Ok(()),
    }
}

fn in_range(rounds: i64) -> bool {
    u64::try_from(rounds).is_ok_and(|rounds| (1..=MOST_ROUNDS).contains(&rounds))
}

fn check_line(line: &Line) -> Result<()> {
    let name = &line.name;
    if name.is_empty() {
        bail!("a line has an empty name; give it one");
    }
    let place = format!("line {name:?}");
    if line.varied().count() > 1 {
        bail!("{place} has two lists; one argument of a line can vary");
    }
    for (argument, value) in &line.arguments {
        check_name(argument, &place)?;
        match value {
            Value::Array(values) if values.is_empty() => bail!("{argument} = [] in {place}: give at least one value"),
            Value::Array(values) => values.iter().try_for_each(|value| check_value(argument, value, &place))?,
            value => check_value(argument, value, &place)?,
        }
    }
    let series = line.series().len();
    if !line.paper.is_empty() && line.paper.len() != series {
        bail!("{place} has {} figures of the paper for {series} series; give one for each, or none", line.paper.len());
    }
    if line.paper.iter().flatten().any(|figure| !figure.is_finite()) {
        bail!("{place} has a figure of the paper that is not finite; give finite numbers");
    }
    Ok(())
}

fn check_claim(claim: &Claim, series: &[Series]) -> Result<()> {
    let says = &claim.says;
    let known: Vec<String> = series.iter().map(Series::label).collect();
    let named = claim.higher.iter().chain(&claim.lower).chain(claim.same.iter().flatten());
    if let Some(unknown) = named.into_iter().find(|name| !known.contains(*name)) {
        let near = known.iter().filter(|label| label.starts_with(&format!("{unknown}, "))).cloned();
        let near = near.collect::<Vec<_>>().join("\" or \"");
        let near = if near.is_empty() { known.join("\", \"") } else { near };
        bail!("the claim {says:?} names {unknown:?}, which is no line; name \"{near}\"");
    }
    if claim.same.is_some() == claim.higher.is_some() || claim.higher.is_some() == claim.lower.is_empty() {
        bail!("the claim {says:?} needs either higher and lower, or same");
    }
    let itself = claim.same.as_ref().is_some_and(|[one, other]| one == other)
        || claim.higher.as_ref().is_some_and(|higher| claim.lower.contains(higher));
    if itself {
        bail!("the claim {says:?} compares a line with itself; name two");
    }
    let mut seen = HashSet::new();
    if let Some(twice) = claim.lower.iter().find(|name| !seen.insert(*name)) {
        bail!("the claim {says:?} names {twice:?} twice; name it once");
    }
    if !(claim.within.is_finite() && claim.within >= 0.0 && claim.times.is_finite() && claim.times > 0.0) {
        bail!(
            "the claim {says:?} has within or times that is no number to compare by; give within 0 or more, times above 0"
        );
    }
    Ok(())
}
