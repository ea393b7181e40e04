//! Embeddings that Python holds, read in place.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytemuck::cast_slice;
use half::f16;
use homing::remote::RemotePool;
use homing::shard::Carrier;
use homing::{Embeddings, RowSource, StoredValues};
use homing_cuda::{Carried, Device, DevicePool, Format, runs_on_devices};
use homing_pool::{Access, ColumnChoice, Pool, ReadOptions, RowList, embedding_column, labelled_rows};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};

use crate::argument::{Argument, Reader, read};
use crate::chunks::Chunks;
use crate::error::{core_error, device_error, pool_error};
use crate::questions::Questions;

/// The memory that holds the embeddings.
enum Storage {
    F32(Py<PyArray2<f32>>),
    F64(Py<PyArray2<f64>>),
    F16(Py<PyArray2<f16>>),
    /// The bits of bfloat16, a type that NumPy does not have.
    Bf16(Py<PyArray2<u16>>),
    Arrow(Chunks),
    File(Box<Pool>),
    Device(DeviceMemory),
    Remote(RemotePool<Questions>),
}

/// Numbers in the memory of a GPU, and the object that owns them.
struct DeviceMemory {
    pool: DevicePool,
    _owner: Py<PyAny>,
}

/// The arguments that say how a file is read: the names of its columns, and how its numbers are accessed.
pub const COLUMNS: &[Reader<ReadOptions>] = &[
    ("embedding_column", |to, name| name.optional(Argument::text).map(|name| to.embedding = name)),
    ("id_column", |to, name| name.optional(Argument::text).map(|name| to.id = name)),
    ("text_column", |to, name| name.optional(Argument::text).map(|name| to.text = name)),
    ("label_column", |to, name| name.optional(Argument::text).map(|name| to.label = name)),
    ("groups", |to, name| name.optional(Argument::text).map(|name| to.group = name)),
    ("costs", |to, name| name.optional(Argument::text).map(|name| to.cost = name)),
    ("probabilities", |to, name| name.optional(Argument::text).map(|name| to.probabilities = name)),
    ("pool_access", |to, name| name.optional(access).map(|access| to.access = access.unwrap_or_default())),
];

fn access(name: &Argument<'_, '_>) -> PyResult<Access> {
    match &*name.text()? {
        "auto" => Ok(Access::Auto),
        "map" => Ok(Access::Map),
        "read" => Ok(Access::Read),
        other => Err(PyValueError::new_err(format!("pool_access is '{other}'; choose 'auto', 'map' or 'read'"))),
    }
}

/// A matrix of embeddings: an array, a column of an Arrow table, or a file.
#[pyclass(frozen, module = "homing._homing")]
pub struct Data {
    storage: Storage,
    /// A copy on devices, with their name, which later selections use again.
    copy: Mutex<Option<(String, Arc<DevicePool>)>>,
    /// The names of the columns that held the numbers, if they came from a table with named columns.
    named: Option<Vec<String>>,
    #[pyo3(get)]
    rows: usize,
    #[pyo3(get)]
    dim: usize,
}

impl Data {
    fn new(py: Python<'_>, storage: Storage) -> PyResult<Self> {
        let mut data = Self { storage, copy: Mutex::default(), named: None, rows: 0, dim: 0 };
        let view = data.view(py)?;
        let (rows, dim) = (view.embeddings()?.rows(), view.embeddings()?.dim());
        drop(view);
        (data.rows, data.dim) = (rows, dim);
        Ok(data)
    }

    /// Returns an argument as embeddings, which the package has already opened.
    pub fn of(argument: &Argument<'_, '_>) -> PyResult<Py<Self>> {
        Ok(argument.object.cast::<Self>()?.clone().unbind())
    }

    /// Wraps a pool that was read.
    pub fn of_pool(py: Python<'_>, pool: Pool) -> PyResult<Self> {
        Self::new(py, Storage::File(Box::new(pool)))
    }

    /// Borrows the numbers.
    pub fn view<'a>(&'a self, py: Python<'a>) -> PyResult<View<'a>> {
        Ok(match &self.storage {
            Storage::F32(array) => View::F32(array.bind(py).try_readonly()?),
            Storage::F64(array) => View::F64(array.bind(py).try_readonly()?),
            Storage::F16(array) => View::F16(array.bind(py).try_readonly()?),
            Storage::Bf16(array) => View::Bf16(array.bind(py).try_readonly()?),
            Storage::Arrow(chunks) => View::Embeddings(chunks.view()),
            Storage::File(pool) => View::Embeddings(pool.embeddings()),
            Storage::Device(memory) => View::Embeddings(memory.pool.embeddings()),
            Storage::Remote(pool) => View::Embeddings(pool.embeddings()),
        })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns where a selection from this pool runs: on the GPU that holds it, or on the device that is requested, to which it
    /// is uploaded once.
    pub fn carried(
        &self,
        py: Python<'_>,
        device: Option<&str>,
        task: &homing::Task<'_>,
        plan: &homing::Plan,
    ) -> PyResult<Carried> {
        if matches!(self.storage, Storage::Device(_)) {
            let refused = |reason| Carried::Refused { device: "The GPU that holds the pool".to_owned(), reason };
            return Ok(runs_on_devices(task, plan).map_or_else(refused, |_| Carried::Cpu));
        }
        let Some(device) = device else { return Ok(Carried::Cpu) };
        py.detach(|| {
            let mut copy = self.copy.lock().expect("no thread panics while it holds the lock");
            let kept = copy.as_ref().filter(|(name, _)| name == device).map(|(_, pool)| pool.clone());
            if kept.is_none() {
                // Its memory may be needed for the new copy.
                *copy = None;
            }
            let carried = Carried::new(device, task, plan, kept.as_ref(), homing_pool::memory_allowed())?;
            if let Carried::On { pool, .. } = &carried {
                *copy = Some((device.to_owned(), pool.clone()));
            }
            Ok(carried)
        })
        .map_err(device_error)
    }

    pub fn file(&self) -> Option<&Pool> {
        if let Storage::File(pool) = &self.storage { Some(pool) } else { None }
    }

    /// Copies rows to an array, by a function that reads a range of their numbers.
    fn copied<'py, T: numpy::Element + Default + Clone + Send>(
        &self,
        py: Python<'py>,
        rows: Range<usize>,
        read: impl Fn(StoredValues<'_>, Range<usize>, &mut [T]) + Sync,
    ) -> PyResult<Bound<'py, PyArray2<T>>> {
        if rows.start > rows.end || rows.end > self.rows {
            return Err(PyValueError::new_err(format!("there are {} rows, and not rows {rows:?}", self.rows)));
        }
        let view = self.view(py)?;
        let embeddings = view.embeddings()?;
        let numbers = py.detach(|| {
            let at = rows.start * self.dim..rows.end * self.dim;
            let mut numbers = vec![T::default(); at.len()];
            read(embeddings.values(), at, &mut numbers);
            embeddings.check_read().map(|()| numbers)
        });
        PyArray1::from_vec(py, numbers.map_err(core_error)?).reshape([rows.len(), self.dim])
    }

    /// The ids of the rows, if they come from a file that has some.
    pub fn ids(&self) -> Option<&[String]> {
        self.file()?.ids()
    }

    /// The name of the data on a page.
    pub fn name(&self) -> String {
        let Some(pool) = self.file() else { return "an array".to_owned() };
        if let Some(files) = pool.files().filter(|files| files.len() > 1) {
            return format!("{} (number of files: {})", pool.path().display(), files.len());
        }
        pool.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Names a row by its file and its number there, if the data are a pool in several files.
    pub fn place_of(&self, row: usize) -> Option<String> {
        self.file()?.place(row)
    }
}

/// Borrowed numbers.
pub enum View<'a> {
    F32(PyReadonlyArray2<'a, f32>),
    F64(PyReadonlyArray2<'a, f64>),
    F16(PyReadonlyArray2<'a, f16>),
    Bf16(PyReadonlyArray2<'a, u16>),
    Embeddings(Embeddings<'a>),
}

impl View<'_> {
    pub fn embeddings(&self) -> PyResult<Embeddings<'_>> {
        let gaps = |_| PyValueError::new_err("the array is not contiguous; pass numpy.ascontiguousarray(array)");
        let (values, dim) = match self {
            View::F32(array) => (StoredValues::F32(array.as_slice().map_err(gaps)?), array.shape()[1]),
            View::F64(array) => (StoredValues::F64(array.as_slice().map_err(gaps)?), array.shape()[1]),
            View::F16(array) => (StoredValues::F16(array.as_slice().map_err(gaps)?), array.shape()[1]),
            View::Bf16(array) => (StoredValues::Bf16(cast_slice(array.as_slice().map_err(gaps)?)), array.shape()[1]),
            View::Embeddings(embeddings) => return Ok(*embeddings),
        };
        Embeddings::new(values, dim).map_err(core_error)
    }
}

#[pymethods]
impl Data {
    /// Wraps a C-contiguous array of float32, float64 or float16, or of uint16 with the bits of bfloat16. `columns` are the
    /// names of its columns.
    #[staticmethod]
    #[pyo3(signature = (array, columns=None))]
    fn array(array: &Bound<'_, PyAny>, columns: Option<Vec<String>>) -> PyResult<Self> {
        let py = array.py();
        let untyped = array.cast::<numpy::PyUntypedArray>()?;
        if !untyped.is_c_contiguous() {
            return Err(PyValueError::new_err("the array is not C-contiguous; pass numpy.ascontiguousarray(array)"));
        }
        let storage = if let Ok(array) = array.cast::<PyArray2<f32>>() {
            Storage::F32(array.clone().unbind())
        } else if let Ok(array) = array.cast::<PyArray2<f64>>() {
            Storage::F64(array.clone().unbind())
        } else if let Ok(array) = array.cast::<PyArray2<f16>>() {
            Storage::F16(array.clone().unbind())
        } else if let Ok(array) = array.cast::<PyArray2<u16>>() {
            Storage::Bf16(array.clone().unbind())
        } else {
            return Err(PyTypeError::new_err("a two-dimensional array of floats is needed"));
        };
        Ok(Self { named: columns, ..Self::new(py, storage)? })
    }

    /// Wraps an Arrow array of lists, or a column of lists in an Arrow table. `rows` are the rows to take.
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
            let position = embedding_column(&schema, column).map_err(pool_error)?;
            let arrays: Vec<_> = batches.iter().map(|batch| batch.column(position).clone()).collect();
            Chunks::new(schema.field(position).name(), &arrays, rows)?
        } else {
            let (arrays, field) = table.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
            Chunks::new(field.name(), &arrays, rows)?
        };
        Self::new(table.py(), Storage::Arrow(chunks))
    }

    /// Views a matrix in C order in the memory of a GPU: the one with the given number, or the first. The memory must stay as
    /// it is as long as `owner` exists.
    #[staticmethod]
    #[allow(unsafe_code, reason = "the package passes addresses")]
    fn on_device(
        py: Python<'_>,
        address: u64,
        shape: (usize, usize),
        format: &str,
        device: Option<usize>,
        owner: Py<PyAny>,
    ) -> PyResult<Self> {
        let format = match format {
            "float32" => Format::F32,
            "float16" => Format::F16,
            _ => Format::Bf16,
        };
        let device = py.detach(|| Device::open(device.unwrap_or(0))).map_err(device_error)?;
        // SAFETY: the protocols by which the package receives the address guarantee that a matrix of this shape and format is
        // there as long as its owner exists, which this object keeps.
        let pool =
            py.detach(|| unsafe { DevicePool::borrow(address, shape, format, &device) }).map_err(device_error)?;
        Self::new(py, Storage::Device(DeviceMemory { pool, _owner: owner }))
    }

    /// Wraps rows that other processes hold. `ask` takes the numbers of some of them and a message, and returns their answers.
    #[staticmethod]
    fn remote(
        py: Python<'_>,
        ask: Py<PyAny>,
        rows: Vec<usize>,
        dim: usize,
        is_single: bool,
        is_probabilities: bool,
    ) -> PyResult<Self> {
        let new = if is_probabilities { RemotePool::probabilities } else { RemotePool::new };
        Self::new(py, Storage::Remote(new(Questions(ask), &rows, dim, is_single).map_err(core_error)?))
    }

    /// The row that is not finite, if a selection from rows elsewhere has found one.
    #[getter]
    fn bad_row(&self) -> Option<usize> {
        if let Storage::Remote(pool) = &self.storage { pool.bad_row() } else { None }
    }

    /// Returns the ids of some rows of a file that has ids.
    fn ids_of(&self, rows: Vec<usize>) -> PyResult<Option<Vec<String>>> {
        let Some(ids) = self.ids() else { return Ok(None) };
        let id = |row: usize| ids.get(row).cloned().ok_or_else(|| PyValueError::new_err("there is no such row"));
        rows.into_iter().map(id).collect::<PyResult<_>>().map(Some)
    }

    /// Opens files in any format that `homing select` reads: one path, which may be a folder, a pattern or a list, or several
    /// files. `side_by_side` are the columns of numbers to take.
    #[staticmethod]
    #[pyo3(signature = (paths, columns, side_by_side=Vec::new()))]
    fn open(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        columns: &Bound<'_, PyDict>,
        side_by_side: Vec<String>,
    ) -> PyResult<Self> {
        let mut options = ReadOptions::default().side_by_side(side_by_side);
        read(COLUMNS, &mut options, columns)?;
        Self::of_pool(py, py.detach(|| Pool::open_many(&paths, &options)).map_err(pool_error)?)
    }

    /// Returns the rows of this pool that a file names, or the embeddings that it holds; if `labelled`, without the rows that lack a
    /// label that others have.
    #[pyo3(signature = (path, labelled=false))]
    fn named(&self, py: Python<'_>, path: PathBuf, labelled: bool) -> PyResult<(Option<Vec<usize>>, Option<Data>)> {
        let columns = self.columns().unwrap_or_default();
        match py.detach(|| RowList::open(&path)?.in_order_of(&columns)).map_err(pool_error)? {
            RowList::Embeddings(pool) => Ok((None, Some(Self::new(py, Storage::File(Box::new(pool)))?))),
            list => {
                let rows = list.rows_of(self.file()).map_err(pool_error)?;
                let kept = |rows| if labelled { labelled_rows(&path, rows) } else { Ok(rows) };
                Ok((rows.map(kept).transpose().map_err(pool_error)?, None))
            }
        }
    }

    /// Returns columns of some rows of a file as a JSON object. The columns are those that are named, all, or else those with
    /// usual names.
    fn values(&self, py: Python<'_>, named: Option<Vec<String>>, every: bool, rows: Vec<usize>) -> PyResult<String> {
        let Some(pool) = self.file() else {
            return if every || named.is_some_and(|names| !names.is_empty()) {
                Err(PyValueError::new_err("the pool came without named columns; pass a table or a file to `select`"))
            } else {
                Ok("{}".to_owned())
            };
        };
        let choice = match named {
            Some(names) => ColumnChoice::Named(names),
            None if every => ColumnChoice::All,
            None => ColumnChoice::Usual,
        };
        let json = py.detach(|| {
            let values = pool.values(&pool.choose_columns(&choice)?, &rows)?;
            Ok(values.to_json(&rows))
        });
        json.map_err(pool_error)
    }

    /// The names of the columns that held the numbers; None if they have no names.
    #[getter]
    fn columns(&self) -> Option<Vec<String>> {
        let of_file = || self.file().map(Pool::side_by_side).filter(|names| !names.is_empty()).map(<[String]>::to_vec);
        self.named.clone().or_else(of_file)
    }

    #[getter]
    pub fn dtype(&self) -> &'static str {
        match &self.storage {
            Storage::F32(_) => "float32",
            Storage::Remote(pool) if pool.fits_f32() => "float32",
            Storage::F64(_) | Storage::Remote(_) => "float64",
            Storage::F16(_) => "float16",
            Storage::Bf16(_) => "bfloat16",
            Storage::Arrow(chunks) => chunks.dtype(),
            Storage::File(pool) => pool.dtype(),
            Storage::Device(memory) => match memory.pool.format() {
                Format::F32 => "float32",
                Format::F16 => "float16",
                Format::Bf16 => "bfloat16",
            },
        }
    }

    /// Where the numbers are: `array`, `arrow`, `mapped` (a memory-mapped file), `read` (a file read block by block), `held` (a
    /// file decoded into memory), `device` (the memory of a GPU) or `remote` (other processes).
    #[getter]
    fn place(&self) -> &'static str {
        match &self.storage {
            Storage::Arrow(_) => "arrow",
            Storage::File(pool) if pool.is_read() => "read",
            Storage::File(pool) if pool.is_mapped() => "mapped",
            Storage::File(_) => "held",
            Storage::Device(_) => "device",
            Storage::Remote(_) => "remote",
            _ => "array",
        }
    }

    /// Returns the product of every row of a matrix on a GPU with a vector.
    fn products<'py>(&self, py: Python<'py>, vector: PyReadonlyArray1<'_, f32>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let Storage::Device(memory) = &self.storage else {
            return Err(PyValueError::new_err("the rows are not on a GPU"));
        };
        let vector: Vec<f64> = vector.as_slice()?.iter().map(|&x| x.into()).collect();
        if vector.len() != self.dim {
            return Err(PyValueError::new_err(format!("a vector of {} numbers is needed", self.dim)));
        }
        let products = py.detach(|| memory.pool.products(&vector)).map_err(device_error)?;
        Ok(PyArray1::from_vec(py, products))
    }

    /// Copies some rows of a matrix on a GPU as float32.
    fn take<'py>(&self, py: Python<'py>, rows: Vec<usize>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let Storage::Device(memory) = &self.storage else {
            return Err(PyValueError::new_err("the rows are not on a GPU"));
        };
        if let Some(row) = rows.iter().find(|&&row| row >= self.rows) {
            return Err(PyValueError::new_err(format!("there is no row {row}, only {}", self.rows)));
        }
        let mut numbers = vec![0.0; rows.len() * self.dim];
        py.detach(|| {
            memory.pool.gather_f32(&rows, self.dim, &mut numbers);
            memory.pool.embeddings().check_read()
        })
        .map_err(core_error)?;
        PyArray1::from_vec(py, numbers).reshape([rows.len(), self.dim])
    }

    /// Copies rows as float32: all, or those of a range.
    #[pyo3(signature = (start=0, stop=None))]
    fn to_numpy<'py>(&self, py: Python<'py>, start: usize, stop: Option<usize>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let read = |values: StoredValues<'_>, at, numbers: &mut [f32]| values.write_f32(at, numbers);
        self.copied(py, start..stop.unwrap_or(self.rows), read)
    }

    /// Copies all rows as float64.
    fn to_numpy64<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.copied(py, 0..self.rows, |values, at, numbers| values.write_f64(at, numbers))
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

/// Whether a path has the ending of a file of embeddings.
#[pyfunction]
pub fn is_pool_name(path: PathBuf) -> bool {
    homing_pool::Format::of(&path).is_ok()
}

/// Returns the files that a path stands for: a folder, a pattern, a list, or the file itself.
#[pyfunction]
pub fn expand(path: PathBuf) -> PyResult<Vec<PathBuf>> {
    homing_pool::expand(&path).map_err(pool_error)
}
