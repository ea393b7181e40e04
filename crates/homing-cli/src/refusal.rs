//! Error messages of the command: one sentence each, with remedies that name options of the command that was typed.

#[cfg(feature = "train")]
mod experiments;
#[cfg(feature = "train")]
mod training;

use std::fmt::Display;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use homing_pool::{Format, Remedy};

/// Messages of Rust's parsers of numbers, and the same in plain words.
const NUMBER_PROBLEMS: [(&str, &str); 5] = [
    ("invalid digit found in string", "a whole number is needed"),
    ("invalid float literal", "a number is needed"),
    ("cannot parse integer from empty string", "a whole number is needed"),
    ("cannot parse float from empty string", "a number is needed"),
    ("number too large to fit in target type", "the number is too large"),
];

/// Returns what is wrong with the arguments, with the parser's suggestion but without the usage that follows.
pub fn of_arguments(error: &clap::Error) -> String {
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(typed))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
        && typed.parse::<f64>().is_ok()
    {
        return format!("'{typed}' is negative, but only numbers from 0 are allowed there; give another number");
    }
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(typed))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
        && Format::of(Path::new(typed)).is_ok()
    {
        return format!(
            "'{typed}' is one file too many; to name several files, put the pattern in quotes, such as 'shards/*.npy', or list them in a \
             file with the ending .list"
        );
    }
    let text = error.to_string();
    let paragraph: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let sentence = paragraph.join(" ");
    let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
    let sentence =
        NUMBER_PROBLEMS.iter().fold(sentence.to_owned(), |text, (of_rust, plain)| text.replace(of_rust, plain));
    match text.lines().find_map(|line| line.trim_start().strip_prefix("tip: ")) {
        Some(tip) => format!("{sentence}; {tip}"),
        None => sentence,
    }
}

/// The options of one command.
pub struct Options(Command);

impl Options {
    /// Returns the options of the command that was typed, such as `homing experiment run`.
    pub fn of_command(homing: Command, typed: &clap::ArgMatches) -> Self {
        let (mut command, mut matches) = (homing, typed);
        while let Some((name, below)) = matches.subcommand() {
            let found = command.find_subcommand(name).cloned();
            (command, matches) = (found.expect("it was typed"), below);
        }
        Self(command)
    }

    /// Returns the options that are parsed into `A`.
    pub fn of<A: clap::Args>() -> Self {
        Self(A::augment_args(Command::new("homing")))
    }

    fn has(&self, name: &str) -> bool {
        self.0.get_arguments().any(|argument| argument.get_long() == Some(name))
    }

    /// Returns the options that assign a role to a column, if the command has any.
    pub fn uses(&self) -> Option<String> {
        let all = [
            "id-column",
            "label-column",
            "text-column",
            "group-column",
            "cost-column",
            "target-weight-column",
            "values",
        ];
        let there: Vec<String> =
            all.into_iter().filter(|name| self.has(name)).map(|name| format!("--{name}")).collect();
        (!there.is_empty()).then(|| there.join(", "))
    }

    /// Describes what went wrong and its causes, except for a cause that the sentence contains already.
    pub fn sentence(&self, error: &anyhow::Error) -> String {
        error.chain().map(|cause| self.phrase(cause)).fold(String::new(), |sentence, cause| match sentence {
            sentence if sentence.is_empty() => cause,
            sentence if sentence.contains(&cause) => sentence,
            sentence => format!("{sentence}: {cause}"),
        })
    }

    /// Describes one cause with the names of the command line. Every library whose errors have remedies has a branch here.
    pub fn phrase(&self, cause: &(dyn std::error::Error + 'static)) -> String {
        if let Some(error) = cause.downcast_ref::<homing::Error>() {
            return error.phrase(|remedy| self.core_words(remedy));
        }
        if let Some(error) = cause.downcast_ref::<homing_pool::Error>() {
            return error.phrase(|remedy| self.pool_words(remedy));
        }
        if let Some(error) = cause.downcast_ref::<homing_encode::Error>() {
            return error.phrase(|remedy| self.encoder_words(remedy));
        }
        if let Some(error) = cause.downcast_ref::<homing_cuda::Error>() {
            return error.phrase(|remedy| self.device_words(remedy));
        }
        #[cfg(feature = "label")]
        if let Some(error) = cause.downcast_ref::<homing_label::Error>() {
            return match error {
                homing_label::Error::Core(error) => self.phrase(error),
                homing_label::Error::Data(error) => self.phrase(error),
                homing_label::Error::Pool(error) => self.phrase(error),
                error => error.phrase(|remedy| self.label_words(remedy)),
            };
        }
        if let Some(error) = cause.downcast_ref::<homing_data::Error>() {
            return error.phrase(|remedy| self.data_words(remedy));
        }
        #[cfg(feature = "train")]
        if let Some(error) = cause.downcast_ref::<homing_train::Error>() {
            return match error {
                homing_train::Error::Select(error) => self.phrase(error),
                homing_train::Error::Data(error) => self.phrase(error),
                homing_train::Error::Pool(error) => self.phrase(error),
                error => error.phrase(|remedy| self.fitting(training::words(remedy), remedy)),
            };
        }
        #[cfg(feature = "train")]
        if let Some(error) = cause.downcast_ref::<homing_experiment::Error>() {
            return match error {
                homing_experiment::Error::Pool(error) => self.phrase(error),
                error => error.phrase(|remedy| self.fitting(experiments::words(remedy), remedy)),
            };
        }
        cause.to_string()
    }

    /// Phrases a remedy of the core with the options that the command has.
    fn core_words(&self, remedy: homing::Remedy) -> String {
        use homing::Remedy as Core;
        let (by_options, plain) = match remedy {
            Core::GiveTargets => ("give some with `--targets FILE`", "give some"),
            Core::GiveTargetsOrChooseUndirectedRule => (
                "give some with `--targets FILE`, or choose an undirected rule such as `--rule undirected-itl`",
                "give some, or choose an undirected rule such as undirected-itl",
            ),
            Core::GiveTargetsOrDropVarianceStop => (
                "give some with `--targets FILE`, or leave `--stop-variance` out",
                "give some, or do not stop at a share of their variance",
            ),
            Core::GiveProbabilitiesOrChooseRule => (
                "give them with `--probabilities`, or choose a rule that does not need them",
                "give them, or choose a rule that does not need them",
            ),
            Core::GiveCostsOrDropBudget => (
                "name their column with `--cost-column NAME`, or leave `--budget` out",
                "give them, or leave the budget out",
            ),
            Core::GiveGroupsOrDropQuotas => (
                "name their column with `--group-column NAME`, or leave `--quota` out",
                "give them, or leave the quotas out",
            ),
            Core::RaiseLimits => ("raise `--quota` or `--budget`", "raise them"),
            Core::ChooseListedRule => ("`homing rules` lists them all", ""),
            Core::DropRepeatOrChooseSequentialRule => (
                "leave `--repeat` out, or choose a sequential rule such as itl",
                "choose a sequential rule such as itl",
            ),
            Core::ChooseGreedyRuleOrExact => ("choose one of those, or `--greedy exact`", "choose one of those"),
            Core::DropInputsOrChooseUnpartitioned => {
                ("leave those out, or choose `--greedy exact` or `--greedy stochastic:EPSILON`", "leave those out")
            }
            Core::ObserveByRow => ("name the observed examples by row number or id, not by embeddings", ""),
            Core::StopByGainOrSamplePool => {
                ("stop by `--min-gain NATS`, or give a sample of the pool", "give a sample of the pool")
            }
            Core::AddToKernelOrRaiseNoise => (
                "add a multiple of the identity to the kernel matrix, or raise `--noise-std`",
                "add a multiple of the identity to the kernel matrix",
            ),
            Core::ChooseSmallerApproximation => (
                "choose `--sigma laplace-kronecker` or `--sigma laplace-diagonal`",
                "choose the Kronecker-factored or the diagonal approximation",
            ),
            remedy => return remedy.to_string(),
        };
        self.fitting(by_options.to_owned(), plain)
    }

    /// Returns the words that name options if the command has all of those options, and the plain words if not.
    fn fitting(&self, by_options: String, plain: impl Display) -> String {
        if options_named(&by_options).all(|name| self.has(name)) { by_options } else { plain.to_string() }
    }

    /// Phrases a remedy of a reader.
    fn pool_words(&self, remedy: Remedy) -> String {
        let words = match remedy {
            Remedy::ReadByPosition if self.has("pool-access") => {
                "read the pool block by block, with `--pool-access read`"
            }
            Remedy::ReadByPosition => "work on a copy of it",
            Remedy::NameEmbedding if self.has("embedding-column") => "name one with `--embedding-column NAME`",
            Remedy::NameEmbedding => "call one of them `embedding`",
            Remedy::NameIds if self.has("id-column") => "name its id column with `--id-column NAME`",
            Remedy::NameIds => "call its id column `id`",
            Remedy::CopyNoColumns if self.has("columns") => "leave `--columns` out",
            Remedy::CopyNoColumns => "copy no columns",
            Remedy::NameUse => {
                return self
                    .uses()
                    .map_or_else(|| "rename it".to_owned(), |uses| format!("assign it another role ({uses})"));
            }
            Remedy::NameOtherUses => {
                let uses = self.uses().map_or_else(String::new, |uses| format!(" ({uses})"));
                return format!("name the columns of the pool that have another role{uses}");
            }
            remedy => return remedy.to_string(),
        };
        words.to_owned()
    }

    /// Phrases a remedy of an encoder.
    fn encoder_words(&self, remedy: homing_encode::Remedy) -> String {
        use homing_encode::Remedy as Encode;
        let (by_options, plain) = match remedy {
            Encode::Pool(remedy) => return self.pool_words(remedy),
            Encode::Data(remedy) => return self.data_words(remedy),
            Encode::NameTexts => ("name it with `--text-column NAME`", "call it `text`"),
            Encode::ChooseEncoder => ("let `--encoder built-in` embed both", "embed both with `homing embed`"),
            Encode::ChooseBuiltIn => ("choose `--encoder built-in`", "choose `built-in`"),
            Encode::UseNumbers => ("use the numbers of both with `--encoder none`", "take the texts out of the pool"),
            remedy => return remedy.to_string(),
        };
        self.fitting(by_options.to_owned(), plain)
    }

    /// Phrases a remedy of a GPU.
    fn device_words(&self, remedy: homing_cuda::Remedy) -> String {
        use homing_cuda::Remedy as Cuda;
        let by_options = match remedy {
            Cuda::NameDevice => "write `--device cuda:0` (`cuda:0,1` for several), `--device auto` or `--device cpu`",
            Cuda::UseCpu => "leave `--device` out to select on the CPU",
            Cuda::InstallDriverOrUseCpu => "install one, or leave `--device` out to select on the CPU",
            Cuda::InstallCudaOrUseCpu => {
                "install CUDA 12 or 13 and add its libraries to LD_LIBRARY_PATH, or leave `--device` out to select on the CPU"
            }
            Cuda::UseMoreDevicesOrUseCpu => {
                "use more devices (`--device cuda:0,1`), or leave `--device` out to select on the CPU"
            }
            Cuda::StoreInF32OrUseCpu => "store it in f32, or leave `--device` out to select on the CPU",
            Cuda::UpdateOrUseCpu => "update the driver and CUDA, or leave `--device` out to select on the CPU",
            Cuda::RetryOrUseCpu => "select again, or leave `--device` out to select on the CPU",
            remedy => return remedy.to_string(),
        };
        self.fitting(by_options.to_owned(), remedy)
    }

    /// Phrases a remedy of a labelling run.
    #[cfg(feature = "label")]
    fn label_words(&self, remedy: homing_label::Remedy) -> String {
        use homing_label::Remedy as Label;
        let by_options = match remedy {
            Label::OtherRun => "name another folder with `--run FOLDER`",
            Label::GiveEmbeddings => "give a file with one row per example with `--embeddings FILE`",
            Label::NameText => "name it with `--text-column NAME`",
            remedy => return remedy.to_string(),
        };
        self.fitting(by_options.to_owned(), remedy)
    }

    /// Phrases a remedy of a data set.
    fn data_words(&self, remedy: homing_data::Remedy) -> String {
        match remedy {
            homing_data::Remedy::Pool(remedy) => self.pool_words(remedy),
            homing_data::Remedy::Resize if self.has("size") => {
                "resize all images to one size with `--size PIXELS`".to_owned()
            }
            homing_data::Remedy::Resize => "give all images the same size".to_owned(),
            remedy => remedy.to_string(),
        }
    }
}

/// Returns the options that a sentence names, without their dashes.
fn options_named(sentence: &str) -> impl Iterator<Item = &str> {
    let name = |rest: &'_ str| rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
    sentence.split("--").skip(1).map(move |rest| &rest[..name(rest)])
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::anyhow;

    use super::*;

    /// Returns the options of every command that has no subcommands.
    fn commands() -> Vec<Options> {
        fn leaves(command: &Command, all: &mut Vec<Options>) {
            if !command.has_subcommands() {
                all.push(Options(command.clone()));
            }
            command.get_subcommands().for_each(|below| leaves(below, all));
        }
        let mut all = Vec::new();
        leaves(&crate::parser(), &mut all);
        all
    }

    #[test]
    fn every_refusal_names_options_that_the_command_has() {
        let mut examples: Vec<anyhow::Error> = Vec::new();
        examples.extend(homing::Error::examples().into_iter().map(anyhow::Error::new));
        examples.extend(homing_pool::Error::examples().into_iter().map(anyhow::Error::new));
        examples.extend(homing_encode::Error::examples().into_iter().map(anyhow::Error::new));
        examples.extend(homing_cuda::Error::examples().into_iter().map(anyhow::Error::new));
        #[cfg(feature = "label")]
        examples.extend(homing_label::Error::examples().into_iter().map(anyhow::Error::new));
        #[cfg(feature = "train")]
        {
            examples.extend(homing_data::Error::examples().into_iter().map(anyhow::Error::new));
            examples.extend(homing_train::Error::examples().into_iter().map(anyhow::Error::new));
            examples.extend(homing_experiment::Error::examples().into_iter().map(anyhow::Error::new));
        }
        for options in commands() {
            let command = options.0.get_name();
            for sentence in examples.iter().map(|error| options.sentence(error)) {
                assert!(!sentence.contains("::") && !sentence.contains("Options"), "{command}: {sentence}");
                // This is an option of cargo.
                for option in options_named(&sentence.replace("--features libtorch", "")) {
                    assert!(options.has(option), "{command} has no such option: {sentence}");
                }
            }
        }
    }

    #[test]
    fn a_column_that_may_be_numbers_has_the_uses_that_the_command_knows() {
        let mixed = || homing_pool::Error::examples().into_iter().find(|e| e.remedy() == Some(Remedy::NameUse));
        let error = anyhow!(mixed().unwrap());
        let sentence =
            |name: &str| commands().iter().find(|options| options.0.get_name() == name).unwrap().sentence(&error);
        assert!(sentence("select").ends_with(
            "(--id-column, --label-column, --text-column, --group-column, --cost-column, --target-weight-column)"
        ));
        assert!(
            sentence("diagnose")
                .ends_with("assign it another role (--id-column, --label-column, --text-column, --values)")
        );
    }

    #[test]
    fn a_cause_that_its_error_quotes_is_said_once() {
        let options = Options(Command::new("homing"));
        let sentence = |error: &anyhow::Error| options.sentence(error);
        let io = || io::Error::other("the disk is full");
        let quoted = anyhow!(io()).context("picks.csv cannot be written: the disk is full; make room");
        assert_eq!(sentence(&quoted), "picks.csv cannot be written: the disk is full; make room");
        let named = anyhow!(io()).context("picks.csv cannot be written");
        assert_eq!(sentence(&named), "picks.csv cannot be written: the disk is full");
        assert_eq!(sentence(&anyhow!("no such rule").context("--rule")), "--rule: no such rule");
    }
}
