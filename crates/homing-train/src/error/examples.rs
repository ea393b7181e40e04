//! An example of each error.

use std::path::PathBuf;

use super::Error;
use crate::remedy::{NameSet, Parameter, PathParameter, Remedy};
use crate::run::LabelFault;

impl Error {
    /// Returns one error of each variant, for tests that check all of them. A new variant needs a row here and in the two
    /// exhaustive matches of `mod.rs`, which do not compile without it.
    #[doc(hidden)]
    pub fn examples() -> Vec<Self> {
        let (path, text) = (|| PathBuf::from("a.csv"), || "a".to_owned());
        let mut all = vec![
            Self::Io { path: path(), error: std::io::Error::other("no space left") },
            Self::Record { path: path(), reason: text() },
            Self::OtherVersion { path: path(), version: "0.1.0".into() },
            Self::Device { name: text() },
            Self::Library { path: path(), reason: text() },
            Self::NoWeights { network: text() },
            Self::Shape { expected: 3, got: 4 },
            Self::ImageShape { network: "cnn", least: 8, shape: vec![3, 4, 4] },
            Self::Label { row: 1, label: 9, classes: 3 },
            Self::PathText { path: path() },
            Self::NetworkMemory { network: text(), shape: vec![4], bytes: Some(1 << 40) },
            Self::GradientMemory { length: Some(1 << 40), examples: 3, sketched: false },
            Self::GradientMemory { length: None, examples: 3, sketched: true },
            Self::InfiniteEmbeddings,
            Self::InfiniteWeights { round: 2 },
            Self::LaplaceEmbedding,
            Self::LaplaceConditioning,
            Self::EmptyPool,
            Self::NoExamples { of: "targets" },
            Self::NoValidation,
            Self::NoHome,
            Self::NoClasses,
            Self::NoLabels,
            Self::TargetShape { targets: vec![3], pool: vec![4] },
            Self::NoTask,
            Self::NoClassNames,
            Self::UnknownClass { name: text(), known: "b, c".into() },
            Self::EmptyClass,
            Self::OneClass { name: text() },
            Self::SampledPool,
            Self::TargetCount { count: 50, most: 22, left: 23 },
            Self::TargetReserve { reserve: 9, count: 10, most: 22 },
            Self::NoTests,
            Self::Seeds { first: 7, count: 9, last: 10 },
            Self::Share { class: text(), share: 7.0 },
            Self::UntypableClass { class: text() },
            Self::TwinClasses { name: text() },
            Self::MissingLabels { file: path(), count: 3, list: path() },
            Self::NoAnswer,
            Self::Busy { folder: path() },
            Self::NoRun { folder: path() },
            Self::NoFolder { path: path() },
            Self::RunExists { folder: path() },
            Self::FullFolder { folder: path() },
            Self::DataChanged { path: path() },
            Self::Select(homing::Error::Interrupted),
            Self::Data(homing_data::Error::Unknown { path: path() }),
            Self::Pool(homing_pool::Error::NotFound { path: path() }),
        ];
        let name_sets =
            [NameSet::Network, NameSet::Embedding, NameSet::Covariance, NameSet::Candidates, NameSet::RoundTargets];
        all.extend(name_sets.map(|of| Self::Name { of, name: text() }));
        all.extend(Parameter::ALL.iter().map(|&parameter| Self::OutOfRange { parameter, value: "0".into() }));
        let paths = [
            PathParameter::Data,
            PathParameter::Targets,
            PathParameter::Weights,
            PathParameter::Labels,
            PathParameter::Encoder,
            PathParameter::Run,
        ];
        all.extend(paths.map(|of| Self::EmptyPath { of }));
        let weights_remedies = [
            Remedy::SaveAsFloats,
            Remedy::SaveWeightsAgain,
            Remedy::SaveAsSafetensors,
            Remedy::MatchWeights,
            Remedy::LearnedWeights,
            Remedy::WeightsWithClassifier,
            Remedy::WeightsOfRun,
            Remedy::WeightsOf { network: "efficientnet-b0", naming: None },
            Remedy::WeightsOf { network: "efficientnet-b0", naming: Some("timm") },
        ];
        all.extend(weights_remedies.map(|remedy| Self::weights(text(), remedy)));
        all.extend(LabelFault::examples().into_iter().map(|fault| Self::LabelFile { place: text(), fault }));
        all
    }
}
