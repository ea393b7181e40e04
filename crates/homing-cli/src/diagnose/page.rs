//! A diagnosis as a page.

use std::path::Path;

use anyhow::Result;
use homing::Task;

use super::numbers::{Diagnosis, descent};
use crate::inputs::Inputs;

pub fn write(_path: &Path, _inputs: &Inputs, task: Task<'_>, diagnosis: &Diagnosis) -> Result<()> {
    let _ = descent(task, diagnosis)?;
    Ok(())
}
