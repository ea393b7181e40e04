//! Ids of every type are read as texts.

use std::collections::HashMap;
use std::sync::Arc;

use crate::samples::*;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, DictionaryArray, FixedSizeBinaryArray, Int64Array, LargeBinaryArray,
    RecordBatch, StringViewArray,
};
use arrow_schema::{DataType, Field, Schema};
use homing_pool::{Format, Pool, ReadOptions};
use parquet::data_type::{ByteArray, DoubleType, FixedLenByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

fn ids_of(format: Format, bytes: Vec<u8>) -> Vec<String> {
    Pool::from_bytes(format, bytes, &ReadOptions::default()).unwrap().ids().unwrap().to_vec()
}

fn tables(table: &RecordBatch) -> [(Format, Vec<u8>); 2] {
    let table = std::slice::from_ref(table);
    [(Format::Parquet, parquet(table)), (Format::Arrow, arrow_stream(table))]
}

const UUIDS: [&str; 2] = ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-0000000000ff"];

fn uuid(last: u8) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[15] = last;
    bytes
}

#[test]
fn bytes_dates_and_categories_are_ids_by_their_text() {
    let categories = DictionaryArray::<Int32Type>::new(vec![1, 0].into(), Arc::new(Int64Array::from(vec![7, 8])));
    let columns: [(ArrayRef, [&str; 2]); 6] = [
        (Arc::new(BinaryArray::from_vec(vec![b"a", b"b"])), ["a", "b"]),
        (Arc::new(LargeBinaryArray::from_vec(vec![b"a", b"b"])), ["a", "b"]),
        (Arc::new(Date32Array::from(vec![0, 1])), ["1970-01-01", "1970-01-02"]),
        (Arc::new(StringViewArray::from(vec!["a", "b"])), ["a", "b"]),
        (Arc::new(DictionaryArray::<Int32Type>::from_iter(["a", "b"])), ["a", "b"]),
        (Arc::new(categories), ["8", "7"]),
    ];
    for (column, expected) in columns {
        for (format, bytes) in tables(&batch(vec![("id", column), ("x", lists())])) {
            assert_eq!(ids_of(format, bytes), expected, "{format:?}");
        }
    }
    let bytes = npz(&[("x", plain_npy()), ("id", npy("|S1", false, "(2,)", b"ab"))], false);
    assert_eq!(ids_of(Format::Npz, bytes), ["a", "b"]);
}

#[test]
fn a_uuid_is_an_id_in_its_usual_writing() {
    let uuids = FixedSizeBinaryArray::try_from_iter([uuid(1), uuid(255)].iter()).unwrap();
    let metadata = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]);
    let field = Field::new("id", DataType::FixedSizeBinary(16), false).with_metadata(metadata);
    let schema = Schema::new(vec![field, Field::new("x", lists().data_type().clone(), true)]);
    let table = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(uuids), lists()]).unwrap();
    for (format, bytes) in tables(&table) {
        assert_eq!(ids_of(format, bytes), UUIDS, "{format:?}");
    }
    // Other writers than Arrow declare UUIDs with Parquet's own logical type.
    let message =
        "message table { required fixed_len_byte_array(16) id (UUID); required double x; required double y; }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut file = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut file, schema, Arc::new(WriterProperties::builder().build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let uuids = [uuid(1), uuid(255)].map(|bytes| ByteArray::from(bytes.to_vec()).into());
    column.typed::<FixedLenByteArrayType>().write_batch(&uuids, None, None).unwrap();
    column.close().unwrap();
    for _ in 0..2 {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[0.5, 1.5], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    assert_eq!(ids_of(Format::Parquet, file), UUIDS);
}
