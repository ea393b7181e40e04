//! Reads the arguments that Python passes, by name.

use std::ops::RangeInclusive;

use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

/// The largest whole number that an argument accepts.
const MOST: usize = i64::MAX as usize;

/// The most threads that `threads` accepts; more would take longer to start than they could save.
const MOST_THREADS: usize = 1024;

/// The length of the longest value that a message quotes, in characters.
const LONGEST: usize = 60;

/// The name of an argument, and the function that stores its value.
pub type Reader<T> = (&'static str, fn(&mut T, &Argument<'_, '_>) -> PyResult<()>);

/// Reads every argument of a dictionary with the reader of that name.
pub fn read<T>(readers: &[Reader<T>], into: &mut T, arguments: &Bound<'_, PyDict>) -> PyResult<()> {
    for (name, object) in arguments {
        let name: String = name.extract()?;
        let known = readers.iter().find(|(known, _)| *known == name);
        let (_, reader) = known.ok_or_else(|| PyTypeError::new_err(format!("there is no argument '{name}'")))?;
        reader(into, &Argument { name: &name, object: &object })?;
    }
    Ok(())
}

/// The names of the arguments that the readers accept.
pub fn names<T>(readers: &[Reader<T>]) -> Vec<&'static str> {
    readers.iter().map(|(name, _)| *name).collect()
}

/// An argument: its name and its value.
pub struct Argument<'a, 'py> {
    pub name: &'a str,
    pub object: &'a Bound<'py, PyAny>,
}

impl Argument<'_, '_> {
    /// The value that `read` returns, or `None` if the argument is Python's None.
    pub fn optional<T>(&self, read: impl FnOnce(&Self) -> PyResult<T>) -> PyResult<Option<T>> {
        if self.object.is_none() { Ok(None) } else { read(self).map(Some) }
    }

    /// The argument as a whole number of at least `least`.
    pub fn whole(&self, least: usize) -> PyResult<usize> {
        self.whole_in(least..=MOST)
    }

    fn whole_in(&self, range: RangeInclusive<usize>) -> PyResult<usize> {
        if !self.is_whole()? {
            return Err(self.unfit("a whole number is needed"));
        }
        let (least, most) = range.into_inner();
        let bound =
            |what: String| PyValueError::new_err(format!("{} is {}; {what} is needed", self.name, self.shown()));
        match self.object.extract::<usize>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ if self.object.lt(least)? => Err(bound(format!("at least {least}"))),
            _ if most == MOST => Err(bound("a number below 2**63".to_owned())),
            _ => Err(bound(format!("at most {most}"))),
        }
    }

    /// The argument as a number of threads.
    pub fn threads(&self) -> PyResult<usize> {
        self.whole_in(1..=MOST_THREADS)
    }

    /// Whether the value is an integer of Python or NumPy. Truth values are not.
    pub fn is_whole(&self) -> PyResult<bool> {
        let object = self.object;
        Ok((object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>()) || self.is_numpy("integer")?)
    }

    /// Whether the value is a truth value of Python or NumPy.
    pub fn is_truth_value(&self) -> PyResult<bool> {
        Ok(self.object.is_instance_of::<PyBool>() || self.is_numpy("bool_")?)
    }

    fn is_numpy(&self, class: &str) -> PyResult<bool> {
        self.object.is_instance(&self.object.py().import("numpy")?.getattr(class)?)
    }

    /// The argument as a number.
    pub fn real(&self) -> PyResult<f64> {
        let py = self.object.py();
        let unfit = || self.unfit("a number is needed");
        let is_array = self.object.getattr(intern!(py, "ndim")).is_ok_and(|ndim| ndim.is_truthy().unwrap_or(true));
        let is_number = self.object.hasattr(intern!(py, "__float__"))? && !is_array;
        if !is_number || self.is_truth_value()? || self.is_numpy("complexfloating")? {
            return Err(unfit());
        }
        self.object.extract().map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(py) {
                PyValueError::new_err(format!("{} is {}; a number below 1e308 is needed", self.name, self.shown()))
            } else {
                unfit()
            }
        })
    }

    /// The argument as a name.
    pub fn text(&self) -> PyResult<String> {
        self.object.extract().map_err(|_| self.unfit("a name is needed"))
    }

    /// The argument as a truth value.
    pub fn flag(&self) -> PyResult<bool> {
        self.object.extract().map_err(|_| self.unfit("True or False is needed"))
    }

    /// The argument as row numbers or group numbers, which the package has already checked.
    pub fn rows(&self) -> PyResult<Vec<usize>> {
        let array: PyReadonlyArray1<'_, i64> = self.object.extract()?;
        let row = |&row: &i64| {
            usize::try_from(row).map_err(|_| {
                PyValueError::new_err(format!("row {row} is negative; rows of the pool are counted from 0"))
            })
        };
        array.as_slice()?.iter().map(row).collect()
    }

    /// The argument as one number per row.
    pub fn numbers(&self) -> PyResult<Vec<f64>> {
        let array = self.float64()?;
        if array.shape().len() != 1 {
            return Err(self.misshapen(array.shape(), "one number per row"));
        }
        Ok(array.to_vec()?)
    }

    /// The argument as one or several numbers per row, row after row.
    pub fn columns(&self, rows: usize) -> PyResult<Vec<f64>> {
        let array = self.float64()?;
        if !matches!(array.shape(), [count] | [count, _] if *count == rows) {
            return Err(self.misshapen(array.shape(), &format!("one or several numbers for each of the {rows} rows")));
        }
        Ok(array.to_vec()?)
    }

    fn float64(&self) -> PyResult<Bound<'_, PyArrayDyn<f64>>> {
        let numpy = self.object.py().import("numpy")?;
        let array = numpy.call_method1("asarray", (self.object,)).and_then(|array| {
            let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
            if !"biufO".contains(&kind) {
                return Err(PyTypeError::new_err(()));
            }
            Ok(numpy.call_method1("ascontiguousarray", (array, "float64"))?.cast_into()?)
        });
        array.map_err(|_: PyErr| {
            PyTypeError::new_err(format!("{} are not all numbers; one number per row is needed", self.name))
        })
    }

    fn misshapen(&self, shape: &[usize], needed: &str) -> PyErr {
        let sides: Vec<String> = shape.iter().map(usize::to_string).collect();
        PyValueError::new_err(format!("{} has shape ({}); {needed} is needed", self.name, sides.join(", ")))
    }

    fn unfit(&self, needed: &str) -> PyErr {
        PyTypeError::new_err(format!("{} is {}; {needed}", self.name, self.shown()))
    }

    fn shown(&self) -> String {
        shown(self.object)
    }
}

/// Returns a value as a message quotes it: short, and on one line.
#[pyfunction]
pub fn shown(x: &Bound<'_, PyAny>) -> String {
    let quote = |text: Bound<'_, PyString>| -> PyResult<Option<String>> {
        let is_fit = (1..=LONGEST).contains(&text.len()?) && text.call_method0("isprintable")?.is_truthy()?;
        if is_fit { text.extract().map(Some) } else { Ok(None) }
    };
    // `repr` may fail for a number with very many digits or for an object of the caller's own class.
    let text = x.repr().and_then(quote).ok().flatten();
    text.unwrap_or_else(|| {
        format!("a {}", x.get_type().name().map_or_else(|_| "value".into(), |name| name.to_string()))
    })
}

/// Returns `x` as a whole number from `least` to `most`.
#[pyfunction]
#[pyo3(signature = (x, what, least, most=MOST))]
pub fn whole(x: &Bound<'_, PyAny>, what: &str, least: usize, most: usize) -> PyResult<usize> {
    Argument { name: what, object: x }.whole_in(least..=most)
}

/// Returns `x` as a number.
#[pyfunction]
pub fn real(x: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    Argument { name: what, object: x }.real()
}

/// Returns `x` as a number of threads; None means one thread per core.
#[pyfunction]
pub fn threads(x: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    Argument { name: "threads", object: x }.optional(Argument::threads)
}
