//! The command line of `homing finetune` that starts a given run.

use std::ffi::OsString;

use homing_train::{LabelSource, LessonEnd, RunSpec, Sigma};

/// Returns the arguments of a process; the data come last, after `--`.
pub fn words(spec: &RunSpec) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for (name, value) in options(spec) {
        let mut word = OsString::from(format!("--{name}"));
        if let Some(value) = value {
            word.push("=");
            word.push(value);
        }
        words.push(word);
    }
    words.extend(["--".into(), spec.data.path.clone().into()]);
    words
}

/// Returns the arguments as a person would type them.
pub fn typed(spec: &RunSpec) -> String {
    let word = |(name, value): (&str, Option<OsString>)| match value {
        Some(value) => format!(" --{name} {}", value.display()),
        None => format!(" --{name}"),
    };
    let options: String = options(spec).into_iter().map(word).collect();
    format!("{}{options}", spec.data.path.display())
}

/// Returns the options that differ from their defaults, and the seed.
fn options(spec: &RunSpec) -> Vec<(&'static str, Option<OsString>)> {
    let usual = RunSpec::new(spec.data.path.clone());
    let mut options = OptionList(Vec::new());
    let (data, task, own) = (&spec.data, &spec.task, &usual.task);
    options.given("size", data.size.as_ref());
    options.path("label-column", data.label_column.as_ref());
    options.path("embedding-column", data.embedding_column.as_ref());
    options.path("encoder", data.encoder.as_ref());
    options.path("text-column", data.text_column.as_ref());
    options.path("targets", task.targets.as_ref());
    options.path("task", task.classes.as_ref().map(|classes| classes.join(",")));
    options.given("target-count", task.target_count.as_ref());
    options.given("target-reserve", task.target_reserve.as_ref());
    options.other("valid-count", &task.valid_count, &own.valid_count);
    options.other("test-count", &task.test_count, &own.test_count);
    options.flag("test-on-valid", task.test_on_valid);
    options.given("pool-count", task.pool_count.as_ref());
    for (name, thin) in [("thin-pool", &task.thin_pool), ("thin-targets", &task.thin_targets)] {
        let shares: Vec<String> = thin.iter().map(|(class, share)| format!("{class}:{share}")).collect();
        options.path(name, (!shares.is_empty()).then(|| shares.join(",")));
    }
    let (choosing, own) = (&spec.choosing, &usual.choosing);
    options.other("rule", &spec.rule, &usual.rule);
    // Labels that come from people are not spent on comparisons.
    let usual_against = if spec.labels == LabelSource::Data { usual.against.clone() } else { Vec::new() };
    if spec.against != usual_against {
        let names: Vec<&str> = spec.against.iter().map(|rule| rule.name()).collect();
        options.path("against", Some(if names.is_empty() { "none".into() } else { names.join(",") }));
    }
    options.other("picks-per-round", &choosing.picks_per_round, &own.picks_per_round);
    options.other("random-start", &choosing.random_start, &own.random_start);
    options.flag("repeat", choosing.repeat);
    options.other("rounds", &choosing.rounds, &own.rounds);
    options.other("candidates", &choosing.candidates, &own.candidates);
    options.other("targets-per-round", &choosing.targets_per_round, &own.targets_per_round);
    options.other("embedding", &choosing.embedding, &own.embedding);
    options.other("sigma", &choosing.sigma, &own.sigma);
    options.given("noise-std", choosing.noise_std.as_ref());
    options.given("noise-share", choosing.noise_share.as_ref());
    if choosing.condition != (choosing.sigma == Sigma::Identity) {
        options.flag(if choosing.condition { "condition=true" } else { "condition=false" }, true);
    }
    match &spec.labels {
        LabelSource::Data => {}
        LabelSource::Person => options.flag("ask", true),
        LabelSource::File(path) => options.path("labels", Some(path)),
    }
    let (learning, own) = (&spec.learning, &usual.learning);
    options.given("model", spec.network.name.as_ref());
    options.path("weights", spec.network.weights.as_ref());
    match (learning.until, own.until) {
        (LessonEnd::Epochs(count), _) => options.given("epochs", Some(&count)),
        (
            LessonEnd::ValidationDrops { patience, max_epochs },
            LessonEnd::ValidationDrops { patience: p, max_epochs: m },
        ) => {
            options.other("patience", &patience, &p);
            options.other("max-epochs", &max_epochs, &m);
        }
        (LessonEnd::ValidationDrops { .. }, LessonEnd::Epochs(_)) => {
            unreachable!("the default is to watch the accuracy")
        }
    }
    options.flag("warm-start", learning.warm_start);
    options.flag("keep-last-best", learning.keep_last_best);
    options.flag("skip-idle-rounds", learning.skip_idle_rounds);
    options.flag("keep-optimizer", learning.keep_optimizer);
    options.other("adam-epsilon", &learning.adam_epsilon, &own.adam_epsilon);
    options.given("learning-rate", spec.network.learning_rate.as_ref());
    options.other("minibatch-size", &learning.minibatch_size, &own.minibatch_size);
    options.flag("full-minibatches", learning.full_minibatches);
    options.flag("unweighted-loss", learning.unweighted_loss);
    options.other("device", &spec.network.device, &usual.network.device);
    options.other("seeds", &spec.seeds, &usual.seeds);
    options.given("seed", Some(&spec.seed));
    options.0
}

struct OptionList(Vec<(&'static str, Option<OsString>)>);

impl OptionList {
    fn flag(&mut self, name: &'static str, is_set: bool) {
        self.0.extend(is_set.then_some((name, None)));
    }

    fn path(&mut self, name: &'static str, value: Option<impl Into<OsString>>) {
        self.0.extend(value.map(|value| (name, Some(value.into()))));
    }

    fn given(&mut self, name: &'static str, value: Option<&impl ToString>) {
        self.path(name, value.map(ToString::to_string));
    }

    fn other<T: ToString + PartialEq>(&mut self, name: &'static str, value: &T, usual: &T) {
        self.given(name, (value != usual).then_some(value));
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::parse;
    use super::*;

    #[test]
    fn a_run_is_what_its_command_line_says() {
        let lines = [
            "digits --task 3,6,9 --target-count 12 --picks-per-round 3 --rounds 10 --candidates all --seeds 3 --seed 7",
            "-- -data",
            "a.csv --size 9 --label-column=l --embedding-column=e --targets=-t --valid-count 3 --test-count 4 \
             --pool-count 5 --thin-pool=3:0.8,a:b:0.25 --thin-targets=6:1 --rule ctl --against none --targets-per-round 4 \
             --embedding network-gradient:16 --sigma laplace-full --noise-std 0.1 --condition --labels=x.csv --model mlp:3,4 \
             --weights=w --epochs 3 --warm-start --learning-rate 0.5 --minibatch-size 8 --unweighted-loss --device torch",
            "a.csv --task=1 --sigma laplace-full",
            "a.csv --task=1 --condition=false",
            "a.csv --encoder built-in --text-column=t --labels=l.csv --against random",
            "a.csv --task 1,2 --target-reserve 9 --test-on-valid --random-start 2 --repeat --targets-per-round max-det:3 \
             --noise-share 0.5 --keep-last-best --skip-idle-rounds --keep-optimizer --adam-epsilon 1e-8 --full-minibatches",
            "a.csv --task=-1,2 --against ctl,random --ask --patience 2 --max-epochs 9 --learning-rate 1e-7",
        ];
        for line in lines {
            let spec = parse(line.split_whitespace()).unwrap();
            assert_eq!(parse(words(&spec)).unwrap(), spec, "{line}");
        }
        assert_eq!(typed(&parse(lines[0].split(' ')).unwrap()), lines[0]);
    }

    /// Help texts show the defaults, so a command without options must equal the default description.
    #[test]
    fn defaults_are_those_of_the_description() {
        assert_eq!(parse(["a.csv"]).unwrap(), RunSpec::new("a.csv"));
    }
}
