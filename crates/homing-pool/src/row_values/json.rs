//! Converts values of Arrow columns to JSON.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use serde_json::{Map, Number, Value};

/// Returns the value at `row`: numbers as numbers, lists as lists, structs as objects, and everything else as text.
///
/// Numbers that JSON does not have, such as NaN, become null.
pub(super) fn value_at(array: &ArrayRef, row: usize) -> Value {
    if array.logical_nulls().is_some_and(|nulls| nulls.is_null(row)) {
        return Value::Null;
    }
    let list = |items: ArrayRef| Value::Array((0..items.len()).map(|at| value_at(&items, at)).collect());
    match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Utf8 => Value::String(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Value::String(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Value::String(array.as_string_view().value(row).to_owned()),
        DataType::Binary => bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytes(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row)),
        DataType::List(_) => list(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(_, _) => list(array.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            Value::Object(columns.map(|(field, column)| (field.name().clone(), value_at(column, row))).collect())
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let key = |at| match value_at(keys, at) {
                Value::String(text) => text,
                value => value.to_string(),
            };
            Value::Object((0..entries.len()).map(|at| (key(at), value_at(values, at))).collect::<Map<_, _>>())
        }
        DataType::Dictionary(_, values) => match cast(&array.slice(row, 1), values) {
            Ok(value) => value_at(&value, 0),
            Err(_) => Value::Null,
        },
        // Names of time zones are not supported here, but the moment is the same in every zone.
        DataType::Timestamp(unit, Some(zone)) if &**zone != "+00:00" => {
            let utc = DataType::Timestamp(*unit, Some(Arc::from("+00:00")));
            cast(&array.slice(row, 1), &utc).map_or(Value::Null, |moment| value_at(&moment, 0))
        }
        data_type => match shown(array, row) {
            Some(text) if data_type.is_integer() => text.parse().map_or(Value::String(text), Value::Number),
            // The shortest digits that identify the number, also for those of 16 or 32 bits.
            Some(text) if data_type.is_floating() => {
                text.parse().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
            }
            Some(text) => Value::String(text),
            None => Value::Null,
        },
    }
}

fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::String(text.to_owned()),
        Err(_) => Value::String(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(digit).collect()),
    }
}

fn digit(value: u8) -> Option<char> {
    char::from_digit(value.into(), 16)
}

fn shown(array: &ArrayRef, row: usize) -> Option<String> {
    let formatter = ArrayFormatter::try_new(array, &FormatOptions::default()).ok()?;
    formatter.value(row).try_to_string().ok()
}
