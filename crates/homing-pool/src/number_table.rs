//! Tables of numbers for the rows of a pool.

use std::io;
use std::path::Path;

use bytes::Bytes;

use crate::memory_budget::MemoryBudget;
use crate::npy::tensor;
use crate::pool::FORMAT_BYTES;
use crate::store::{Access, Store};
use crate::tensor::Dtype;
use crate::{Error, Format, Pool, ReadOptions, Result};

/// A table with the same number of values in each row.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberTable {
    /// All values, row by row.
    pub numbers: Vec<f64>,
    /// Number of rows.
    pub rows: usize,
}

impl NumberTable {
    /// Reads the number columns of a table or the columns of an array. A one-dimensional array is one column.
    pub fn open(path: &Path) -> Result<Self> {
        if let Ok(Format::Npy) = Format::of(path)
            && let Some(numbers) = column(path, &Store::open(path, Access::Auto)?)?
        {
            return Ok(Self { rows: numbers.len(), numbers });
        }
        Self::of(&Pool::open(path, &ReadOptions::default())?)
    }

    /// Reads `bytes` as the contents of a file.
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
        MemoryBudget::now().check(pool.path(), (count as u64).saturating_mul(8))?;
        let mut numbers = vec![0.0; count];
        let embeddings = pool.embeddings();
        embeddings.read(0..pool.rows(), &mut numbers);
        let failed = |error: homing::Error| Error::read(pool.path(), io::Error::other(error));
        embeddings.check_read().map_err(failed)?;
        Ok(Self { numbers, rows: pool.rows() })
    }
}

/// Reads a one-dimensional array of numbers, or returns `None` if the array has another shape.
fn column(path: &Path, store: &Store) -> Result<Option<Vec<f64>>> {
    Format::Npy.check(path, &store.first_bytes(FORMAT_BYTES)?)?;
    let tensor = tensor(path, store)?;
    match (&tensor.header.dtype, &tensor.header.shape[..]) {
        (_, [0]) => Err(Error::NoRows { path: path.to_owned() }),
        (Dtype::Float(_) | Dtype::Integer { .. } | Dtype::Bool, [_]) => tensor.numbers(path).map(Some),
        (dtype, [_]) => Err(Error::Dtype { path: path.to_owned(), dtype: dtype.name() }),
        _ => Ok(None),
    }
}
