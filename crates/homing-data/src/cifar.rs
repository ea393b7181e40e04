//! Reads CIFAR's binary files: records of one label (CIFAR-10) or a coarse and a fine label (CIFAR-100), and 3 × 32 × 32 pixels.

use std::path::Path;

use bytes::Bytes;

use crate::dataset::{Data, NumberedExamples, check_count, check_labels, unnamed};
use crate::files::{ListedFile, Listing};
use crate::{Error, Inputs, Result};

const SHAPE: [usize; 3] = [3, 32, 32];
const PIXELS: usize = 3 * 32 * 32;

/// One of the two CIFAR data sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CifarKind {
    Ten,
    Hundred,
}

impl CifarKind {
    fn classes(self) -> usize {
        match self {
            CifarKind::Ten => 10,
            CifarKind::Hundred => 100,
        }
    }

    /// Returns the number of labels before the pixels; the last one is used.
    fn labels(self) -> usize {
        match self {
            CifarKind::Ten => 1,
            CifarKind::Hundred => 2,
        }
    }

    fn record(self) -> usize {
        self.labels() + PIXELS
    }

    /// Returns the name of the file with the names of the classes, one per line.
    fn names(self) -> &'static str {
        match self {
            CifarKind::Ten => "batches.meta.txt",
            CifarKind::Hundred => "fine_label_names.txt",
        }
    }

    /// Returns the data set whose records fill `length` bytes. If both do, the file name decides.
    fn of(file_name: &str, length: usize) -> Option<Self> {
        let fits = |kind: CifarKind| length > 0 && length.is_multiple_of(kind.record());
        match (fits(CifarKind::Ten), fits(CifarKind::Hundred)) {
            (true, true) => Some(if file_name.contains("batch") { CifarKind::Ten } else { CifarKind::Hundred }),
            (true, false) => Some(CifarKind::Ten),
            (false, true) => Some(CifarKind::Hundred),
            (false, false) => None,
        }
    }
}

/// Adds the records in `bytes` of the file at `path`.
fn parse(path: &Path, bytes: &[u8], kind: CifarKind, labels: &mut Vec<u8>, pixels: &mut Vec<u8>) -> Result<()> {
    let record = kind.record();
    if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
        let expected = (bytes.len() / record + 1) * record;
        return Err(Error::Truncated { path: path.to_owned(), expected: expected as u64, found: bytes.len() as u64 });
    }
    let start = labels.len();
    check_count(path, bytes.len() / record, PIXELS)?;
    pixels.reserve_exact(bytes.len() / record * PIXELS);
    for record in bytes.chunks_exact(record) {
        let (record_labels, rest) = record.split_at(kind.labels());
        labels.push(record_labels[kind.labels() - 1]);
        pixels.extend_from_slice(rest);
    }
    check_labels(path, &labels[start..], kind.classes())
}

fn read(entries: &[&ListedFile], kind: CifarKind) -> Result<NumberedExamples> {
    let (mut labels, mut pixels) = (Vec::new(), Vec::new());
    for entry in entries {
        parse(&entry.path, &entry.unpacked()?, kind, &mut labels, &mut pixels)?;
    }
    Ok(NumberedExamples { inputs: Inputs::pixels(SHAPE, pixels), labels })
}

/// Opens the data set in the single file at `path`.
pub(crate) fn open_file(path: &Path, bytes: &Bytes) -> Result<Data> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(kind) = CifarKind::of(&name, bytes.len()) else {
        let detail = format!("its {} bytes are not a whole number of CIFAR records (3073 or 3074 bytes)", bytes.len());
        return Err(Error::malformed(path, "CIFAR", &detail));
    };
    let (mut labels, mut pixels) = (Vec::new(), Vec::new());
    parse(path, bytes, kind, &mut labels, &mut pixels)?;
    let train = NumberedExamples { inputs: Inputs::pixels(SHAPE, pixels), labels };
    Data::with_numbered_classes(path, &unnamed(kind.classes()), train, None)
}

/// Opens the data set whose files have the names of CIFAR's files, if there is one.
pub(crate) fn open(listing: &Listing) -> Result<Option<Data>> {
    let number = |name: &str| name.strip_prefix("data_batch_")?.strip_suffix(".bin")?.parse::<u32>().ok();
    let batch = |entry: &&ListedFile| number(entry.file_name()).is_some();
    let batches: Vec<&ListedFile> = listing.entries.iter().filter(batch).collect();
    let whole = listing.find("train.bin")?;
    let (kind, train, test) = match (&batches[..], whole) {
        ([], None) => return Ok(None),
        ([], Some(train)) => (CifarKind::Hundred, vec![train], "test.bin"),
        ([first, ..], Some(train)) => return Err(listing.several(first, train)),
        (_, None) => (CifarKind::Ten, batches, "test_batch.bin"),
    };
    let classes = match listing.lines(kind.names())? {
        Some(names) if names.len() == kind.classes() => names,
        Some(names) => {
            let detail = format!("it has {} names for {} classes", names.len(), kind.classes());
            return Err(Error::malformed(&listing.root.join(kind.names()), "CIFAR", &detail));
        }
        None => unnamed(kind.classes()),
    };
    let test = listing.find(test)?.map(|entry| read(&[entry], kind)).transpose()?;
    Data::with_numbered_classes(&listing.root, &classes, read(&train, kind)?, test).map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_length_of_a_file_determines_its_kind() {
        assert_eq!(CifarKind::of("a.bin", 3073 * 5), Some(CifarKind::Ten));
        assert_eq!(CifarKind::of("a.bin", 3074 * 5), Some(CifarKind::Hundred));
        assert_eq!(CifarKind::of("a.bin", 3075), None);
        assert_eq!(CifarKind::of("a.bin", 0), None);
        assert_eq!(CifarKind::of("test_batch.bin", 3073 * 3074), Some(CifarKind::Ten));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_records_or_an_error(records in 0usize..4, record in 3072usize..3076, cut in 0usize..3, fill: u8) {
            let mut bytes = vec![fill; (records * record).saturating_sub(cut)];
            if let Some(first) = bytes.first_mut() {
                *first = 3;
            }
            match open_file("a.bin".as_ref(), &Bytes::from(bytes)) {
                Ok(data) => prop_assert_eq!(data.train.labels.len(), data.train.inputs.len()),
                Err(error) => prop_assert!(!error.to_string().contains('\n')),
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..7000)) {
            let _ = open_file("a.bin".as_ref(), &Bytes::from(bytes));
        }
    }
}
