//! A part of a pool, which this process serves to a coordinator elsewhere.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use homing::remote::serve;
use homing::{Embeddings, RowSource, StoredValues};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::data::{Data, View};
use crate::error::core_error;

/// Rows of one matrix after another.
#[derive(Debug)]
struct Pieces<'a> {
    /// The values of each piece and the range of those that count.
    pieces: Vec<(StoredValues<'a>, Range<usize>)>,
    /// The end of each piece among all values.
    ends: Vec<usize>,
}

impl Pieces<'_> {
    /// Calls `f` for each run of values with its piece, its range there, and its range in the output.
    fn each(&self, start: usize, count: usize, mut f: impl FnMut(StoredValues<'_>, Range<usize>, Range<usize>)) {
        let mut done = 0;
        let mut piece = self.ends.partition_point(|&end| end <= start);
        while done < count {
            let (values, range) = &self.pieces[piece];
            let begin = if piece == 0 { 0 } else { self.ends[piece - 1] };
            let from = range.start + (start + done - begin);
            let len = (range.end - from).min(count - done);
            f(*values, from..from + len, done..done + len);
            done += len;
            piece += 1;
        }
    }
}

impl RowSource for Pieces<'_> {
    fn count(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn fits_f32(&self) -> bool {
        self.pieces.iter().all(|(values, _)| match values {
            StoredValues::F64(_) => false,
            StoredValues::Source(source) => source.fits_f32(),
            _ => true,
        })
    }

    fn read_f64(&self, start: usize, out: &mut [f64]) {
        self.each(start, out.len(), |values, from, to| values.write_f64(from, &mut out[to]));
    }

    fn read_f32(&self, start: usize, out: &mut [f32]) {
        self.each(start, out.len(), |values, from, to| values.write_f32(from, &mut out[to]));
    }

    fn announce(&self, range: Range<usize>) {
        self.each(range.start, range.len(), |values, from, _| {
            if let StoredValues::Source(source) = values {
                source.announce(from);
            }
        });
    }

    fn failure(&self) -> Option<String> {
        self.pieces.iter().find_map(|(values, _)| match values {
            StoredValues::Source(source) => source.failure(),
            _ => None,
        })
    }
}

/// Rows `start..stop` of some data.
type Piece = (Py<Data>, usize, usize);

fn views<'a>(py: Python<'a>, pieces: &'a [Piece]) -> PyResult<Vec<View<'a>>> {
    pieces.iter().map(|(data, ..)| data.get().view(py)).collect()
}

/// Joins rows of some data. Returns the number of values per row, too.
fn joined<'a>(pieces: &[Piece], views: &'a [View<'_>]) -> PyResult<(Pieces<'a>, usize)> {
    let (mut all, mut ends, mut end, mut width) = (Vec::new(), Vec::new(), 0, 0);
    for ((_, start, stop), view) in pieces.iter().zip(views) {
        let embeddings = view.embeddings()?;
        let dim = embeddings.dim();
        if width > 0 && dim != width {
            let sentence =
                format!("some rows have {dim} numbers and others {width}; embed all rows with the same model");
            return Err(PyValueError::new_err(sentence));
        }
        if start > stop || *stop > embeddings.rows() {
            let rows = embeddings.rows();
            return Err(PyValueError::new_err(format!(
                "rows {start} to {stop} were expected, but there are {rows} rows"
            )));
        }
        width = dim;
        end += (stop - start) * dim;
        all.push((embeddings.values(), start * dim..stop * dim));
        ends.push(end);
    }
    Ok((Pieces { pieces: all, ends }, width))
}

/// Views joined rows, in place if they are one slice.
fn viewed<'a>(joined: &'a Pieces<'a>, dim: usize) -> PyResult<Embeddings<'a>> {
    let values = match &joined.pieces[..] {
        [(StoredValues::F32(values), range)] => StoredValues::F32(&values[range.clone()]),
        [(StoredValues::F64(values), range)] => StoredValues::F64(&values[range.clone()]),
        [(StoredValues::F16(values), range)] => StoredValues::F16(&values[range.clone()]),
        [(StoredValues::Bf16(values), range)] => StoredValues::Bf16(&values[range.clone()]),
        _ => StoredValues::Source(joined),
    };
    Embeddings::new(values, dim).map_err(core_error)
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
    let (row_pieces, dim) = joined(pieces, &row_views)?;
    let rows = viewed(&row_pieces, dim)?;
    let (probability_pieces, classes) =
        if probabilities.is_empty() { file_probabilities(pieces)? } else { joined(probabilities, &probability_views)? };
    let probabilities = if classes > 0 { Some(viewed(&probability_pieces, classes)?) } else { None };
    if let Some(got) = probabilities.map(|p| p.rows()).filter(|&got| got != rows.rows()) {
        return Err(core_error(homing::Error::Length { what: "rows of probabilities", got, expected: rows.rows() }));
    }
    let is_single = row_pieces.fits_f32();
    let shape = Shape { rows: rows.rows(), dim, is_single, classes };
    f(homing::remote::PoolPart { rows, probabilities, first }, shape);
    Ok(())
}

/// Joins the class probabilities that all files hold; none if a file holds none.
fn file_probabilities(pieces: &[Piece]) -> PyResult<(Pieces<'_>, usize)> {
    let (mut all, mut ends, mut end, mut width) = (Vec::new(), Vec::new(), 0, 0);
    for (data, start, stop) in pieces {
        let Some(found) = data.get().file().and_then(homing_pool::Pool::probabilities) else {
            return Ok((Pieces { pieces: Vec::new(), ends: Vec::new() }, 0));
        };
        if width > 0 && found.dim() != width {
            let sentence =
                "the files hold different numbers of class probabilities; give the same classes in all files";
            return Err(PyValueError::new_err(sentence));
        }
        width = found.dim();
        end += (stop - start) * width;
        all.push((found.values(), start * width..stop * width));
        ends.push(end);
    }
    Ok((Pieces { pieces: all, ends }, width))
}
