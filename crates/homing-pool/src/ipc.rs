//! Reads Arrow IPC files, in the stream format (which Hugging Face datasets use) and in the file format.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Buffer as Region, root_as_message};
use arrow_schema::{Field, SchemaRef};
use bytes::Bytes;

use crate::arrow::ArrowTable;
use crate::format::{Beginning, FormatReader};
use crate::guard::caught;
use crate::memory_budget::MemoryBudget;
use crate::row_values::ValueReader;
use crate::{Error, ReadOptions, Result, arrow, column, row_files};

const FORMAT: &str = "Arrow";

/// Start of a file in the file format. Padding to a multiple of 8 or 64 bytes, a stream and a footer follow.
const FILE_MAGIC: &[u8] = b"ARROW1\0\0";

/// Maximum number of bytes that one compressed byte of zstd or lz4 can represent.
const COMPRESSION_RATIO: u64 = 32 * 1024;

pub(crate) const READER: FormatReader = FormatReader {
    extensions: &["arrow"],
    description: "an Arrow file",
    beginning: Beginning::Magic(&[(b"ARROW1", "an Arrow file"), (&[0xff; 4], "an Arrow stream")]),
    in_place: false,
    pool: |path, store, options| arrow::read(path, &store.bytes()?, options, append),
    column: column::arrow_column,
    rows: row_files::arrow_table,
    values,
    count: |path, store, _| Ok(Stream::open(path, &store.bytes()?)?.rows),
    shard: Some(append),
};

/// Adds the rows of a file to `table`, which the first file creates.
fn append(path: &Path, bytes: &Bytes, options: &ReadOptions, table: &mut Option<ArrowTable>) -> Result<()> {
    let mut positions = None;
    batches(path, bytes, |schema, row, batch| {
        let positions = match (&positions, &mut *table) {
            (Some(positions), _) => positions,
            (None, Some(table)) => positions.insert(table.next_file(path, schema, options)?),
            (None, none) => {
                let (new, chosen) = ArrowTable::new(path, schema, options)?;
                *none = Some(new);
                positions.insert(chosen)
            }
        };
        let Some(batch) = batch else { return Ok(()) };
        let chosen = batch.project(positions).map_err(|error| Error::malformed(path, FORMAT, &error))?;
        table.as_mut().expect("the table was created above").push(path, row, &chosen)
    })
}

/// Reads values of some columns and rows.
fn values(path: &Path, bytes: &Bytes, reader: &mut ValueReader) -> Result<()> {
    batches(path, bytes, |schema, row, batch| {
        let Some(batch) = batch else { return Ok(()) };
        let positions = reader.positions(path, schema.fields().iter().map(|field| field.name().as_str()))?;
        let fields: Vec<&Field> = positions.iter().map(|&position| schema.field(position)).collect();
        let chosen = batch.project(&positions).map_err(|error| Error::malformed(path, FORMAT, &error))?;
        reader.push_batch(path, row, &chosen, &fields)
    })
}

/// Calls `take` with the schema alone, and then with the schema, each batch and the number of its first row.
pub(crate) fn batches(
    path: &Path,
    bytes: &Bytes,
    mut take: impl FnMut(&SchemaRef, usize, Option<&RecordBatch>) -> Result<()>,
) -> Result<()> {
    let stream = Stream::open(path, bytes)?.messages;
    caught(path, FORMAT, || {
        let malformed = |error| Error::malformed(path, FORMAT, &error);
        let mut decoder = StreamDecoder::new();
        let mut rest = Buffer::from(stream);
        let mut row = 0;
        while !rest.is_empty() {
            let batch = decoder.decode(&mut rest).map_err(malformed)?;
            match decoder.schema() {
                Some(schema) => take(&schema, row, batch.as_ref())?,
                None => break,
            }
            row += batch.map_or(0, |batch| batch.num_rows());
        }
        decoder.finish().map_err(malformed)
    })
}

/// Messages of a file, up to the end of its stream.
struct Stream {
    messages: Bytes,
    /// Number of rows of all batches.
    rows: usize,
}

impl Stream {
    /// Finds the messages in `bytes` and checks their lengths, because the decoder allocates memory according to them.
    fn open(path: &Path, bytes: &Bytes) -> Result<Self> {
        let mut start = if bytes.starts_with(FILE_MAGIC) { FILE_MAGIC.len() } else { 0 };
        while (8..64).contains(&start) && bytes[start..].starts_with(&[0; 8]) {
            start += 8;
        }
        let malformed = |detail: &str| Error::malformed(path, FORMAT, detail);
        let need = |end: usize| {
            let (expected, found) = (end as u64, bytes.len() as u64);
            if expected <= found { Ok(()) } else { Err(Error::Truncated { path: path.to_owned(), expected, found }) }
        };
        let number = |at: usize| -> Result<u32> {
            need(at + 4)?;
            Ok(u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
        };
        let budget = MemoryBudget::now();
        let (mut at, mut ended, mut rows) = (start, false, 0usize);
        while at < bytes.len() {
            let mut length = number(at)?;
            at += 4;
            if length == u32::MAX {
                length = number(at)?;
                at += 4;
            }
            if length == 0 {
                ended = true;
                break;
            }
            let body = at + length as usize;
            need(body)?;
            let message = root_as_message(&bytes[at..body]).map_err(|error| malformed(&error.to_string()))?;
            let body_length = usize::try_from(message.bodyLength()).map_err(|_| malformed("a length is negative"))?;
            let end = body.checked_add(body_length).ok_or_else(|| malformed("a length is too large"))?;
            need(end)?;
            let batch = message.header_as_record_batch();
            rows = rows.saturating_add(batch.map_or(0, |batch| usize::try_from(batch.length()).unwrap_or(0)));
            let batch = batch.or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()));
            if let Some(batch) = batch.filter(|batch| batch.compression().is_some()) {
                let mut regions = batch.buffers().into_iter().flatten();
                let claims = regions
                    .try_fold(0u64, |sum, region| Some(sum.saturating_add(inflated(&bytes[body..end], region)?)));
                budget
                    .check(path, claims.ok_or_else(|| malformed("a compressed column claims an impossible length"))?)?;
            }
            at = end;
        }
        // A stream that is cut between two batches lacks only its end marker.
        if !ended && at > start {
            return Err(malformed("it does not end as one, so it was cut short"));
        }
        Ok(Self { messages: bytes.slice(start..at), rows })
    }
}

/// Returns the number of bytes that a compressed region claims to hold, or that its decoder would produce if that is more.
/// Returns `None` if no compression could achieve that.
fn inflated(body: &[u8], region: &Region) -> Option<u64> {
    let start = usize::try_from(region.offset()).unwrap_or(usize::MAX);
    let length = usize::try_from(region.length()).unwrap_or(0);
    // An empty region begins where the next one does, and must not be mistaken for it.
    let compressed = body.get(start..).map(|rest| &rest[..length.min(rest.len())])?;
    let Some((claim, frames)) = compressed.split_first_chunk::<8>() else { return Some(0) };
    let claim = u64::try_from(i64::from_le_bytes(*claim)).unwrap_or(0);
    let possible = claim <= (compressed.len() as u64).saturating_mul(COMPRESSION_RATIO);
    // The LZ4 decoder does not stop at the claimed length.
    possible.then(|| claim.max(lz4_frame(frames).unwrap_or(0)))
}

/// Returns the most bytes that the blocks of an LZ4 frame can hold, or `None` if `bytes` are not such a frame.
fn lz4_frame(bytes: &[u8]) -> Option<u64> {
    const FRAME: [u8; 4] = 0x184D_2204u32.to_le_bytes();
    const OLD_FRAME: [u8; 4] = 0x184C_2102u32.to_le_bytes();
    let (flags, largest, mut rest) = match bytes.split_first_chunk()? {
        (&OLD_FRAME, rest) => (0, 8 << 20, rest),
        (&FRAME, rest) => {
            let (&[flags, sizes], rest) = rest.split_first_chunk()?;
            let skipped = 1 + 8 * usize::from(flags >> 3 & 1) + 4 * usize::from(flags & 1);
            (flags, 1u64 << (8 + 2 * u32::from(sizes >> 4 & 7).max(4)), rest.get(skipped..)?)
        }
        _ => return None,
    };
    let mut total = 0u64;
    while let Some((&size, after)) = rest.split_first_chunk() {
        let size = u32::from_le_bytes(size);
        let stored = size & 0x7fff_ffff;
        if stored == 0 {
            break;
        }
        let most = if size == stored { largest.min(u64::from(stored).saturating_mul(255)) } else { u64::from(stored) };
        total = total.saturating_add(most);
        rest = after.get(stored as usize + 4 * usize::from(flags >> 4 & 1)..).unwrap_or_default();
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_an_lz4_frame_are_counted() {
        let header = |flags: u8, sizes: u8| [&[0x04, 0x22, 0x4D, 0x18, flags, sizes][..], &[0]].concat();
        let block = |size: u32| [&size.to_le_bytes()[..], &vec![7; (size & 0x7fff_ffff) as usize]].concat();
        let frame = |header: Vec<u8>, blocks: &[u32]| {
            [header, blocks.iter().flat_map(|&size| block(size)).collect(), vec![0; 4]].concat()
        };
        assert_eq!(lz4_frame(&frame(header(0x60, 0x40), &[1000, 1000])), Some(2 * 64 * 1024));
        assert_eq!(lz4_frame(&frame(header(0x60, 0x70), &[10, 0x8000_0014])), Some(10 * 255 + 20));
        assert_eq!(lz4_frame(&frame(vec![0x02, 0x21, 0x4C, 0x18], &[100_000])), Some(8 << 20));
        assert_eq!(lz4_frame(b"no frame"), None);
        assert_eq!(lz4_frame(&header(0x60, 0x40)), Some(0));
    }
}
