//! Errors about items and encoders, and the settings that can remedy them.

use std::fmt;
use std::path::PathBuf;

use homing_pool::{display_path, rephrase};

use crate::ItemKind;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why items cannot be embedded. Each message is one sentence with the file, the problem and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a variant's message explains its fields")]
pub enum Error {
    /// A table or a file cannot be read or written.
    #[error(transparent)]
    Pool(#[from] homing_pool::Error),
    /// A data set of images cannot be read.
    #[error(transparent)]
    Data(#[from] homing_data::Error),
    /// No column of a table could be the texts.
    #[error("{} has no embeddings, and no column with a usual name of texts{}; {}", display_path(.path), listed(.names), Remedy::NameTexts)]
    NoTexts { path: PathBuf, names: Vec<String> },
    /// No column of a table could be what the encoder embeds.
    #[error("{} has no column that is recognised as {expected}{}; {}", display_path(.path), listed(.names), Remedy::NameTexts)]
    NoItems { path: PathBuf, names: Vec<String>, expected: ItemKind },
    /// The texts of the pool were embedded, and the targets are numbers.
    #[error("{} has numbers and no texts, but the texts of the pool were embedded; give texts, or {}", display_path(.path), Remedy::UseNumbers)]
    OnlyNumbers { path: PathBuf },
    /// A table lists an image that does not exist.
    #[error("row {row} of {} lists the image {}, which does not exist; write paths relative to the table, or correct that row", display_path(.path), display_path(.image))]
    NoImage { path: PathBuf, row: usize, image: PathBuf },
    /// The pool has embeddings, but the targets do not.
    #[error("{} has no embeddings, but the pool has; embed both with the same model, or {}", display_path(.path), Remedy::ChooseEncoder)]
    Unembedded { path: PathBuf },
    /// Pool and targets are of different kinds.
    #[error("{} holds {found}, but the encoder is for {expected}; give {expected}", display_path(.path))]
    OtherKind { path: PathBuf, found: ItemKind, expected: ItemKind },
    /// A model cannot be used.
    #[error("{} is not an encoder that can be used: {detail}", display_path(.path))]
    Model { path: PathBuf, detail: String },
    /// A model needs ONNX Runtime, which is not installed.
    #[error("{} needs ONNX Runtime, which was not found; install it with `pip install onnxruntime`, or set ORT_DYLIB_PATH to its library", display_path(.path))]
    NoRuntime { path: PathBuf },
    /// The library of ONNX Runtime cannot be loaded.
    #[error("{} cannot be used as ONNX Runtime: {detail}; set ORT_DYLIB_PATH to another library, or install one with `pip install onnxruntime`", display_path(.library))]
    Runtime { library: PathBuf, detail: String },
    /// A tokenizer failed.
    #[error("a text cannot be split into tokens: {detail}; check tokenizer.json")]
    Tokens { detail: String },
    /// This build has no support for models on disk.
    #[error("{} is a model, but this build contains only the built-in encoders; {}", display_path(.path), Remedy::ChooseBuiltIn)]
    NoModels { path: PathBuf },
    /// The cache of embeddings cannot be used.
    #[error("the cache of embeddings at {} cannot be used: {detail}; set HOMING_CACHE to another folder, or to `off`", display_path(.path))]
    Cache { path: PathBuf, detail: String },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" (it has {})", names.join(", ")) }
}

/// A setting that remedies an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Name the column of texts.
    NameTexts,
    /// Choose an encoder for pool and targets.
    ChooseEncoder,
    /// Choose a built-in encoder.
    ChooseBuiltIn,
    /// Choose no encoder, so that columns of numbers are used.
    UseNumbers,
    /// A remedy of a reader.
    Pool(homing_pool::Remedy),
    /// A remedy of a data set.
    Data(homing_data::Remedy),
}

impl fmt::Display for Remedy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::NameTexts => out.write_str("name it in `ReadOptions::text`"),
            Remedy::ChooseEncoder => out.write_str("choose an `EncoderChoice`"),
            Remedy::ChooseBuiltIn => out.write_str("choose `EncoderChoice::BuiltIn`"),
            Remedy::UseNumbers => out.write_str("choose `EncoderChoice::None`"),
            Remedy::Pool(remedy) => remedy.fmt(out),
            Remedy::Data(remedy) => remedy.fmt(out),
        }
    }
}

impl Error {
    /// Returns the setting that remedies the error; the message ends with it. `None` if the remedy is not a setting.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Pool(error) => error.remedy().map(Remedy::Pool),
            Error::Data(error) => error.remedy().map(Remedy::Data),
            Error::NoTexts { .. } | Error::NoItems { .. } => Some(Remedy::NameTexts),
            Error::Unembedded { .. } => Some(Remedy::ChooseEncoder),
            Error::NoModels { .. } => Some(Remedy::ChooseBuiltIn),
            Error::OnlyNumbers { .. } => Some(Remedy::UseNumbers),
            _ => None,
        }
    }

    /// Returns the message with the remedy in the words of an interface.
    pub fn phrase(&self, words: impl Fn(Remedy) -> String) -> String {
        match self {
            Error::Pool(error) => error.phrase(|remedy| words(Remedy::Pool(remedy))),
            Error::Data(error) => error.phrase(|remedy| words(Remedy::Data(remedy))),
            error => rephrase(error.to_string(), error.remedy(), words),
        }
    }

    /// Returns one error of each kind.
    #[doc(hidden)]
    pub fn examples() -> Vec<Self> {
        let path = || PathBuf::from("pool.csv");
        let mut examples = vec![
            Error::NoTexts { path: path(), names: vec!["one".to_owned(), "two".to_owned()] },
            Error::NoItems { path: path(), names: vec!["one".to_owned()], expected: ItemKind::Images },
            Error::NoImage { path: path(), row: 3, image: "one.png".into() },
            Error::Unembedded { path: path() },
            Error::OnlyNumbers { path: path() },
            Error::OtherKind { path: path(), found: ItemKind::Texts, expected: ItemKind::Images },
            Error::Model { path: path(), detail: "it has no config.json".to_owned() },
            Error::NoRuntime { path: path() },
            Error::Runtime { library: path(), detail: "it is empty".to_owned() },
            Error::Tokens { detail: "it has no vocabulary".to_owned() },
            Error::NoModels { path: path() },
            Error::Cache { path: path(), detail: "it is a file".to_owned() },
        ];
        examples.extend(homing_data::Error::examples().into_iter().map(Error::Data));
        examples.extend(homing_pool::Error::examples().into_iter().map(Error::Pool));
        examples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_one_sentence_that_a_rust_user_can_follow() {
        for error in Error::examples() {
            let message = error.to_string();
            assert!(!message.contains("--") && !message.contains('\n'), "{message}");
            assert_eq!(error.phrase(|remedy| remedy.to_string()), message);
            if error.remedy().is_some() {
                assert!(error.phrase(|_| "REMEDY".to_owned()).ends_with("REMEDY"), "{message}");
            }
        }
    }
}
