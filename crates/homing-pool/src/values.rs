//! Numbers that go with the rows of a pool.

use std::path::Path;

use bytes::Bytes;

use crate::npy::tensor;
use crate::pool::FRONT;
use crate::room::Room;
use crate::store::{Access, Store};
use crate::tensor::Dtype;
use crate::{Error, Format, Pool, ReadOptions, Result};

/// Some numbers a row, one row after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// All of them.
    pub numbers: Vec<f64>,
    /// Rows.
    pub rows: usize,
}

impl Values {
    /// Reads the number columns of a table or the columns of an array; an array of one dimension is one column.
    pub fn open(path: &Path) -> Result<Self> {
        if let Ok(Format::Npy) = Format::of(path)
            && let Some(numbers) = column(path, &Store::open(path, Access::Map)?)?
        {
            return Ok(Self { rows: numbers.len(), numbers });
        }
        Self::of(&Pool::open(path, &ReadOptions { access: Access::Map, ..ReadOptions::default() })?)
    }

    /// Reads `bytes` as if they were a file's.
    #[doc(hidden)]
    pub fn from_bytes(format: Format, bytes: Vec<u8>) -> Result<Self> {
        let bytes = Bytes::from(bytes);
        if format == Format::Npy
            && let Some(numbers) = column(Path::new("bytes"), &Store::Memory(bytes.clone()))?
        {
            return Ok(Self { rows: numbers.len(), numbers });
        }
        Self::of(&Pool::from_bytes(format, bytes.into(), &ReadOptions::default())?)
    }

    fn of(pool: &Pool) -> Result<Self> {
        let count = pool.rows() * pool.dim();
        Room::now().check(pool.path(), (count as u64).saturating_mul(8))?;
        let mut numbers = vec![0.0; count];
        pool.embeddings().read(0..pool.rows(), &mut numbers);
        Ok(Self { numbers, rows: pool.rows() })
    }
}

/// The numbers of a one-dimensional array.
fn column(path: &Path, store: &Store) -> Result<Option<Vec<f64>>> {
    Format::Npy.check(path, &store.front(FRONT)?)?;
    let tensor = tensor(path, store)?;
    match (&tensor.header.dtype, &tensor.header.shape[..]) {
        (_, [0]) => Err(Error::NoRows { path: path.to_owned() }),
        (Dtype::Float(_) | Dtype::Integer { .. } | Dtype::Bool, [_]) => tensor.numbers(path).map(Some),
        (dtype, [_]) => Err(Error::Dtype { path: path.to_owned(), dtype: dtype.name() }),
        _ => Ok(None),
    }
}
