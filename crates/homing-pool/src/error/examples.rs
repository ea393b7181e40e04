//! One error of each kind, for tests of how interfaces phrase them.

use std::io;
use std::path::PathBuf;

use super::Error;

/// Lists one value per variant of an enum. A list that omits a variant does not compile.
#[doc(hidden)]
#[macro_export]
macro_rules! one_of_each {
    ($($variant:ident { $($field:tt: $value:expr),* $(,)? })*) => {{
        let _ = |error: &Error| match error {
            $(Error::$variant { .. } => (),)*
        };
        vec![$(Error::$variant { $($field: $value),* }),*]
    }};
}

fn path() -> PathBuf {
    "pool.csv".into()
}

fn names() -> Vec<String> {
    vec!["one".to_owned(), "two".to_owned()]
}

impl Error {
    /// Returns one error of each kind.
    #[doc(hidden)]
    pub fn examples() -> Vec<Self> {
        one_of_each! {
            TooLarge { path: path() }
            NotEnoughMemory { path: path(), needed: 20_000_000, allowed: 10_000_000 }
            Unmapped { path: path() }
            NotByPosition { path: path() }
            ColumnMajor { path: path() }
            NotFound { path: path() }
            Denied { path: path() }
            Read { path: path(), source: io::Error::other("the disk failed") }
            Directory { path: path() }
            NoShards { path: path(), found: names() }
            SplitFolder { path: path(), train: "train.csv".to_owned(), test: "test.csv".to_owned() }
            MixedFormats { path: path(), endings: vec![".csv".to_owned(), ".npy".to_owned()] }
            NoMatch { path: "shards/*.npy".into() }
            BadPattern { path: "shards/[.npy".into(), detail: "invalid range pattern".to_owned() }
            EmptyList { path: "pool.list".into() }
            NamedTwice { path: path() }
            NotRegular { path: path() }
            IndicesMapping { path: path() }
            EmptyFile { path: path() }
            UnknownExtension { path: path(), known: ".csv or .npy".to_owned() }
            Foreign { path: path(), expected: "a Parquet file", found: "it looks like text".to_owned() }
            CutShort { path: path(), had: 200, has: 100 }
            MappingLost { names: names() }
            Truncated { path: path(), expected: 7, found: 7 }
            Malformed { path: path(), format: "Parquet", detail: "its parts contradict each other".to_owned() }
            Compression { path: path(), codec: "brotli".to_owned() }
            NoRows { path: path() }
            NoValues { path: path() }
            NotTwoDimensional { path: path(), shape: "(2, 3, 4)".to_owned() }
            Dtype { path: path(), dtype: "complex64".to_owned() }
            Ragged { path: path(), row: 3, found: 7, expected: 7 }
            NotANumber { path: path(), row: 3, column: "'one'".to_owned(), value: "'x'".to_owned() }
            DecimalComma { path: path(), column: "'one'".to_owned() }
            UnclearHeader { path: path(), first: "'0,1'".to_owned() }
            OpenQuote { path: path(), line: 2 }
            MixedColumn { path: path(), row: 3, column: "'one'".to_owned(), value: "'x'".to_owned(), detail: "its parts contradict each other" }
            Null { path: path(), row: 3, column: "'one'".to_owned() }
            BadRow { path: path(), row: 3, detail: "its parts contradict each other".to_owned() }
            NoColumn { path: path(), name: "'one'".to_owned(), names: names() }
            NothingToCopy { path: path() }
            Changed { path: path() }
            DuplicateColumn { path: path(), name: "'one'".to_owned(), first: 1, second: 4 }
            Lacking { path: path(), names: names() }
            NoColumns { path: path(), name: "'one'".to_owned() }
            WrongColumn { path: path(), name: "'one'".to_owned(), kind: "text".to_owned(), expected: "ids are texts or numbers" }
            NoEmbedding { path: path(), names: names() }
            AmbiguousEmbedding { path: path(), candidates: names() }
            ColumnLength { path: path(), name: "'one'".to_owned(), found: 7, rows: 9 }
            ShardMismatch { path: path(), detail: "its parts contradict each other".to_owned() }
            MissingShard { path: path(), list: "other.json".into() }
            ShardGap { path: path(), missing: "part-1.parquet".to_owned(), found: 7, count: 7 }
            NoIds { path: path() }
            DuplicateId { path: path(), id: "'seven'".to_owned(), first: 1, second: 4 }
            DuplicateIdInFiles { id: "'seven'".to_owned(), first: "row 1 of a.csv".to_owned(), second: "row 4 of b.csv".to_owned() }
            UnknownId { path: path(), id: "'seven'".to_owned() }
            NotAnIndex { path: path(), row: 3, value: "'x'".to_owned() }
            NotListed { path: "pool.list".into(), missing: path() }
            ValueCount { path: path(), values: 10, rows: 20 }
            RowOutside { path: path(), row: 30, rows: 20 }
            ManyLabels { path: path(), classes: 300_000 }
            UnclearRows { path: path(), pool: "other.json".into(), detail: "its parts contradict each other".to_owned() }
            NotRows { path: path(), found: "it holds one word".to_owned() }
            UnknownOutput { path: path() }
            UnknownPoolOutput { path: path() }
            Write { path: path(), reason: "the disk is full".to_owned() }
            NoFolder { path: path() }
            PickedTwice { path: path(), row: 3 }
            OverInput { path: path() }
            NotOurs { path: path() }
            InsideInput { path: path(), folder: "other.json".into() }
            SameOutput { path: path(), first: "the picks", second: "the report" }
            TooLong { path: path(), found: 7, most: 100 }
            PickBeyondPool { path: path(), row: 3, rows: 9 }
        }
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
