//! Converts Arrow columns of texts, numbers and other readable values to texts.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field};

use crate::layout::Role;
use crate::memory_budget::MemoryBudget;
use crate::message::quoted;
use crate::{Error, Result};

/// Location of a column: its file, the number of its first row, and its name and type.
#[derive(Clone, Copy)]
pub(crate) struct ColumnPlace<'a> {
    pub(crate) path: &'a Path,
    pub(crate) row: usize,
    pub(crate) field: &'a Field,
}

/// Returns the role of a column of single values, or `None` if its values are of another kind.
pub(crate) fn scalar_role(data_type: &DataType) -> Option<Role> {
    match data_type {
        _ if is_number(data_type) => Some(Role::Number),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean => Some(Role::Text),
        _ if is_bytes(data_type) => Some(Role::Readable),
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(_, _) => {
            Some(Role::Readable)
        }
        DataType::Dictionary(_, values) => match scalar_role(values)? {
            Role::Text => Some(Role::Text),
            _ => Some(Role::Readable),
        },
        _ => None,
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating() || data_type.is_decimal()
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_))
}

/// Passes the text of every row of `array` to `each`; a null becomes an empty text.
///
/// Texts are not copied beforehand, because a dictionary, or views of one buffer, can represent far more text than the file holds.
pub(crate) fn each_text(
    place: ColumnPlace<'_>,
    array: &ArrayRef,
    mut each: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    MemoryBudget::now().check(place.path, text_bytes(array))?;
    let unreadable = |error: ArrowError| Error::malformed(place.path, "Arrow", &error);
    let (words, keys) = match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            (with_text(dictionary.values()).map_err(unreadable)?, Some(keys))
        }
        _ => (with_text(array).map_err(unreadable)?, None),
    };
    let nulls = array.logical_nulls();
    for row in 0..array.len() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            each("")?;
            continue;
        }
        let at = keys.as_ref().map_or(row, |keys| keys[row]);
        let text = if words.is_null(at) { None } else { text_at(&words, is_uuid(place.field), at) };
        each(&text.ok_or_else(|| Error::BadRow {
            path: place.path.to_owned(),
            row: place.row + row,
            detail: format!("its value in column {} has no text", quoted(place.field.name())),
        })?)?;
    }
    Ok(())
}

/// Returns the total length of the texts that the column holds. Values that are converted to text are short and not counted.
pub(crate) fn text_bytes(array: &ArrayRef) -> u64 {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let words = dictionary.values();
            if words.is_empty() {
                return 0;
            }
            let lengths: Vec<u64> = (0..words.len()).map(|at| text_bytes(&words.slice(at, 1))).collect();
            let keys = dictionary.normalized_keys().into_iter().enumerate();
            let keys = keys.filter(|&(row, _)| dictionary.keys().is_valid(row));
            keys.fold(0, |sum: u64, (_, key)| sum.saturating_add(lengths[key]))
        }
        DataType::Utf8 => span(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => span(array.as_string::<i64>().value_offsets()),
        DataType::Binary => span(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => span(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => view_lengths(array.as_string_view().views()),
        DataType::BinaryView => view_lengths(array.as_binary_view().views()),
        _ => 0,
    }
}

/// Returns the distance from the first to the last of `offsets`.
fn span<T: Copy + Into<i64>>(offsets: &[T]) -> u64 {
    let (first, last) = (offsets.first().copied().map_or(0, T::into), offsets.last().copied().map_or(0, T::into));
    u64::try_from(last.saturating_sub(first)).unwrap_or(0)
}

/// Sums the lengths of views, which are stored in their lowest bits.
fn view_lengths(views: &[u128]) -> u64 {
    views.iter().map(|&view| u64::from(view as u32)).sum()
}

/// Converts the values to texts or bytes.
fn with_text(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(array.clone()),
        bytes if is_bytes(bytes) => Ok(array.clone()),
        // Names of time zones are not supported here, but the moment is the same in every zone.
        DataType::Timestamp(unit, Some(_)) => {
            cast(&cast(array, &DataType::Timestamp(*unit, Some(Arc::from("+00:00"))))?, &DataType::LargeUtf8)
        }
        _ => cast(array, &DataType::LargeUtf8),
    }
}

/// Returns the text of the value at a position, or `None` for bytes that are not text.
fn text_at(words: &ArrayRef, uuid: bool, at: usize) -> Option<Cow<'_, str>> {
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let text = match words.data_type() {
        DataType::Utf8 => Some(words.as_string::<i32>().value(at)),
        DataType::LargeUtf8 => Some(words.as_string::<i64>().value(at)),
        DataType::Utf8View => Some(words.as_string_view().value(at)),
        DataType::Binary => text(words.as_binary::<i32>().value(at)),
        DataType::LargeBinary => text(words.as_binary::<i64>().value(at)),
        DataType::BinaryView => text(words.as_binary_view().value(at)),
        DataType::FixedSizeBinary(_) => {
            let bytes = words.as_fixed_size_binary().value(at);
            return if uuid { uuid_text(bytes).map(Cow::Owned) } else { text(bytes).map(Cow::Borrowed) };
        }
        _ => None,
    };
    text.map(Cow::Borrowed)
}

const EXTENSION: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";

fn is_uuid(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == UUID)
}

/// Marks the field as a column of UUIDs.
pub(crate) fn uuid_field(field: &Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(EXTENSION.to_owned(), UUID.to_owned());
    field.clone().with_metadata(metadata)
}

fn uuid_text(bytes: &[u8]) -> Option<String> {
    let number = u128::from_be_bytes(bytes.try_into().ok()?);
    let digits = format!("{number:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Some(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int8Type;
    use arrow_array::{
        BinaryArray, Date32Array, DictionaryArray, Int64Array, StringArray, StringViewArray, TimestampSecondArray,
    };

    use super::*;

    fn texts(array: impl Array + 'static) -> Result<Vec<String>> {
        let array: ArrayRef = Arc::new(array);
        let field = Field::new("id", array.data_type().clone(), true);
        let mut texts = Vec::new();
        let place = ColumnPlace { path: Path::new("a.arrow"), row: 10, field: &field };
        each_text(place, &array, |text| {
            texts.push(text.to_owned());
            Ok(())
        })?;
        Ok(texts)
    }

    #[test]
    fn readable_values_are_converted_to_text() {
        let bytes = BinaryArray::from_opt_vec(vec![Some(&b"a"[..]), None, Some("ü".as_bytes())]);
        assert_eq!(texts(bytes).unwrap(), ["a", "", "ü"]);
        assert_eq!(texts(Date32Array::from(vec![0, 19_000])).unwrap(), ["1970-01-01", "2022-01-08"]);
        let moment = TimestampSecondArray::from(vec![86_400]).with_timezone("Europe/Berlin");
        assert_eq!(texts(moment).unwrap(), ["1970-01-02T00:00:00Z"]);
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None]));
        let keys = arrow_array::Int8Array::from(vec![Some(0), None, Some(0)]);
        let dictionary = DictionaryArray::<Int8Type>::try_new(keys, values).unwrap();
        assert_eq!(texts(dictionary).unwrap(), ["7", "", "7"]);
    }

    #[test]
    fn texts_count_once_per_row() {
        let words: ArrayRef = Arc::new(StringArray::from(vec!["abc", "de"]));
        let keys = arrow_array::Int8Array::from(vec![Some(0), None, Some(1), Some(0)]);
        let dictionary = DictionaryArray::<Int8Type>::try_new(keys, words.clone()).unwrap();
        let long = "a text of more than twelve letters";
        let views = StringViewArray::from(vec![long, "a", long]);
        let counted: [(ArrayRef, u64); 4] = [
            (Arc::new(dictionary), 8),
            (words.slice(1, 1), 2),
            (Arc::new(views), 2 * long.len() as u64 + 1),
            (Arc::new(Int64Array::from(vec![7])), 0),
        ];
        for (array, expected) in counted {
            assert_eq!(text_bytes(&array), expected, "{}", array.data_type());
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_with_their_row() {
        let bytes = BinaryArray::from_vec(vec![b"a", b"\xff"]);
        let message = texts(bytes).unwrap_err().to_string();
        assert!(message.starts_with("row 11 of a.arrow cannot be read: its value in column 'id' has no text"));
    }

    #[test]
    fn a_uuid_is_written_as_usual() {
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(uuid_text(&bytes).unwrap(), "00010203-0405-0607-0809-0a0b0c0d0e0f");
        assert_eq!(uuid_text(&bytes[1..]), None);
    }
}
