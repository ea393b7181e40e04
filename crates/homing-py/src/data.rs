//! Embeddings as Python holds them, looked at where they are.

use std::path::PathBuf;

use bytemuck::cast_slice;
use half::f16;
use homing::{Embeddings, Values};
use homing_pool::{Access, Pool, ReadOptions, RowList, embedding_column};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};

use crate::chunks::Chunks;
use crate::error::{refused, unreadable};

enum Held {
    F32(Py<PyArray2<f32>>),
    F64(Py<PyArray2<f64>>),
    F16(Py<PyArray2<f16>>),
    /// The bits of bfloat16, which NumPy has no name for.
    Bf16(Py<PyArray2<u16>>),
    Arrow(Chunks),
    File(Box<Pool>),
}

/// A matrix of embeddings: an array, a column of an Arrow table, or a file.
#[pyclass(frozen, module = "homing._homing")]
pub struct Data {
    held: Held,
    /// The names of the columns that the numbers came in, where they came in a table with such names.
    named: Option<Vec<String>>,
    #[pyo3(get)]
    rows: usize,
    #[pyo3(get)]
    dim: usize,
}

impl Data {
    fn new(py: Python<'_>, held: Held) -> PyResult<Self> {
        let mut data = Self { held, named: None, rows: 0, dim: 0 };
        let view = data.view(py)?;
        let (rows, dim) = (view.embeddings()?.rows(), view.embeddings()?.dim());
        drop(view);
        (data.rows, data.dim) = (rows, dim);
        Ok(data)
    }

    /// Borrows the numbers for as long as the view lives.
    pub fn view<'a>(&'a self, py: Python<'a>) -> PyResult<View<'a>> {
        Ok(match &self.held {
            Held::F32(array) => View::F32(array.bind(py).try_readonly()?),
            Held::F64(array) => View::F64(array.bind(py).try_readonly()?),
            Held::F16(array) => View::F16(array.bind(py).try_readonly()?),
            Held::Bf16(array) => View::Bf16(array.bind(py).try_readonly()?),
            Held::Arrow(chunks) => View::Held(chunks.view()),
            Held::File(pool) => View::Held(pool.embeddings()),
        })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn file(&self) -> Option<&Pool> {
        if let Held::File(pool) = &self.held { Some(pool) } else { None }
    }
}

/// Numbers that are borrowed.
pub enum View<'a> {
    F32(PyReadonlyArray2<'a, f32>),
    F64(PyReadonlyArray2<'a, f64>),
    F16(PyReadonlyArray2<'a, f16>),
    Bf16(PyReadonlyArray2<'a, u16>),
    Held(Embeddings<'a>),
}

impl View<'_> {
    pub fn embeddings(&self) -> PyResult<Embeddings<'_>> {
        let lost = |_| PyValueError::new_err("the array is not contiguous; pass numpy.ascontiguousarray(array)");
        let (values, dim) = match self {
            View::F32(array) => (Values::F32(array.as_slice().map_err(lost)?), array.shape()[1]),
            View::F64(array) => (Values::F64(array.as_slice().map_err(lost)?), array.shape()[1]),
            View::F16(array) => (Values::F16(array.as_slice().map_err(lost)?), array.shape()[1]),
            View::Bf16(array) => (Values::Bf16(cast_slice(array.as_slice().map_err(lost)?)), array.shape()[1]),
            View::Held(embeddings) => return Ok(*embeddings),
        };
        Embeddings::new(values, dim).map_err(refused)
    }
}

#[pymethods]
impl Data {
    /// Looks at a C-contiguous array of float32, float64, float16, or of the bits of bfloat16 as uint16; `columns` are the
    /// names of its columns.
    #[staticmethod]
    #[pyo3(signature = (array, columns=None))]
    fn array(array: &Bound<'_, PyAny>, columns: Option<Vec<String>>) -> PyResult<Self> {
        let py = array.py();
        let untyped = array.cast::<numpy::PyUntypedArray>()?;
        if !untyped.is_c_contiguous() {
            return Err(PyValueError::new_err("the array is not C-contiguous; pass numpy.ascontiguousarray(array)"));
        }
        let held = if let Ok(array) = array.cast::<PyArray2<f32>>() {
            Held::F32(array.clone().unbind())
        } else if let Ok(array) = array.cast::<PyArray2<f64>>() {
            Held::F64(array.clone().unbind())
        } else if let Ok(array) = array.cast::<PyArray2<f16>>() {
            Held::F16(array.clone().unbind())
        } else if let Ok(array) = array.cast::<PyArray2<u16>>() {
            Held::Bf16(array.clone().unbind())
        } else {
            return Err(PyTypeError::new_err("an array of rows by columns of floats is wanted"));
        };
        Ok(Self { named: columns, ..Self::new(py, held)? })
    }

    /// Looks at an Arrow array of lists, or at a column of lists in an Arrow table; `rows` are the rows to take.
    #[staticmethod]
    #[pyo3(signature = (table, column=None, rows=None))]
    fn arrow(
        table: &Bound<'_, PyAny>,
        column: Option<&str>,
        rows: Option<PyReadonlyArray1<'_, u64>>,
    ) -> PyResult<Self> {
        let rows = match rows {
            Some(rows) => Some(rows.as_slice()?.iter().map(|&row| row as usize).collect()),
            None => None,
        };
        let chunks = if let Ok(table) = table.extract::<AnyRecordBatch>() {
            let (batches, schema) = table.into_table()?.into_inner();
            let position = embedding_column(&schema, column).map_err(unreadable)?;
            let arrays: Vec<_> = batches.iter().map(|batch| batch.column(position).clone()).collect();
            Chunks::new(schema.field(position).name(), &arrays, rows)?
        } else {
            let (arrays, field) = table.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
            Chunks::new(field.name(), &arrays, rows)?
        };
        Self::new(table.py(), Held::Arrow(chunks))
    }

    /// Opens a file or a folder in any format that `homing select` reads.
    #[staticmethod]
    #[pyo3(signature = (
        path, *, embedding=None, id=None, group=None, cost=None, label=None, probabilities=None, access="auto",
        side_by_side=Vec::new(),
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are the columns of a file")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        embedding: Option<String>,
        id: Option<String>,
        group: Option<String>,
        cost: Option<String>,
        label: Option<String>,
        probabilities: Option<String>,
        access: &str,
        side_by_side: Vec<String>,
    ) -> PyResult<Self> {
        let access = match access {
            "auto" => Access::Auto,
            "map" => Access::Map,
            "read" => Access::Read,
            _ => return Err(PyValueError::new_err(format!("access is '{access}'; choose 'auto', 'map' or 'read'"))),
        };
        let options = ReadOptions {
            embedding,
            id,
            group,
            cost,
            label,
            probabilities,
            access,
            side_by_side,
            ..ReadOptions::default()
        };
        let pool = py.detach(|| Pool::open(&path, &options)).map_err(unreadable)?;
        Self::new(py, Held::File(Box::new(pool)))
    }

    /// The rows of this pool that a file names, or the embeddings that it holds.
    fn named(&self, py: Python<'_>, path: PathBuf) -> PyResult<(Option<Vec<usize>>, Option<Data>)> {
        let columns = self.columns().unwrap_or_default();
        match py.detach(|| RowList::open(&path)?.in_order_of(&columns)).map_err(unreadable)? {
            RowList::Embeddings(pool) => Ok((None, Some(Self::new(py, Held::File(Box::new(pool)))?))),
            list => Ok((list.rows_of(self.file()).map_err(unreadable)?, None)),
        }
    }

    /// The names of the columns that the numbers came in; None where they have none.
    #[getter]
    fn columns(&self) -> Option<Vec<String>> {
        let of_file = || self.file().map(Pool::side_by_side).filter(|names| !names.is_empty()).map(<[String]>::to_vec);
        self.named.clone().or_else(of_file)
    }

    #[getter]
    pub fn dtype(&self) -> &'static str {
        match &self.held {
            Held::F32(_) => "float32",
            Held::F64(_) => "float64",
            Held::F16(_) => "float16",
            Held::Bf16(_) => "bfloat16",
            Held::Arrow(chunks) => chunks.dtype(),
            Held::File(pool) => pool.dtype(),
        }
    }

    /// Where the numbers are: in an array, in Arrow memory, mapped, read, or held.
    #[getter]
    fn place(&self) -> &'static str {
        match &self.held {
            Held::Arrow(_) => "arrow",
            Held::File(pool) if pool.is_read() => "read",
            Held::File(pool) if pool.is_mapped() => "mapped",
            Held::File(_) => "held",
            _ => "array",
        }
    }

    /// A copy of all rows as float32.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let view = self.view(py)?;
        let embeddings = view.embeddings()?;
        let numbers = py.detach(|| {
            let mut numbers = vec![0.0; self.rows * self.dim];
            embeddings.values().write_f32(0..numbers.len(), &mut numbers);
            embeddings.check_read().map(|()| numbers)
        });
        PyArray1::from_vec(py, numbers.map_err(refused)?).reshape([self.rows, self.dim])
    }

    #[getter]
    fn ids(&self) -> Option<Vec<String>> {
        self.file()?.ids().map(<[String]>::to_vec)
    }

    #[getter]
    fn labels(&self) -> Option<Vec<String>> {
        self.file()?.labels().map(<[String]>::to_vec)
    }

    #[getter]
    fn groups(&self) -> Option<Vec<String>> {
        self.file()?.groups().map(<[String]>::to_vec)
    }

    #[getter]
    fn costs(&self) -> Option<Vec<f64>> {
        self.file()?.costs().map(<[f64]>::to_vec)
    }
}
