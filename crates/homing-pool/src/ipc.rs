//! Arrow IPC files, in the stream format (as Hugging Face datasets are kept) and in the file format.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Buffer as Region, root_as_message};
use arrow_schema::SchemaRef;
use bytes::Bytes;

use crate::arrow::Table;
use crate::guard::caught;
use crate::pool::Contents;
use crate::room::Room;
use crate::{Error, ReadOptions, Result};

const FORMAT: &str = "Arrow";

/// The file format is the stream format between this, with zeros up to a multiple of 8 or 64 bytes, and a footer.
const FILE_FRONT: &[u8] = b"ARROW1\0\0";

/// No compressed byte of zstd or lz4 stands for more bytes.
const COMPRESSION_RATIO: u64 = 32 * 1024;

pub(crate) fn read(path: &Path, bytes: &Bytes, options: &ReadOptions) -> Result<Contents> {
    let mut table = None;
    append(path, bytes, options, &mut table)?;
    crate::parquet::finish(path, table)
}

/// Adds the rows of a file to `table`, which its first file makes.
pub(crate) fn append(path: &Path, bytes: &Bytes, options: &ReadOptions, table: &mut Option<Table>) -> Result<()> {
    let mut positions = None;
    batches(path, bytes, |schema, row, batch| {
        let positions = match (&positions, &mut *table) {
            (Some(positions), _) => positions,
            (None, Some(table)) => positions.insert(table.next_file(path, schema, options)?),
            (None, none) => {
                let (new, chosen) = Table::new(path, schema, options)?;
                *none = Some(new);
                positions.insert(chosen)
            }
        };
        let Some(batch) = batch else { return Ok(()) };
        let chosen = batch.project(positions).map_err(|error| Error::malformed(path, FORMAT, &error))?;
        table.as_mut().expect("made above").push(path, row, &chosen)
    })
}

/// Hands the schema, alone and with each batch and the number of its first row, to `take`.
pub(crate) fn batches(
    path: &Path,
    bytes: &Bytes,
    mut take: impl FnMut(&SchemaRef, usize, Option<&RecordBatch>) -> Result<()>,
) -> Result<()> {
    let stream = stream(path, bytes)?;
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

/// The messages in `bytes` up to the end of the stream, once their lengths are known to be true:
/// the decoder allocates by them.
fn stream(path: &Path, bytes: &Bytes) -> Result<Bytes> {
    let mut start = if bytes.starts_with(FILE_FRONT) { FILE_FRONT.len() } else { 0 };
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
    let room = Room::now();
    let (mut at, mut ended) = (start, false);
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
        let batch = batch.or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()));
        if let Some(batch) = batch.filter(|batch| batch.compression().is_some()) {
            let mut regions = batch.buffers().into_iter().flatten();
            let claims =
                regions.try_fold(0u64, |sum, region| Some(sum.saturating_add(inflated(&bytes[body..end], region)?)));
            room.check(path, claims.ok_or_else(|| malformed("a compressed column claims an impossible length"))?)?;
        }
        at = end;
    }
    // Cut between two batches, a stream is as whole as before but for its end.
    if !ended && at > start {
        return Err(malformed("it does not end as one, so it was cut short"));
    }
    Ok(bytes.slice(start..at))
}

/// Bytes that a compressed region claims to hold; none if they are more than any compression could put there.
fn inflated(body: &[u8], region: &Region) -> Option<u64> {
    let start = usize::try_from(region.offset()).unwrap_or(usize::MAX);
    let length = usize::try_from(region.length()).unwrap_or(0);
    // An empty region begins where the next one does, whose claim is not its own.
    let compressed = body.get(start..).map(|rest| &rest[..length.min(rest.len())])?;
    let claim = compressed.first_chunk::<8>().map_or(0, |claim| i64::from_le_bytes(*claim));
    let claim = u64::try_from(claim).unwrap_or(0);
    (claim <= (compressed.len() as u64).saturating_mul(COMPRESSION_RATIO)).then_some(claim)
}
