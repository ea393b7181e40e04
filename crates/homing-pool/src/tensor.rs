//! Arrays in .npy, .npz and .safetensors files: a type, a shape, and bytes.

use std::path::Path;

use half::{bf16, f16};

use crate::chooser::no_embedding;
use crate::layout::{Column, Embedding, Layout, Role};
use crate::matrix::{Float, Matrix, Numbers};
use crate::memory_budget::MemoryBudget;
use crate::message::quoted;
use crate::pool::{Contents, RowColumns};
use crate::positional::Positional;
use crate::row_values::ValueReader;
use crate::store::Store;
use crate::table_columns::TableColumns;
use crate::{Error, ReadOptions, Result};

/// Type of an array's elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Dtype {
    Float(Float),
    Integer {
        size: usize,
        signed: bool,
    },
    Bool,
    /// NumPy text with a fixed number of four-byte code points.
    Unicode(usize),
    /// NumPy text with a fixed number of bytes.
    Ascii(usize),
    /// Name of a type that cannot be used.
    Other(String),
}

impl Dtype {
    pub(crate) fn name(&self) -> String {
        match self {
            Dtype::Float(float) => float.name().to_owned(),
            Dtype::Integer { size, signed } => format!("{}int{}", if *signed { "" } else { "u" }, size * 8),
            Dtype::Bool => "bool".to_owned(),
            Dtype::Unicode(_) | Dtype::Ascii(_) => "text".to_owned(),
            Dtype::Other(name) => name.clone(),
        }
    }

    /// Returns the number of bytes per element, or `None` for a type that cannot be used.
    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Dtype::Float(float) => Some(float.size()),
            Dtype::Integer { size, .. } => Some(*size),
            Dtype::Bool => Some(1),
            Dtype::Unicode(points) => points.checked_mul(4),
            Dtype::Ascii(bytes) => Some(*bytes),
            Dtype::Other(_) => None,
        }
    }
}

/// Type and shape of an array.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) big_endian: bool,
    pub(crate) column_major: bool,
}

impl Header {
    /// Returns the number of bytes of all elements, or `None` if it is too large to address or the size of an element is unknown.
    pub(crate) fn byte_len(&self) -> Option<usize> {
        self.shape.iter().try_fold(self.dtype.size()?, |product, &extent| product.checked_mul(extent))
    }

    fn role(&self) -> Role {
        match (&self.dtype, self.shape.len()) {
            (Dtype::Float(_), 2) => Role::Floats,
            (Dtype::Integer { .. }, 2) => Role::Integers,
            (Dtype::Float(_) | Dtype::Integer { .. } | Dtype::Bool, 1) => Role::Number,
            (Dtype::Unicode(_) | Dtype::Ascii(_), 1) => Role::Text,
            _ => Role::Other,
        }
    }

    pub(crate) fn column(&self, name: &str) -> Column {
        let role = self.role();
        let kind = match role {
            Role::Integers => self.dtype.name(),
            _ => format!("{} of shape {}", self.dtype.name(), self.shape_text()),
        };
        Column { name: name.to_owned(), role, kind }
    }

    fn shape_text(&self) -> String {
        let extents: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        match &extents[..] {
            [only] => format!("({only},)"),
            _ => format!("({})", extents.join(", ")),
        }
    }
}

/// A header and exactly the bytes that it requires.
#[derive(Debug, Clone)]
pub(crate) struct Tensor {
    pub(crate) header: Header,
    pub(crate) store: Store,
}

impl Tensor {
    pub(crate) fn into_matrix(self, path: &Path) -> Result<Matrix> {
        let Header { dtype, shape, big_endian, column_major } = &self.header;
        let owned = || path.to_owned();
        let &[rows, dim] = &shape[..] else {
            return Err(Error::NotTwoDimensional { path: owned(), shape: self.header.shape_text() });
        };
        let &Dtype::Float(float) = dtype else {
            return Err(Error::Dtype { path: owned(), dtype: dtype.name() });
        };
        if rows == 0 {
            return Err(Error::NoRows { path: owned() });
        }
        let copies = match &self.store {
            Store::Memory(bytes) => {
                let copied = *big_endian || !Numbers::is_aligned(float, bytes);
                (u64::from(copied) + u64::from(*column_major)).saturating_mul(bytes.len() as u64)
            }
            Store::File(_) => 0,
        };
        MemoryBudget::now().check(path, copies)?;
        let numbers = match (self.store, big_endian, column_major) {
            (Store::File(_), _, true) => return Err(Error::ColumnMajor { path: owned() }),
            (Store::File(span), &big_endian, false) => {
                Numbers::Read(Box::new(Positional::new(span, float, big_endian)))
            }
            (Store::Memory(bytes), false, false) => Numbers::from_le_bytes(float, bytes),
            (Store::Memory(bytes), true, false) => Numbers::copied(float, &bytes, true),
            (Store::Memory(bytes), false, true) => Numbers::from_le_bytes(float, bytes).transposed(rows, dim),
            (Store::Memory(bytes), true, true) => Numbers::copied(float, &bytes, true).transposed(rows, dim),
        };
        Matrix::new(numbers, dim).ok_or_else(|| Error::NoValues { path: owned() })
    }

    /// Returns one text per element.
    pub(crate) fn texts(&self, path: &Path) -> Result<Vec<String>> {
        let (mut texts, mut budget) = (Vec::new(), MemoryBudget::now());
        let no_text =
            |row: usize| Error::BadRow { path: path.to_owned(), row, detail: "its text is not Unicode".into() };
        match self.header.dtype {
            Dtype::Unicode(points) => {
                for (row, text) in self.store.bytes()?.chunks_exact(points * 4).enumerate() {
                    budget.keep(path, &self.unicode(text).ok_or_else(|| no_text(row))?, &mut texts)?;
                }
            }
            Dtype::Ascii(size) => {
                for (row, text) in self.store.bytes()?.chunks_exact(size).enumerate() {
                    let text = std::str::from_utf8(text).map_err(|_| no_text(row))?;
                    budget.keep(path, text.trim_end_matches('\0'), &mut texts)?;
                }
            }
            Dtype::Integer { .. } => {
                self.integers(path)?.iter().try_for_each(|i| budget.keep(path, &i.to_string(), &mut texts))?;
            }
            _ => self.numbers(path)?.iter().try_for_each(|x| budget.keep(path, &x.to_string(), &mut texts))?,
        }
        Ok(texts)
    }

    /// Returns `None` if some code point is invalid.
    fn unicode(&self, text: &[u8]) -> Option<String> {
        let points = text.as_chunks::<4>().0.iter().map(|&point| {
            char::from_u32(if self.header.big_endian { u32::from_be_bytes(point) } else { u32::from_le_bytes(point) })
        });
        let text: String = points.collect::<Option<_>>()?;
        Some(text.trim_end_matches('\0').to_owned())
    }

    /// Returns one number per element.
    pub(crate) fn numbers(&self, path: &Path) -> Result<Vec<f64>> {
        let Dtype::Float(float) = self.header.dtype else {
            return Ok(self.integers(path)?.iter().map(|&i| i as f64).collect());
        };
        self.elements(path, float.size(), |chunk| match float {
            Float::F16 => f16::from_le_bytes([chunk[0], chunk[1]]).to_f64(),
            Float::Bf16 => bf16::from_le_bytes([chunk[0], chunk[1]]).to_f64(),
            Float::F32 => f64::from(f32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]])),
            Float::F64 => f64::from_le_bytes(*chunk),
        })
    }

    /// Returns one integer per element of an array of integers or truth values.
    pub(crate) fn integers(&self, path: &Path) -> Result<Vec<i128>> {
        let (size, signed) = match self.header.dtype {
            Dtype::Integer { size, signed } => (size, signed),
            Dtype::Bool => (1, false),
            _ => return Ok(Vec::new()),
        };
        self.elements(path, size, |chunk| {
            let unused = 64 - 8 * size as u32;
            let shifted = u64::from_le_bytes(*chunk) << unused;
            if signed { i128::from(shifted.cast_signed() >> unused) } else { i128::from(shifted >> unused) }
        })
    }

    /// Reads elements of `size` bytes; `read` receives each as little-endian bytes, padded with zeros.
    fn elements<T>(&self, path: &Path, size: usize, read: impl Fn(&[u8; 8]) -> T) -> Result<Vec<T>> {
        let needed = (self.store.len() / size as u64).saturating_mul(size_of::<T>() as u64);
        MemoryBudget::now().check(path, needed)?;
        let bytes = self.store.bytes()?;
        let element = |chunk: &[u8]| {
            let mut element = [0; 8];
            element[..size].copy_from_slice(chunk);
            if self.header.big_endian {
                element[..size].reverse();
            }
            read(&element)
        };
        Ok(bytes.chunks_exact(size).map(element).collect())
    }
}

/// A file of named arrays.
pub(crate) trait Archive {
    /// Returns the names and headers of its arrays.
    fn headers(&self) -> Vec<(String, Header)>;

    /// Returns the array at a position among the headers.
    fn tensor(&mut self, position: usize) -> Result<Tensor>;
}

/// Reads the arrays that `options` request, or those that have usual names or the only fitting shape.
pub(crate) fn read(path: &Path, archive: &mut dyn Archive, options: &ReadOptions) -> Result<Contents> {
    let columns: Vec<Column> = archive.headers().iter().map(|(name, header)| header.column(name)).collect();
    let layout = Layout::choose(path, &columns, options)?;
    // Only tables hold embeddings as number columns side by side; arrays do not.
    let Embedding::Column(embedding) = layout.embedding else { return Err(no_embedding(path, &columns)) };
    let table = TableColumns::new(columns.clone(), &layout);
    let embeddings = archive.tensor(embedding)?.into_matrix(path)?;
    let rows = embeddings.rows();
    let is_other = |(_, header): &(String, Header)| header.shape != [rows] || matches!(header.dtype, Dtype::Other(_));
    let headers = archive.headers();
    let table = table.without((0..headers.len()).filter(|&position| is_other(&headers[position])).collect());
    let one_a_row = |position: usize, found: usize| {
        if found == rows {
            Ok(())
        } else {
            let name = quoted(&columns[position].name);
            Err(Error::ColumnLength { path: path.to_owned(), name, found, rows })
        }
    };
    let mut texts = |position: Option<usize>| -> Result<Option<Vec<String>>> {
        let Some(position) = position else { return Ok(None) };
        let tensor = archive.tensor(position)?;
        one_a_row(position, tensor.header.shape[0])?;
        Ok(Some(tensor.texts(path)?))
    };
    let (ids, groups, labels) = (texts(layout.id)?, texts(layout.group)?, texts(layout.label)?);
    let mut numbers = Vec::new();
    for (name, position) in layout.numbers {
        let tensor = archive.tensor(position)?;
        one_a_row(position, tensor.header.shape[0])?;
        numbers.push((name, tensor.numbers(path)?));
    }
    let mut probabilities = None;
    if let Some(position) = layout.probabilities {
        let matrix = archive.tensor(position)?.into_matrix(path)?;
        one_a_row(position, matrix.rows())?;
        probabilities = Some(matrix);
    }
    let columns = RowColumns { ids, groups, labels, numbers, probabilities };
    Ok(Contents { embeddings, columns, side_by_side: Vec::new(), ignored_numbers: Vec::new(), table, in_memory: None })
}

/// Counts the rows of the embeddings.
pub(crate) fn count(path: &Path, archive: &dyn Archive, options: &ReadOptions) -> Result<usize> {
    let headers = archive.headers();
    let columns: Vec<Column> = headers.iter().map(|(name, header)| header.column(name)).collect();
    let Embedding::Column(embedding) = Layout::choose(path, &columns, options)?.embedding else {
        return Err(no_embedding(path, &columns));
    };
    Ok(headers[embedding].1.shape[0])
}

/// Reads values of arrays with one text or number per row.
pub(crate) fn values(path: &Path, archive: &mut dyn Archive, reader: &mut ValueReader) -> Result<()> {
    let headers = archive.headers();
    let positions = reader.positions(path, headers.iter().map(|(name, _)| name.as_str()))?;
    let columns = positions.into_iter().map(|position| archive.tensor(position)?.texts(path));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    while let Some(row) = reader.next_row() {
        if columns.iter().any(|texts| row >= texts.len()) {
            break;
        }
        reader.push_texts(path, columns.iter().map(|texts| texts[row].as_str()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn tensor(dtype: Dtype, shape: &[usize], big_endian: bool, bytes: &[u8]) -> Tensor {
        let header = Header { dtype, shape: shape.to_vec(), big_endian, column_major: false };
        assert_eq!(header.byte_len(), Some(bytes.len()));
        Tensor { header, store: Store::Memory(Bytes::copy_from_slice(bytes)) }
    }

    fn path() -> &'static Path {
        Path::new("a.npy")
    }

    #[test]
    fn integers_of_every_width_keep_their_sign() {
        let byte = tensor(Dtype::Integer { size: 1, signed: true }, &[2], false, &[0xff, 3]);
        assert_eq!(byte.integers(path()).unwrap(), [-1, 3]);
        let word = tensor(Dtype::Integer { size: 4, signed: true }, &[1], true, &(-5i32).to_be_bytes());
        assert_eq!(word.integers(path()).unwrap(), [-5]);
        let long = tensor(Dtype::Integer { size: 8, signed: false }, &[1], false, &u64::MAX.to_le_bytes());
        assert_eq!(long.texts(path()).unwrap(), ["18446744073709551615"]);
    }

    #[test]
    fn halves_read_as_numbers() {
        let half = tensor(Dtype::Float(Float::F16), &[1], true, &f16::from_f32(0.5).to_be_bytes());
        assert_eq!(half.numbers(path()).unwrap(), [0.5]);
        let brain = tensor(Dtype::Float(Float::Bf16), &[1], false, &bf16::from_f32(-2.0).to_le_bytes());
        assert_eq!(brain.numbers(path()).unwrap(), [-2.0]);
    }

    #[test]
    fn numpy_texts_end_at_their_padding() {
        let bytes: Vec<u8> = "ab\0é\0\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        assert_eq!(tensor(Dtype::Unicode(3), &[2], false, &bytes).texts(path()).unwrap(), ["ab", "é"]);
        assert_eq!(tensor(Dtype::Ascii(3), &[2], false, b"ab\0c\0\0").texts(path()).unwrap(), ["ab", "c"]);
        for (dtype, bytes) in [(Dtype::Ascii(1), &b"a\xff"[..]), (Dtype::Unicode(1), b"a\0\0\0\0\0\xff\xff")] {
            let message = tensor(dtype, &[2], false, bytes).texts(path()).unwrap_err().to_string();
            assert!(message.starts_with("row 1 of a.npy cannot be read: its text is not Unicode"), "{message}");
        }
    }

    #[test]
    fn a_shape_beyond_memory_has_no_length() {
        let header = Header {
            dtype: Dtype::Float(Float::F32),
            shape: vec![usize::MAX, 2],
            big_endian: false,
            column_major: false,
        };
        assert_eq!(header.byte_len(), None);
    }
}
