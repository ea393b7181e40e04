//! The compiled part of the Python package `homing`, whose Python part is in `python/homing`.
#![allow(missing_docs, reason = "the docstrings are in the package")]
#![allow(clippy::needless_pass_by_value, reason = "arguments are extracted from Python by value")]

mod argument;
mod chunks;
mod data;
mod diagnose;
mod encoder;
mod error;
mod pages;
mod questions;
mod remote;
mod run;
mod select;
mod selection;
mod settings;
mod task;
mod theory;
mod write;

use pyo3::prelude::*;

/// The fields of the package's `Rule`.
#[derive(IntoPyObject)]
struct RuleFields {
    name: &'static str,
    inputs: &'static str,
    formula: &'static str,
    summary: &'static str,
    paper: &'static str,
}

/// Whether a column of this name usually tells people what a row is.
#[pyfunction]
fn is_usual_column(name: &str) -> bool {
    homing_pool::is_usual_column(name)
}

/// Returns all rules.
#[pyfunction]
fn rules() -> Vec<RuleFields> {
    let row = |entry: &'static homing::StrategyEntry| RuleFields {
        name: entry.name,
        inputs: homing::Strategy::from(entry).inputs(),
        formula: entry.formula,
        summary: entry.summary,
        paper: entry.place,
    };
    homing::STRATEGIES.iter().map(row).collect()
}

/// Returns the names of the arguments that Rust reads: settings, inputs, and columns of files.
#[pyfunction]
fn argument_names() -> (Vec<&'static str>, Vec<&'static str>, Vec<&'static str>) {
    use argument::names;
    (names(settings::SETTINGS), names(task::INPUTS), names(data::COLUMNS))
}

#[pymodule]
fn _homing(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<data::Data>()?;
    module.add_class::<task::Task>()?;
    module.add_class::<remote::PoolPart>()?;
    module.add_class::<selection::Selection>()?;
    module.add_class::<diagnose::Diagnosis>()?;
    module.add_class::<encoder::Encoder>()?;
    module.add_function(wrap_pyfunction!(rules, module)?)?;
    module.add_function(wrap_pyfunction!(argument_names, module)?)?;
    module.add_function(wrap_pyfunction!(is_usual_column, module)?)?;
    module.add_function(wrap_pyfunction!(encoder::is_image_name, module)?)?;
    module.add_function(wrap_pyfunction!(data::is_pool_name, module)?)?;
    module.add_function(wrap_pyfunction!(data::expand, module)?)?;
    module.add_function(wrap_pyfunction!(encoder::item_names, module)?)?;
    module.add_function(wrap_pyfunction!(encoder::holds_items, module)?)?;
    module.add_function(wrap_pyfunction!(encoder::are_facts, module)?)?;
    module.add_function(wrap_pyfunction!(error::refusals, module)?)?;
    module.add_function(wrap_pyfunction!(argument::shown, module)?)?;
    module.add_function(wrap_pyfunction!(argument::whole, module)?)?;
    module.add_function(wrap_pyfunction!(argument::real, module)?)?;
    module.add_function(wrap_pyfunction!(argument::threads, module)?)?;
    module.add_function(wrap_pyfunction!(select::select, module)?)?;
    module.add_function(wrap_pyfunction!(diagnose::diagnose, module)?)?;
    module.add_function(wrap_pyfunction!(pages::curves, module)?)?;
    module.add_function(wrap_pyfunction!(write::check_output, module)?)?;
    module.add_function(wrap_pyfunction!(write::write_page, module)?)?;
    theory::add(module)
}
