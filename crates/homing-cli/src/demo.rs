//! `homing demo`: chooses from handwritten digits that are part of the program, and compares the rules.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use homing::{Embeddings, Gaussian, Kernel, Plan, Selection, Task, select};
use homing_pool::{check_writable, write_beside};
use homing_report::plots::Section;
use homing_report::{self as report, Contender, PickPicture, Provenance, Report, RowDetails, RuleCurve, Thumbnail};

use crate::digits::{self, Digits};
use crate::terminal::{self, grouped, peak_memory_bytes, plain_table};

const TASK: [u8; 3] = [3, 6, 9];
const RULES: [&str; 5] = ["itl", "ctl", "nearest-each", "cosine", "random"];
const TARGETS_PER_DIGIT: usize = 4;
const SPLITS: usize = 9;
/// Length scale of the kernel between images, whose pixels range from 0 to 1.
const LENGTH: f64 = 2.5;
const PIXELS: usize = 64;

const EXAMPLES: &str = "\
Examples:
  homing demo
  homing demo -n 50 --report demo.html
  homing demo --label";

#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Arguments {
    /// Number of digits to choose.
    #[arg(short = 'n', long, default_value_t = 20)]
    count: usize,
    /// File for the report, an HTML page.
    #[arg(long, value_name = "FILE", default_value = "homing-demo.html")]
    report: PathBuf,
    /// Seed for all random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Open a page in the browser on which to label the digits, instead of writing a report.
    #[cfg(feature = "label")]
    #[arg(long)]
    label: bool,
    #[cfg(feature = "label")]
    #[command(flatten)]
    page: crate::label::PageArguments,
    /// Folder of the labelling run, which the same command continues.
    #[cfg(feature = "label")]
    #[arg(long, value_name = "FOLDER", default_value = "homing-demo-labels", help_heading = "Page")]
    run: PathBuf,
}

/// Two thirds of the digits are the pool. Of the others, a few digits of the task are targets and the rest of the task is the
/// test set.
struct DigitSplit {
    pool: Vec<usize>,
    targets: Vec<usize>,
    test: Vec<usize>,
}

impl DigitSplit {
    /// Returns split `number` of [`SPLITS`]; splits differ in the third that is held out or in the targets drawn from it.
    fn new(digits: &Digits, number: usize) -> Self {
        let (third, offset) = (number % 3, number / 3 * TARGETS_PER_DIGIT);
        let (held_out, pool): (Vec<usize>, Vec<usize>) = (0..digits.labels.len()).partition(|i| i % 3 == third);
        let of_task = held_out.into_iter().filter(|&i| TASK.contains(&digits.labels[i]));
        let mut seen = [0; 10];
        let (targets, test) = of_task.partition(|&i| {
            let count = &mut seen[digits.labels[i] as usize];
            *count += 1;
            (offset..offset + TARGETS_PER_DIGIT).contains(&(*count - 1))
        });
        Self { pool, targets, test }
    }
}

fn gather(digits: &Digits, rows: &[usize]) -> Vec<f32> {
    rows.iter().flat_map(|&row| digits.pixels[PIXELS * row..PIXELS * (row + 1)].iter().map(|x| x / 16.0)).collect()
}

fn picture(digits: &Digits, row: usize) -> Thumbnail {
    Thumbnail::Digit(std::array::from_fn(|i| digits.pixels[PIXELS * row + i] as u8))
}

/// Opens the page for labelling the digits.
#[cfg(feature = "label")]
fn label(arguments: &Arguments) -> Result<()> {
    use homing_data::Inputs;
    use homing_label::{Contents, Examples, LabelData, Rows};
    let digits = digits::load();
    let parts = DigitSplit::new(&digits, 0);
    let examples = |rows: &[usize]| {
        let ids = rows.iter().map(|row| format!("digit {row}")).collect();
        let inputs = Inputs::pixels([1, 8, 8], enlarged(&digits, rows));
        let rows = Rows::Numbers { values: gather(&digits, rows), dim: PIXELS };
        Examples::new(ids, rows, Contents::Images { inputs, root: PathBuf::new() })
    };
    let kernel = Box::new(Gaussian::new(LENGTH)?);
    let (pool, targets) = (examples(&parts.pool), examples(&parts.targets));
    let data = LabelData::new("handwritten digits".into(), pool, Some(targets), kernel)?;
    let classes: Vec<String> = TASK.iter().map(u8::to_string).collect();
    crate::label::serve(&arguments.run, data, &classes, &"itl".parse()?, &arguments.page)
}

/// Returns the pixels of digits from 0 to 255, dark on light.
#[cfg(feature = "label")]
fn enlarged(digits: &Digits, rows: &[usize]) -> Vec<u8> {
    let pixels = |&row: &usize| &digits.pixels[PIXELS * row..PIXELS * (row + 1)];
    rows.iter().flat_map(pixels).map(|ink| 255 - (ink * 255.0 / 16.0) as u8).collect()
}

pub fn run(arguments: &Arguments) -> Result<()> {
    #[cfg(feature = "label")]
    if arguments.label {
        return label(arguments);
    }
    check_writable(&arguments.report)?;
    let start = Instant::now();
    let digits = digits::load();
    // Pixels are not learned embeddings, so distances say more than angles.
    let kernel = Gaussian::new(LENGTH)?;
    let reading = start.elapsed();

    let mut contenders: Vec<Vec<Contender>> = Vec::new();
    for number in 1..SPLITS {
        let parts = DigitSplit::new(&digits, number);
        let (pool, targets) = (gather(&digits, &parts.pool), gather(&digits, &parts.targets));
        let selections = choose(&task(&pool, &targets, &kernel)?, arguments)?;
        contenders.push(compare(&digits, &parts, &selections));
    }
    let parts = DigitSplit::new(&digits, 0);
    let (pool, targets) = (gather(&digits, &parts.pool), gather(&digits, &parts.targets));
    let task = task(&pool, &targets, &kernel)?;
    let selections = choose(&task, arguments)?;
    contenders.insert(0, compare(&digits, &parts, &selections));
    let comparison = mean(&contenders);
    let note = format!(
        "The numbers are means over {SPLITS} splits. Accuracy is that of the label of the nearest pick, on {} other images of 3, 6 \
         and 9.",
        parts.test.len()
    );
    print(&comparison, &note, &parts, arguments)?;

    let Choice { plan, selection, time } = &selections[0];
    let provenance = Provenance {
        pool_file: "handwritten digits, 8 × 8 pixels".into(),
        targets_file: Some("examples of 3, 6 and 9".into()),
        number_format: "f32".into(),
        noise_is_default: true,
        read_seconds: reading.as_secs_f64(),
        choose_seconds: time.as_secs_f64(),
        peak_memory_bytes: peak_memory_bytes(),
        ..Provenance::new(&task, plan, selection)
    };
    let details = RowDetails {
        id: &|row| format!("digit {}", parts.pool[row]),
        target_id: &|row| Some(format!("digit {}", parts.targets[row])),
        text: &|_| None,
        target_text: &|_| None,
        label: &|row| Some(digits.labels[parts.pool[row]].to_string()),
        group: &|_| None,
        thumbnail: &|row| Some(picture(&digits, parts.pool[row])),
        target_thumbnail: &|row| Some(picture(&digits, parts.targets[row])),
    };
    let mut report = Report::new(&task, selection, provenance, &details)?;
    report.title = "Which digits teach 3, 6 and 9?".into();
    report.comparison = comparison;
    report.comparison_note = note;
    report.others = selections[1..].iter().map(curve).collect();
    report.learning = learning(arguments.seed)?;
    let page = report::render(&report)?;
    write_beside(&arguments.report, |file| file.write_all(page.as_bytes()))?;
    writeln!(terminal::stdout(), "The report with the picked digits is in {}.", arguments.report.display())?;
    Ok(())
}

/// Fine-tunes a small network on the picks of itl and of random, three per round, and returns the learning curves.
#[cfg(feature = "train")]
fn learning(seed: u64) -> Result<Option<Section>> {
    use crate::finetune::{self, table_of};
    let mut spec = homing_train::RunSpec::new("digits");
    spec.task.classes = Some(TASK.map(|digit| digit.to_string()).to_vec());
    spec.task.target_count = Some(TASK.len() * TARGETS_PER_DIGIT);
    spec.choosing.picks_per_round = 3;
    spec.choosing.rounds = 10;
    spec.choosing.candidates = homing_train::Candidates::All;
    (spec.seed, spec.seeds) = (seed, 3);
    spec.check()?;
    let folder = tempfile::tempdir()?;
    let section = finetune::learning(&spec, folder.path())?;
    let mut out = terminal::stdout();
    writeln!(out, "Accuracy of a small network that is fine-tuned after every third pick:\n")?;
    let (table, typed) = (table_of(&section.table), finetune::typed(&spec));
    writeln!(out, "{table}\n\n{} `homing finetune {typed} --run RUN` does the same.", section.note)?;
    Ok(Some(section))
}

#[cfg(not(feature = "train"))]
#[allow(clippy::unnecessary_wraps, reason = "with networks it can fail")]
fn learning(_: u64) -> Result<Option<Section>> {
    Ok(None)
}

fn task<'a>(pool: &'a [f32], targets: &'a [f32], kernel: &'a dyn Kernel) -> Result<Task<'a>> {
    let targets = Embeddings::new(targets, PIXELS)?;
    Ok(Task::new(Embeddings::new(pool, PIXELS)?, targets).kernel(kernel))
}

/// The choice of one rule, and how long it took.
struct Choice {
    plan: Plan,
    selection: Selection,
    time: Duration,
}

fn choose(task: &Task<'_>, arguments: &Arguments) -> Result<Vec<Choice>> {
    RULES
        .iter()
        .map(|rule| {
            let plan = Plan::default().strategy(rule.parse()?).count(arguments.count).seed(arguments.seed);
            let start = Instant::now();
            let selection = select(task, &plan)?;
            Ok(Choice { plan, selection, time: start.elapsed() })
        })
        .collect()
}

fn compare(digits: &Digits, parts: &DigitSplit, choices: &[Choice]) -> Vec<Contender> {
    choices.iter().map(|choice| contender(digits, parts, choice)).collect()
}

/// Returns the contenders of the first split with the mean figures of all splits.
fn mean(splits: &[Vec<Contender>]) -> Vec<Contender> {
    let over = |rule: usize, figure: fn(&Contender) -> Option<f64>| {
        splits.iter().map(|split| figure(&split[rule])).sum::<Option<f64>>().map(|sum| sum / splits.len() as f64)
    };
    let one = |(rule, first): (usize, &Contender)| Contender {
        task_share: over(rule, |c| c.task_share),
        accuracy: over(rule, |c| c.accuracy),
        information: over(rule, |c| c.information),
        ..first.clone()
    };
    splits[0].iter().enumerate().map(one).collect()
}

fn print(comparison: &[Contender], note: &str, parts: &DigitSplit, arguments: &Arguments) -> Result<()> {
    let mut out = terminal::stdout();
    writeln!(
        out,
        "Task:     recognise the digits 3, 6 and 9.\n\
         Targets:  {} unlabelled examples of them.\n\
         Pool:     {} digits of all kinds, of which {} are chosen.\n",
        parts.targets.len(),
        grouped(parts.pool.len()),
        arguments.count
    )?;
    let mut table = plain_table();
    table.set_header(["rule", "picks from the task", "accuracy", "information"]);
    let percent = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share));
    for one in comparison {
        let information = one.information.map_or_else(String::new, |nats| format!("{nats:.1} nats"));
        table.add_row([one.rule.clone(), percent(one.task_share), percent(one.accuracy), information]);
    }
    writeln!(out, "{table}\n")?;
    writeln!(out, "{note}")?;
    Ok(())
}

fn contender(digits: &Digits, parts: &DigitSplit, Choice { plan, selection, .. }: &Choice) -> Contender {
    let picked: Vec<usize> = selection.rows().into_iter().map(|row| parts.pool[row]).collect();
    let in_task = |row: usize| TASK.contains(&digits.labels[row]);
    let hits = picked.iter().filter(|&&row| in_task(row)).count();
    Contender {
        rule: plan.strategy.name().into(),
        task_share: Some(hits as f64 / picked.len() as f64),
        accuracy: Some(accuracy(digits, &picked, &parts.test)),
        information: selection.picks.last().map(|pick| pick.information),
        first_picks: picked
            .iter()
            .take(12)
            .map(|&row| PickPicture { thumbnail: picture(digits, row), in_task: in_task(row) })
            .collect(),
    }
}

/// Returns the share of test digits whose nearest training digit has their label.
fn accuracy(digits: &Digits, train: &[usize], test: &[usize]) -> f64 {
    let pixels = |row: usize| &digits.pixels[PIXELS * row..PIXELS * (row + 1)];
    let distance = |a: usize, b: usize| -> f32 { pixels(a).iter().zip(pixels(b)).map(|(x, y)| (x - y).powi(2)).sum() };
    let right = |&&row: &&usize| {
        let nearest = train.iter().min_by(|&&a, &&b| distance(row, a).total_cmp(&distance(row, b)));
        nearest.is_some_and(|&near| digits.labels[near] == digits.labels[row])
    };
    test.iter().filter(right).count() as f64 / test.len() as f64
}

fn curve(Choice { plan, selection, .. }: &Choice) -> RuleCurve {
    RuleCurve {
        name: plan.strategy.name().into(),
        information: selection.picks.iter().map(|pick| pick.information).collect(),
        variance_left: selection.picks.iter().filter_map(|pick| pick.variance_left).collect(),
    }
}
