//! Remedies that name options of the command line.

use homing_train::{Parameter, PathParameter, Remedy};

/// Returns what to type, or the library's own words if the remedy names no option.
pub fn words(remedy: Remedy) -> String {
    let words = match remedy {
        Remedy::Within(Parameter::NoiseStd) => {
            return format!("give --noise-std {}, or leave it out", Parameter::NoiseStd.range());
        }
        Remedy::Within(parameter) => {
            return format!("give --{} {}", parameter.field().replace('_', "-"), parameter.range());
        }
        Remedy::NamePath(path) => {
            let option = match path {
                PathParameter::Data => "DATA",
                PathParameter::Targets => "--targets",
                PathParameter::Weights => "--weights",
                PathParameter::Labels => "--labels",
                PathParameter::Encoder => "--encoder",
                PathParameter::Run => return "name a folder for the run with --run".into(),
                _ => return remedy.to_string(),
            };
            return format!("name a file as {option}");
        }
        Remedy::MatchWeights => "give the --model and the data that they were made with",
        Remedy::LearnedWeights => "give this file as --learned, and the weights that the run started from as --weights",
        Remedy::WeightsWithClassifier => "give weights that have one, or the model.safetensors of a run as --learned",
        Remedy::GiveWeights => "give them with --weights, as safetensors",
        Remedy::SmallerLearningRate => {
            "start a run with a smaller --learning-rate, or with smaller numbers in the data"
        }
        Remedy::SmallerImages => "use narrower layers, or smaller images with --size",
        Remedy::LargerImages => "give --size 8 or more, or --model linear",
        Remedy::NoConditioning => "leave --condition out",
        Remedy::GiveValidation => "provide some, or give a fixed number of epochs with --epochs",
        Remedy::NameCacheFolder => "set HOME or XDG_CACHE_HOME",
        Remedy::NameLabels => {
            "name their column with --label-column, give them with --labels FILE, or label at the terminal with --ask"
        }
        Remedy::NameTask => "give examples of it with --targets, or its classes with --task",
        Remedy::NameClasses => "name the classes that you will label with --task CLASSES",
        Remedy::NameEveryClass => "separate the classes of --task with single commas",
        Remedy::MoreClasses => "name two or more with --task, or give data with more",
        Remedy::WholePool => "leave --pool-count out, or shorten the files of the pool",
        Remedy::OtherTargetCount => "choose another --target-count, or give --targets",
        Remedy::OtherTargetReserve => "choose another --target-reserve, or leave it out",
        Remedy::MoreValidation => "give --valid-count 1 or more, or leave --test-on-valid out",
        Remedy::SmallerSeed => "give a smaller --seed",
        Remedy::RenameClassOrLabelInFile => "rename it, or give the labels in a file with --labels FILE",
        Remedy::AddLabels => {
            "fill in the column label there, with skip for rows to leave out, and continue with --resume"
        }
        Remedy::ResumeLater => "continue later with --resume, which keeps the answers so far",
        Remedy::ResumeRun => "continue it with `--resume FOLDER`, or name another folder",
        _ => return remedy.to_string(),
    };
    words.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::experiments;

    /// Every message is one sentence, and only messages of the command line name flags.
    #[test]
    fn every_error_is_a_sentence_in_rust_and_on_the_command_line() {
        let errors = homing_train::Error::examples();
        let pairs = errors.iter().map(|error| (error.to_string(), error.phrase(words)));
        let others = homing_experiment::Error::examples();
        let others = others.iter().map(|error| (error.to_string(), error.phrase(experiments::words)));
        for (rust, typed) in pairs.chain(others) {
            assert!(!rust.replace("--features libtorch", "").contains("--"), "{rust}");
            for said in [&rust, &typed] {
                assert!(!said.contains('\n') && !said.ends_with(['.', ';']) && !said.contains(";;"), "{said}");
            }
        }
        let rounds =
            homing_train::Error::examples().into_iter().find(|error| error.to_string().contains("rounds is 0"));
        assert_eq!(
            rounds.unwrap().phrase(words),
            "the number of rounds is 0; give --rounds a number from 1 to 1000000"
        );
    }
}
