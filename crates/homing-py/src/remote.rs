//! A part of a pool, which this process serves to a coordinator elsewhere.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use homing::remote::serve;
use homing::{Embeddings, JoinedValues, RowSource, StoredValues};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::data::{Data, View};
use crate::error::core_error;

/// Rows of one matrix after another.
type Pieces<'a> = JoinedValues<(StoredValues<'a>, Range<usize>)>;

/// Rows `start..stop` of some data.
type Piece = (Py<Data>, usize, usize);

fn views<'a>(py: Python<'a>, pieces: &'a [Piece]) -> PyResult<Vec<View<'a>>> {
    pieces.iter().map(|(data, ..)| data.get().view(py)).collect()
}

fn embeddings<'a>(views: &'a [View<'_>]) -> PyResult<Vec<Embeddings<'a>>> {
    views.iter().map(View::embeddings).collect()
}

/// Joins rows of some data. Returns the number of values per row, too. `unlike` is the sentence about rows of other widths.
fn joined<'a>(
    pieces: &[Piece],
    all: Vec<Embeddings<'a>>,
    unlike: impl Fn(usize, usize) -> String,
) -> PyResult<(Pieces<'a>, usize)> {
    let (mut parts, mut width) = (Vec::new(), 0);
    for ((_, start, stop), embeddings) in pieces.iter().zip(all) {
        let (rows, dim) = (embeddings.rows(), embeddings.dim());
        if width > 0 && dim != width {
            return Err(PyValueError::new_err(unlike(dim, width)));
        }
        if start > stop || *stop > rows {
            let sentence = format!("rows {start} to {stop} were expected, but there are {rows} rows");
            return Err(PyValueError::new_err(sentence));
        }
        width = dim;
        parts.push((embeddings.values(), start * dim..stop * dim));
    }
    Ok((JoinedValues::new(parts), width))
}

fn unlike_rows(dim: usize, width: usize) -> String {
    format!("some rows have {dim} numbers and others {width}; embed all rows with the same model")
}

fn unlike_probabilities(_: usize, _: usize) -> String {
    "the files hold different numbers of class probabilities; give the same classes in all files".to_owned()
}

/// Views joined rows, in place if they are one slice.
fn viewed<'a>(joined: &'a Pieces<'a>, dim: usize) -> PyResult<Embeddings<'a>> {
    let whole = match joined.parts() {
        [(values, range)] => values.slice(range.clone()),
        _ => None,
    };
    Embeddings::new(whole.unwrap_or(StoredValues::Source(joined)), dim).map_err(core_error)
}

/// The two ends of the line to a thread: messages go in, and answers come out.
type Line = (Sender<Vec<u8>>, Receiver<Vec<u8>>);

/// A thread that serves some rows of a pool.
#[pyclass(frozen, module = "homing._homing")]
pub struct PoolPart {
    line: Mutex<Line>,
    #[pyo3(get)]
    rows: usize,
    #[pyo3(get)]
    dim: usize,
    #[pyo3(get)]
    is_single: bool,
    /// Number of class probabilities per row; zero if there are none.
    #[pyo3(get)]
    classes: usize,
}

/// What the thread finds out about its rows.
struct Shape {
    rows: usize,
    dim: usize,
    is_single: bool,
    classes: usize,
}

#[pymethods]
impl PoolPart {
    #[new]
    #[pyo3(signature = (pieces, first, probabilities=Vec::new(), threads=None))]
    fn new(
        py: Python<'_>,
        pieces: Vec<Piece>,
        first: usize,
        probabilities: Vec<Piece>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let workers = homing::thread_pool(threads).map_err(core_error)?;
        let (to, messages) = channel::<Vec<u8>>();
        let (answers, from) = channel();
        let (shapes, shape) = channel();
        let serving = move || {
            Python::attach(|py| {
                let done = with_part(py, &pieces, &probabilities, first, |part, shape| {
                    // The other end waits for this, and later for nothing else.
                    let _ = shapes.send(Ok(shape));
                    let serving = move || serve(part, || messages.recv().ok(), |answer| drop(answers.send(answer)));
                    py.detach(move || workers.install(serving));
                });
                if let Err(error) = done {
                    let _ = shapes.send(Err(error));
                }
            });
        };
        let spawned = std::thread::Builder::new().name("homing shard".into()).spawn(serving);
        spawned.map_err(|error| PyRuntimeError::new_err(format!("a thread cannot be started ({error})")))?;
        let shape = py.detach(move || shape.recv());
        let Shape { rows, dim, is_single, classes } =
            shape.map_err(|_| PyRuntimeError::new_err("the thread of the rows has ended"))??;
        Ok(Self { line: Mutex::new((to, from)), rows, dim, is_single, classes })
    }

    /// Answers a message of the coordinator.
    fn answer<'py>(&self, py: Python<'py>, message: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let message = message.to_vec();
        let answer = py.detach(|| {
            let line = self.line.lock().ok()?;
            line.0.send(message).ok()?;
            line.1.recv().ok()
        });
        let ended = || PyRuntimeError::new_err("the thread of the rows has ended");
        Ok(PyBytes::new(py, &answer.ok_or_else(ended)?))
    }
}

/// Calls `f` with the rows as a part of the pool.
fn with_part(
    py: Python<'_>,
    pieces: &[Piece],
    probabilities: &[Piece],
    first: usize,
    f: impl FnOnce(homing::remote::PoolPart<'_>, Shape),
) -> PyResult<()> {
    let (row_views, probability_views) = (views(py, pieces)?, views(py, probabilities)?);
    let (row_pieces, dim) = joined(pieces, embeddings(&row_views)?, unlike_rows)?;
    let rows = viewed(&row_pieces, dim)?;
    let (probability_pieces, classes) = if probabilities.is_empty() {
        // The files may hold some.
        let found = pieces.iter().map(|(data, ..)| data.get().file()?.probabilities()).collect::<Option<_>>();
        joined(pieces, found.unwrap_or_default(), unlike_probabilities)?
    } else {
        joined(probabilities, embeddings(&probability_views)?, unlike_probabilities)?
    };
    let probabilities = if classes > 0 { Some(viewed(&probability_pieces, classes)?) } else { None };
    if let Some(got) = probabilities.map(|p| p.rows()).filter(|&got| got != rows.rows()) {
        return Err(core_error(homing::Error::Length { what: "rows of probabilities", got, expected: rows.rows() }));
    }
    let is_single = row_pieces.fits_f32();
    let shape = Shape { rows: rows.rows(), dim, is_single, classes };
    f(homing::remote::PoolPart { rows, probabilities, first }, shape);
    Ok(())
}
