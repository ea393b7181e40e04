//! Reads MNIST's idx files: two zeros, the type of the values, the number of dimensions, their extents, the values.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::dataset::{Data, NumberedExamples, check_count, check_labels, unnamed};
use crate::files::{ListedFile, Listing};
use crate::{Error, Inputs, Result};

const FORMAT: &str = "idx";

/// Code of the type unsigned byte, which all images and labels have.
const BYTES: u8 = 8;

/// An array of bytes.
pub(crate) struct Idx {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Bytes,
}

/// Whether `bytes` begin like an idx file of unsigned bytes.
pub(crate) fn is_idx(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0, BYTES, 1..=4, ..])
}

/// Parses `bytes`, the unpacked contents of the file at `path`.
pub(crate) fn parse(path: &Path, bytes: &Bytes) -> Result<Idx> {
    let malformed = |detail: &str| Error::malformed(path, FORMAT, detail);
    let found = bytes.len() as u64;
    let cut = |expected: u64| Error::Truncated { path: path.to_owned(), expected, found };
    let (dtype, dimensions) = match bytes[..] {
        [0, 0, dtype, dimensions, ..] => (dtype, usize::from(dimensions)),
        [_, _, _, _, ..] => return Err(malformed("it does not begin with two zeros")),
        _ => return Err(cut(4)),
    };
    if dtype != BYTES {
        return Err(malformed(&format!("its values are of type {dtype:#04x}, not bytes (0x08)")));
    }
    if !(1..=4).contains(&dimensions) {
        return Err(malformed(&format!("it has {dimensions} dimensions")));
    }
    let start = 4 + 4 * dimensions;
    let Some(extents) = bytes.get(4..start) else { return Err(cut(start as u64)) };
    let shape: Vec<usize> = extents.as_chunks().0.iter().map(|&extent| u32::from_be_bytes(extent) as usize).collect();
    let count = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
    let end = count.and_then(|count| count.checked_add(start)).ok_or_else(|| malformed("its shape is too large"))?;
    if bytes.len() < end {
        return Err(cut(end as u64));
    }
    if bytes.len() > end {
        return Err(malformed(&format!("{} bytes follow its last value", bytes.len() - end)));
    }
    Ok(Idx { shape, values: bytes.slice(start..) })
}

/// Reads grey images from an array of images × height × width.
pub(crate) fn images(path: &Path, bytes: &Bytes) -> Result<Inputs> {
    let idx = parse(path, bytes)?;
    let [count, height, width] = idx.shape[..] else {
        let detail = format!("it has {} dimensions but images have 3", idx.shape.len());
        return Err(Error::malformed(path, FORMAT, &detail));
    };
    if count == 0 || height == 0 || width == 0 {
        return Err(Error::malformed(path, FORMAT, "it holds no images"));
    }
    check_count(path, count, 0)?;
    Ok(Inputs::pixels([1, height, width], idx.values))
}

/// Reads labels from a one-dimensional array.
pub(crate) fn labels(path: &Path, bytes: &Bytes) -> Result<Vec<u8>> {
    let idx = parse(path, bytes)?;
    if idx.shape.len() == 1 {
        check_count(path, idx.values.len(), 0)?;
        return Ok(idx.values.to_vec());
    }
    let detail = format!("it has {} dimensions but labels have 1", idx.shape.len());
    Err(Error::malformed(path, FORMAT, &detail))
}

/// Returns the prefix before `images-idx3-ubyte` in the name of a file of images, and the name of the file of its labels.
fn image_name(file_name: &str) -> Option<(&str, String)> {
    let plain = file_name.strip_suffix(".gz").unwrap_or(file_name);
    let prefix = plain.strip_suffix("images-idx3-ubyte").or_else(|| plain.strip_suffix("images.idx3-ubyte"))?;
    Some((prefix, file_name.replace("images", "labels").replace("idx3", "idx1")))
}

/// Returns the file of labels that belongs to the file of images at `path`, if it exists.
pub(crate) fn labels_beside(path: &Path) -> Option<PathBuf> {
    let (_, labels) = image_name(path.file_name()?.to_str()?)?;
    let labels = path.with_file_name(labels);
    labels.is_file().then_some(labels)
}

fn is_test(prefix: &str) -> bool {
    prefix.contains("t10k") || prefix.contains("test")
}

/// Opens the data set whose files have the names of MNIST's files, if there is one.
pub(crate) fn open(listing: &Listing) -> Result<Option<Data>> {
    let (mut train, mut test) = (None, None);
    for entry in &listing.entries {
        let Some((prefix, labels)) = image_name(entry.file_name()) else { continue };
        let place = if is_test(prefix) { &mut test } else { &mut train };
        if let Some((first, _)) = place.replace((entry, labels)) {
            return Err(listing.several(first, entry));
        }
    }
    let (train, test) = match (train, test) {
        (None, None) => return Ok(None),
        // A test set on its own is the training set.
        (None, test) => (test, None),
        found => found,
    };
    let read = |(entry, labels): (&ListedFile, String)| -> Result<(NumberedExamples, ListedFile)> {
        let folder = entry.name.strip_suffix(entry.file_name()).unwrap_or_default();
        let spellings = [labels.clone(), format!("{labels}.gz"), labels.trim_end_matches(".gz").to_owned()];
        let wanted = spellings.map(|spelling| format!("{folder}{spelling}"));
        let Some(found) = listing.entries.iter().find(|entry| wanted.contains(&entry.name)) else {
            return Err(Error::NoLabels { path: entry.path.clone(), wanted: entry.path.with_file_name(labels) });
        };
        let inputs = images(&entry.path, &entry.unpacked()?)?;
        let labels = self::labels(&found.path, &found.unpacked()?)?;
        if labels.len() != inputs.len() {
            let (labels, examples) = (labels.len(), inputs.len());
            return Err(Error::LabelCount { path: found.path.clone(), labels, examples });
        }
        Ok((NumberedExamples { inputs, labels }, found.clone()))
    };
    let (train, _) = read(train.expect("a file of images was found"))?;
    let classes = train.labels.iter().max().map_or(0, |&label| usize::from(label) + 1);
    let mut path = listing.root.clone();
    let test = match test.map(read).transpose()? {
        Some((test, labels)) => {
            check_labels(&labels.path, &test.labels, classes)?;
            path = labels.path;
            Some(test)
        }
        None => None,
    };
    Data::with_numbered_classes(&path, &unnamed(classes), train, test).map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(bytes: &[u8]) -> String {
        parse("a".as_ref(), &Bytes::copy_from_slice(bytes)).err().expect("a refusal").to_string()
    }

    #[test]
    fn valid_and_invalid_arrays() {
        let bytes = Bytes::from_static(&[0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 5, 6]);
        let idx = parse("a".as_ref(), &bytes).unwrap();
        assert_eq!((&idx.shape[..], &idx.values[..]), (&[2, 1][..], &[5, 6][..]));
        assert!(refusal(&bytes[..13]).contains("a is cut short: it should have 14 bytes but has 13"));
        assert!(refusal(&bytes[..7]).contains("it should have 12 bytes but has 7"));
        assert!(refusal(&[&bytes[..], &[1]].concat()).contains("1 bytes follow its last value"));
        assert!(refusal(b"\x89PNG\r\n").contains("does not begin with two zeros"));
        assert!(refusal(&[0, 0, 13, 1, 0, 0, 0, 0]).contains("type 0x0d, not bytes"));
        assert!(refusal(&[0, 0, 8, 9]).contains("9 dimensions"));
        assert!(refusal(&[&[0, 0, 8, 4][..], &[0xff; 16]].concat()).contains("too large"));
    }

    #[test]
    fn names_of_images_and_their_labels() {
        let found = image_name("train-images-idx3-ubyte.gz");
        assert_eq!(found, Some(("train-", "train-labels-idx1-ubyte.gz".to_owned())));
        assert_eq!(image_name("t10k-images.idx3-ubyte").unwrap().1, "t10k-labels.idx1-ubyte");
        assert_eq!(image_name("train-labels-idx1-ubyte"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_an_array_or_an_error(
            front in prop::option::of((0u8..10, 0u8..6)),
            rest in prop::collection::vec(prop_oneof![Just(0u8), 0u8..4, any::<u8>()], 0..64),
        ) {
            let mut bytes = front.map_or(Vec::new(), |(dtype, dimensions)| vec![0, 0, dtype, dimensions]);
            bytes.extend(rest);
            let bytes = Bytes::from(bytes);
            match parse("a".as_ref(), &bytes) {
                Ok(idx) => prop_assert_eq!(idx.shape.iter().product::<usize>(), idx.values.len()),
                Err(error) => prop_assert!(!error.to_string().contains('\n')),
            }
            let _ = (images("a".as_ref(), &bytes), labels("a".as_ref(), &bytes));
        }
    }
}
