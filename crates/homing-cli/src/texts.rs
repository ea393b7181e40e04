//! Texts and pictures of rows and targets, by which people recognise them.

use std::collections::HashMap;

use anyhow::Result;
use homing_pool::Pool;
use homing_report::Thumbnail;

use crate::files::{PoolFile, TaskFiles};
use crate::terminal::{cell, clipped};

/// Maximum number of characters of a text that are kept.
const LONGEST: usize = 400;

/// Texts of some rows of the pool and of some targets, as far as their files have a column of texts.
#[derive(Default)]
pub struct RowTexts {
    rows: HashMap<usize, String>,
    targets: HashMap<usize, String>,
}

impl RowTexts {
    /// Reads the texts of these rows and targets, in one pass over each file that has a column of texts.
    pub fn read(files: &TaskFiles, rows: &[usize], targets: &[usize]) -> Result<Self> {
        let of_targets = files.target_file.as_ref().map(|file| texts(&file.pool, targets)).transpose()?;
        Ok(Self { rows: texts(&files.pool_file.pool, rows)?, targets: of_targets.unwrap_or_default() })
    }

    /// Returns the text of a row of the pool, if it was read and is not blank.
    pub fn row(&self, row: usize) -> Option<String> {
        self.rows.get(&row).cloned()
    }

    /// Returns the text of a target, if it was read and is not blank.
    pub fn target(&self, target: usize) -> Option<String> {
        self.targets.get(&target).cloned()
    }

    /// Names a row by its id and its text of at most `width` characters, or by its number.
    pub fn row_name(&self, files: &TaskFiles, row: usize, width: usize) -> String {
        let ids = files.pool_file.pool.ids();
        match (ids, self.rows.get(&row)) {
            (Some(ids), Some(text)) => format!("{} {}", ids[row], quoted(text, width)),
            (None, Some(text)) => format!("row {row} {}", quoted(text, width)),
            (Some(ids), None) => format!("{} (row {row})", ids[row]),
            (None, None) => format!("row {row}"),
        }
    }

    /// Names a target by its id or number and its text of at most `width` characters.
    pub fn target_name(&self, files: &TaskFiles, target: usize, width: usize) -> String {
        let id = files.target_file.as_ref().map_or_else(|| target.to_string(), |targets| targets.id(target));
        match self.targets.get(&target) {
            Some(text) => format!("{id} {}", quoted(text, width)),
            None => id,
        }
    }
}

/// Pictures of some rows of the pool and of some targets, if they are images.
#[derive(Default)]
pub struct RowPictures {
    rows: HashMap<usize, Thumbnail>,
    targets: HashMap<usize, Thumbnail>,
}

/// Maximum number of rows, and of targets, that a report shows pictures of. Each takes about four kilobytes.
const MOST_PICTURES: usize = 300;

impl RowPictures {
    /// Makes the pictures of these rows and targets; of many, those of the first.
    pub fn read(files: &TaskFiles, rows: &[usize], targets: &[usize]) -> Result<Self> {
        let of_targets = files.target_file.as_ref().map(|file| pictures(file, targets)).transpose()?;
        Ok(Self { rows: pictures(&files.pool_file, rows)?, targets: of_targets.unwrap_or_default() })
    }

    pub fn row(&self, row: usize) -> Option<Thumbnail> {
        self.rows.get(&row).cloned()
    }

    pub fn target(&self, target: usize) -> Option<Thumbnail> {
        self.targets.get(&target).cloned()
    }
}

fn pictures(file: &PoolFile, rows: &[usize]) -> Result<HashMap<usize, Thumbnail>> {
    let Some(items) = &file.items else { return Ok(HashMap::new()) };
    let picture = |&row: &usize| Some(items.thumbnail(row)?.map(|file| (row, Thumbnail::Jpeg(file))));
    Ok(rows.iter().take(MOST_PICTURES).filter_map(picture).collect::<Result<_, _>>()?)
}

/// Returns a text in quotes, as one line of at most `width` characters.
pub fn quoted(text: &str, width: usize) -> String {
    format!("\"{}\"", cell(&clipped(text, width)))
}

fn texts(pool: &Pool, rows: &[usize]) -> Result<HashMap<usize, String>> {
    let Some(column) = pool.text_column() else { return Ok(HashMap::new()) };
    let values = pool.values(&[column.to_owned()], rows)?;
    let text = |&row: &usize| {
        let text = values.text(0, row)?;
        let text: String = text.trim().chars().take(LONGEST).collect();
        (!text.is_empty()).then_some((row, text))
    };
    Ok(rows.iter().filter_map(text).collect())
}
