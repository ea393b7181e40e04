//! Homing for Python: the compiled part. The package `homing` beside it gives it its manners.
#![allow(missing_docs, reason = "the docstrings are in the package")]
#![allow(clippy::needless_pass_by_value, reason = "arguments are extracted from Python by value")]

mod chunks;
mod data;
mod diagnose;
mod error;
mod explain;
mod run;
mod select;
mod task;
mod theory;
mod write;

use pyo3::prelude::*;

/// Name, inputs, formula, summary and place in the paper of every rule.
#[pyfunction]
fn rules() -> Vec<(&'static str, &'static str, &'static str, &'static str, &'static str)> {
    let row = |entry: &'static homing::Entry| {
        (entry.name, homing::Strategy::from(entry).inputs(), entry.formula, entry.summary, entry.place)
    };
    homing::STRATEGIES.iter().map(row).collect()
}

#[pymodule]
fn _homing(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<data::Data>()?;
    module.add_class::<task::Task>()?;
    module.add_function(wrap_pyfunction!(rules, module)?)?;
    module.add_function(wrap_pyfunction!(select::select, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain, module)?)?;
    module.add_function(wrap_pyfunction!(explain::report, module)?)?;
    module.add_function(wrap_pyfunction!(diagnose::diagnose, module)?)?;
    module.add_function(wrap_pyfunction!(write::check_output, module)?)?;
    module.add_function(wrap_pyfunction!(write::write_page, module)?)?;
    theory::add(module)
}
