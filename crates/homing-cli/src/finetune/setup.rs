//! Data and task of a run: what is chosen from, for whom, and what the result is measured on.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use homing_data::{Data, Dataset, Inputs};
use homing_train::models::efficientnet::{Design, EfficientNet};
use homing_train::{Examples, Known, Labelled, Learner, Oracle, Pick, Problem, Round, device, models, read_weights};
use rand::SeedableRng;
use rand::seq::{SliceRandom, index};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::Asked;
use super::filed::{self, Filed, some_of};
use super::open::{maps, open_data, open_targets, trunk};
use super::person::{self, Person};

#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(next_help_heading = "Task")]
pub struct TaskArguments {
    /// Examples of the task, in any form that DATA may have; their labels are not looked at.
    #[arg(long, value_name = "DATA")]
    pub targets: Option<PathBuf>,
    /// Classes of the task; the network learns to tell these apart.
    #[arg(long, value_name = "CLASSES", value_delimiter = ',', value_parser = trimmed)]
    pub task: Option<Vec<String>>,
    /// Targets drawn from held-out examples of the task, where no --targets are given; by default 30, or a third where there
    /// are fewer than 90.
    #[arg(long, value_name = "COUNT")]
    pub target_count: Option<usize>,
    /// Most validation examples, which are at most half of the held-out ones of the task.
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    valid_count: usize,
    /// Most test examples.
    #[arg(long, value_name = "COUNT", default_value_t = 2000)]
    test_count: usize,
    /// Most rows of the pool, a random sample that is the same for every seed.
    #[arg(long, value_name = "COUNT")]
    pub pool_count: Option<usize>,
    /// Leave out a share of some classes of the pool, such as 3:0.8,6:0.8.
    #[arg(long, value_name = "CLASS:SHARE", value_delimiter = ',', value_parser = thinned)]
    pub thin_pool: Vec<(String, f64)>,
    /// Leave out a share of some classes of what the targets are drawn from.
    #[arg(long, value_name = "CLASS:SHARE", value_delimiter = ',', value_parser = thinned)]
    pub thin_targets: Vec<(String, f64)>,
}

impl TaskArguments {
    /// What the task is, for a page.
    pub fn words(&self) -> String {
        let classes =
            self.task.as_ref().map_or_else(|| "all classes".into(), |task| format!("classes {}", task.join(", ")));
        match &self.targets {
            Some(path) => format!("The task is {classes}, with the targets in {}.", path.display()),
            None => format!("The task is {classes}."),
        }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "a parser of clap's may fail")]
fn trimmed(text: &str) -> Result<String, String> {
    Ok(text.trim().to_owned())
}

fn thinned(text: &str) -> Result<(String, f64), String> {
    let parts = text.rsplit_once(':').and_then(|(class, share)| Some((class, share.parse::<f64>().ok()?)));
    match parts {
        Some((class, share)) if (0.0..=1.0).contains(&share) => Ok((class.to_owned(), share)),
        _ => Err("write a class and a share between 0 and 1, such as 3:0.8".into()),
    }
}

/// Targets where their number is not given.
const TARGETS: usize = 30;
/// Share of a set without a test part that is held out.
const HELD_OUT: usize = 5;

/// The examples themselves, or what a frozen trunk makes of them.
struct Shown {
    train: Inputs,
    test: Option<Inputs>,
    targets: Option<Inputs>,
}

/// What kind of network learns.
enum Kind {
    /// One that is named and drawn.
    Named(String),
    /// The last block of an EfficientNet.
    LastBlock(Box<EfficientNet>),
}

pub struct Setup {
    pub data: Data,
    targets: Option<Dataset>,
    /// What the network is shown of the three.
    shown: Shown,
    net: Kind,
    /// The network's class of every class of the data.
    classes: Vec<Option<u32>>,
    /// Labels that a file gives the pool's rows.
    labels: Option<Vec<Option<u32>>>,
}

impl Setup {
    pub fn open(asked: &Asked) -> Result<Self> {
        let options = asked.open.options();
        let mut data = open_data(asked.data(), &options)?;
        if asked.choosing.labels == "data" && data.train.labels.iter().all(Option::is_none) {
            bail!(
                "the data have no labels; name them with --label-column or --label-file, or label as you go with --labels ask"
            );
        }
        let targets = asked.task.targets.as_deref().map(|path| open_targets(path, &options)).transpose()?;
        if let Some(targets) = &targets
            && targets.inputs.shape() != data.train.inputs.shape()
        {
            bail!(
                "the targets have the shape {:?} but the pool has {:?}; bring both into the same",
                targets.inputs.shape(),
                data.train.inputs.shape()
            );
        }
        if targets.is_none() && asked.task.task.is_none() {
            bail!("what is the task? Give examples of it with --targets, or its classes with --task");
        }
        if data.train.classes.is_empty() {
            data.train.classes = named(asked)?;
        }
        if asked.choosing.labels == "ask" {
            person::check_names(&data.train.classes)?;
        }
        let classes = classes(&data.train.classes, asked.task.task.as_deref())?;
        let labels = match asked.choosing.labels.as_str() {
            "data" | "ask" => None,
            file => Some(filed::labels(Path::new(file), &data.train)?),
        };
        if let Some(count) = asked.task.pool_count.filter(|&count| count < data.train.len()) {
            if labels.is_some() {
                bail!("a file of labels is for the whole pool; leave --pool-count out, or cut the pool's own files");
            }
            data.train = data.train.subset(&sample(data.train.len(), count))?;
        }
        if let Some(test) = &mut data.test {
            // Nothing else of it is looked at, and a trunk takes its time for every image.
            let ours = |row: &usize| test.labels[*row].is_some_and(|label| classes[label as usize].is_some());
            *test = test.subset(&(0..test.len()).filter(ours).collect::<Vec<_>>())?;
        }
        let (net, shown) = shown(asked, &data, targets.as_ref())?;
        Ok(Self { data, targets, shown, net, classes, labels })
    }

    /// All that [`Self::open`] looks at: runs for which it is the same have the same setup.
    pub fn looked_at(asked: &Asked) -> String {
        let (task, learning) = (&asked.task, &asked.learning);
        let examples = (&asked.data, &asked.open, &task.targets, &task.task, task.pool_count, &asked.choosing.labels);
        format!("{:?}", (examples, &learning.model, &learning.weights, &learning.device))
    }

    /// Hashes of the examples with their classes and ids, and of the weights that the network starts from.
    pub fn fingerprint(&self, asked: &Asked) -> Result<Vec<String>> {
        let parts =
            [("pool", Some(&self.data.train)), ("test", self.data.test.as_ref()), ("targets", self.targets.as_ref())];
        let of = |(name, part): (&str, Option<&Dataset>)| {
            let hash = |part: &Dataset| {
                let inputs = part.inputs.fingerprint(&(0..part.len()).collect::<Vec<_>>())?;
                Ok(format!("{name} {inputs}-{}", short(&(&part.labels, &part.classes, &part.ids))))
            };
            part.map(hash)
        };
        let mut hashes: Vec<String> = parts.into_iter().filter_map(of).collect::<Result<_>>()?;
        if let Some(path) = &asked.learning.weights {
            hashes.push(format!("weights {}", blake3::hash(&homing_pool::map(path)?)));
        }
        Ok(hashes)
    }

    /// A hash of the labels that a file gives, which may grow while a run is interrupted.
    pub fn label_hash(&self) -> Option<String> {
        self.labels.as_ref().map(short)
    }

    /// Refuses rounds whose labels are not those of the data, where the data label.
    pub fn check_labels(&self, asked: &Asked, rounds: &[Round]) -> Result<()> {
        let known = &self.data.train.labels;
        let picks = rounds.iter().flat_map(|round| round.picks.iter().map(|pick| (round.round, pick)));
        let other = |(_, pick): &(usize, &Pick)| pick.label.is_some() && pick.label != known[pick.row];
        match picks.into_iter().find(other) {
            Some((round, pick)) if asked.choosing.labels == "data" => bail!(
                "the record of round {round} has another label for row {} than the data; restore it, or start anew",
                pick.row
            ),
            _ => Ok(()),
        }
    }

    pub fn oracle<'a>(&'a self, asked: &'a Asked) -> Box<dyn Oracle + 'a> {
        match &self.labels {
            None if asked.choosing.labels == "ask" => {
                Box::new(Person { data: &self.data.train, classes: &self.classes })
            }
            None => Box::new(Known(&self.data.train.labels)),
            Some(labels) => Box::new(Filed { labels, ids: &self.data.train.ids, file: &asked.choosing.labels }),
        }
    }

    /// What the network is called.
    pub fn network(&self) -> String {
        match &self.net {
            Kind::Named(name) => name.clone(),
            Kind::LastBlock(net) => net.name().into(),
        }
    }

    /// Adam's learning rate where none is given: a layer alone can take longer steps.
    pub fn rate(&self) -> f64 {
        match &self.net {
            Kind::Named(name) if name == "linear" => 0.03,
            Kind::Named(name) if name.starts_with("mlp") => 0.01,
            _ => 1e-3,
        }
    }

    pub fn learner(&self, asked: &Asked) -> Result<Box<dyn Learner>> {
        let outputs = self.classes.iter().flatten().count();
        let device = device(&asked.learning.device)?;
        let name = match &self.net {
            Kind::LastBlock(net) => return Ok(models::last_block(net, outputs, &device)),
            Kind::Named(name) => name,
        };
        let mut learner = models::network(name, self.data.train.inputs.shape(), outputs, &device)?;
        if let Some(path) = &asked.learning.weights {
            learner.start_from(read_weights(path)?)?;
        }
        Ok(learner)
    }

    /// Whether a row of the pool is of the task; none where its label is not known, or all classes are of the task.
    pub fn in_task(&self, row: usize) -> Option<bool> {
        self.data.train.labels[row]
            .filter(|_| self.classes.contains(&None))
            .map(|label| self.classes[label as usize].is_some())
    }

    /// Targets, validation and test examples of a seed.
    pub fn split(&self, asked: &Asked, seed: u64) -> Result<Split<'_>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let train = &self.data.train;
        let mut open: Vec<usize> = (0..train.inputs.len()).collect();
        let (held, mut rows): (&Dataset, Vec<usize>) = if let Some(test) = &self.data.test {
            (test, (0..test.inputs.len()).collect())
        } else {
            open.shuffle(&mut rng);
            (train, open.split_off(open.len() - open.len() / HELD_OUT))
        };
        open.sort_unstable();
        let out = left_out(train, &open, &asked.task.thin_pool, &mut rng)?;
        open.retain(|row| !out.contains(row));
        rows.retain(|&row| held.labels[row].is_some_and(|label| self.classes[label as usize].is_some()));
        rows.shuffle(&mut rng);
        let half = rows.len() / 2;
        let mut rest = rows.split_off(half.min(asked.task.valid_count));
        let out = left_out(held, &rest, &asked.task.thin_targets, &mut rng)?;
        // Targets come from the front.
        rest.sort_by_key(|row| out.contains(row));
        let fit = rest.len() - out.len();
        let count = asked.task.target_count.unwrap_or_else(|| TARGETS.min(fit / 3).max(1));
        let shown = self.shown.test.as_ref().unwrap_or(&self.shown.train);
        let targets = if let Some(targets) = &self.shown.targets {
            (targets, (0..targets.len()).collect())
        } else if count == 0 || count > fit || count == rest.len() {
            bail!(
                "--target-count {count} is not between 1 and {}: {fit} held-out examples of the task are left for targets and \
                 tests; choose another count, or give --targets",
                fit.min(rest.len().saturating_sub(1))
            )
        } else {
            (shown, rest.drain(..count).collect())
        };
        rest.shuffle(&mut rng);
        rest.truncate(asked.task.test_count);
        let part = |rows| Part::new(self, held, shown, rows);
        Ok(Split { setup: self, open, targets, valid: part(rows), test: part(rest) })
    }
}

/// A hash of lists of numbers and names.
fn short(lists: &impl Serialize) -> String {
    let text = serde_json::to_vec(lists).expect("numbers and names");
    blake3::hash(&text).to_hex()[..16].to_owned()
}

/// So many of the first `all` numbers, in ascending order.
fn sample(all: usize, count: usize) -> Vec<usize> {
    let mut rows = index::sample(&mut ChaCha8Rng::seed_from_u64(0), all, count).into_vec();
    rows.sort_unstable();
    rows
}

/// Rows that a share of some classes is, drawn at random.
fn left_out(data: &Dataset, rows: &[usize], thin: &[(String, f64)], rng: &mut ChaCha8Rng) -> Result<HashSet<usize>> {
    let mut out = HashSet::new();
    for (name, share) in thin {
        let Some(class) = data.classes.iter().position(|known| known == name) else {
            bail!("there is no class {name:?} to leave out; the data have {}", some_of(&data.classes));
        };
        let mut members: Vec<usize> =
            rows.iter().copied().filter(|&row| data.labels[row] == Some(class as u32)).collect();
        members.shuffle(rng);
        members.truncate((share * members.len() as f64).round() as usize);
        out.extend(members);
    }
    Ok(out)
}

/// Data of one seed.
pub struct Split<'a> {
    setup: &'a Setup,
    pub open: Vec<usize>,
    targets: (&'a Inputs, Vec<usize>),
    valid: Part<'a>,
    pub test: Part<'a>,
}

impl Split<'_> {
    pub fn problem(&self) -> Problem<'_> {
        Problem {
            pool: &self.setup.shown.train,
            open: &self.open,
            targets: Examples { inputs: self.targets.0, rows: &self.targets.1 },
            classes: &self.setup.classes,
            valid: self.valid.labelled(),
            test: self.test.labelled(),
        }
    }

    pub fn in_task(&self, row: usize) -> Option<bool> {
        self.setup.in_task(row)
    }
}

/// Labelled examples.
pub struct Part<'a> {
    inputs: &'a Inputs,
    pub rows: Vec<usize>,
    labels: Vec<u32>,
}

impl<'a> Part<'a> {
    fn new(setup: &Setup, data: &Dataset, inputs: &'a Inputs, rows: Vec<usize>) -> Self {
        let label = |&row: &usize| data.labels[row].and_then(|label| setup.classes[label as usize]);
        let labels = rows.iter().filter_map(label).collect();
        Self { inputs, rows, labels }
    }

    fn labelled(&self) -> Option<Labelled<'_>> {
        let examples = Examples { inputs: self.inputs, rows: &self.rows };
        (!self.rows.is_empty()).then_some(Labelled { examples, labels: &self.labels })
    }
}

/// The network that was asked for, and what it is shown.
fn shown(asked: &Asked, data: &Data, targets: Option<&Dataset>) -> Result<(Kind, Shown)> {
    let images = data.train.inputs.shape().len() == 3;
    let name = asked.learning.model.as_deref().unwrap_or(if images { "cnn" } else { "linear" });
    let Some(design) = Design::named(name) else {
        let same = |part: &Dataset| part.inputs.clone();
        let shown = Shown { train: same(&data.train), test: data.test.as_ref().map(same), targets: targets.map(same) };
        return Ok((Kind::Named(name.into()), shown));
    };
    let Some(weights) = &asked.learning.weights else {
        bail!("{name} needs its weights; give them with --weights, as safetensors");
    };
    let net = EfficientNet::open(weights, design)?;
    let trunk = trunk(&net, &asked.learning.device)?;
    let maps = |part: &Dataset| maps(&trunk, &part.inputs, false);
    let shown = Shown {
        train: maps(&data.train)?,
        test: data.test.as_ref().map(maps).transpose()?,
        targets: targets.map(maps).transpose()?,
    };
    Ok((Kind::LastBlock(Box::new(net)), shown))
}

/// Classes of data without any: those of the task, or those that a file of labels names.
fn named(asked: &Asked) -> Result<Vec<String>> {
    let mut names = asked.task.task.clone().unwrap_or_default();
    if asked.choosing.labels != "ask" {
        names.extend(filed::names(Path::new(&asked.choosing.labels))?);
    }
    if names.is_empty() {
        bail!("the data have no labels, so no classes either; give those that you will label with as --task CLASSES");
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// The classes of the task numbered in the order of their names in the data; without a task all of them.
fn classes(names: &[String], task: Option<&[String]>) -> Result<Vec<Option<u32>>> {
    if let Some(unknown) = task.into_iter().flatten().find(|name| !names.contains(name)) {
        bail!("there is no class {unknown:?}; the data have {}", some_of(names));
    }
    let wanted = |name: &&String| task.is_none_or(|task| task.contains(name));
    let ours: Vec<&String> = names.iter().filter(wanted).collect();
    if let [only] = ours[..] {
        bail!(
            "{only:?} is the only class, and a network learns to tell classes apart; name two or more with --task, or give data with more"
        );
    }
    let number = |name: &String| ours.iter().position(|&own| own == name).map(|at| at as u32);
    Ok(names.iter().map(number).collect())
}
