//! Columns of the pool's table by which the map can be coloured.

use std::collections::HashMap;

use homing_pool::{ColumnChoice, LABEL_NAMES};
use serde::Serialize;

use crate::data::{Examples, Rows};

/// Number of values that have a colour of their own; all others share the next code.
const NAMED: usize = 11;

/// Largest number of columns that are offered.
const MOST_COLUMNS: usize = 100;

/// Code of a row without a value.
const MISSING: u8 = 255;

/// Code of the largest number.
const LARGEST: f64 = 250.0;

/// A column as one byte per row.
pub(crate) struct Coloured {
    pub codes: Vec<u8>,
    pub legend: Legend,
}

/// What the codes of a column mean.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Legend {
    /// Code i is value i, and the next code is any other value.
    Categories { names: Vec<String>, others: bool },
    /// Codes from 0 to 250 are numbers between the two.
    Numbers { low: f64, high: f64 },
}

impl Examples {
    /// Returns the names of the columns, without ids, texts and labels.
    pub(crate) fn columns(&self) -> Vec<String> {
        let (all, text) = match (&self.table, &self.rows) {
            (Some(table), _) => (table.columns(), table.text_column()),
            (None, Rows::Pool(pool)) => {
                (pool.choose_columns(&ColumnChoice::All).unwrap_or_default(), pool.text_column())
            }
            (None, Rows::Numbers { .. }) => (Vec::new(), None),
        };
        let is_shown = |name: &String| Some(name.as_str()) == text || self.hidden.contains(name);
        let is_label = |name: &String| LABEL_NAMES.contains(&name.to_lowercase().as_str());
        all.into_iter().filter(|name| !is_shown(name) && !is_label(name)).take(MOST_COLUMNS).collect()
    }

    /// Returns a column as colours, or why that is not possible.
    pub(crate) fn coloured(&self, name: &str) -> Result<Coloured, String> {
        if !self.columns().iter().any(|column| column == name) {
            return Err(format!("the pool has no column {name:?}"));
        }
        let values: Vec<String> = match (&self.table, &self.rows) {
            (Some(table), _) => table.column(name).map_err(|error| error.to_string())?,
            (None, Rows::Pool(pool)) => {
                let rows: Vec<usize> = (0..pool.rows()).collect();
                let values = pool.values(&[name.to_owned()], &rows).map_err(|error| error.to_string())?;
                rows.into_iter().map(|row| values.text(0, row).unwrap_or_default()).collect()
            }
            (None, Rows::Numbers { .. }) => Vec::new(),
        };
        Ok(coloured(&values))
    }
}

fn coloured(values: &[String]) -> Coloured {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    values.iter().filter(|value| !value.is_empty()).for_each(|value| *counts.entry(value).or_default() += 1);
    let number = |value: &str| value.parse::<f64>().ok().filter(|number| number.is_finite());
    if counts.len() > NAMED && counts.keys().all(|value| number(value).is_some()) {
        let numbers: Vec<Option<f64>> = values.iter().map(|value| number(value)).collect();
        let mut sorted: Vec<f64> = numbers.iter().copied().flatten().collect();
        sorted.sort_by(f64::total_cmp);
        // A few extreme values must not take all the colours.
        let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64) as usize];
        let (low, high) = (at(0.01), at(0.99));
        let span = (high - low).max(f64::MIN_POSITIVE);
        let code = |number: f64| (LARGEST * ((number - low) / span).clamp(0.0, 1.0)) as u8;
        let codes = numbers.into_iter().map(|number| number.map_or(MISSING, code)).collect();
        return Coloured { codes, legend: Legend::Numbers { low, high } };
    }
    let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let others = names.len() > NAMED;
    let code_of: HashMap<&str, u8> =
        names.iter().enumerate().map(|(at, &(name, _))| (name, at.min(NAMED) as u8)).collect();
    let codes = values.iter().map(|value| code_of.get(value.as_str()).copied().unwrap_or(MISSING)).collect();
    names.truncate(NAMED);
    let names = names.into_iter().map(|(name, _)| name.to_owned()).collect();
    Coloured { codes, legend: Legend::Categories { names, others } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_values_have_their_own_colours_and_numbers_a_scale() {
        let texts = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>();
        let few = coloured(&texts(&["web", "book", "web", "", "3"]));
        assert_eq!(few.codes, [0, 2, 0, 255, 1]);
        assert_eq!(few.legend, Legend::Categories { names: texts(&["web", "3", "book"]), others: false });
        let many: Vec<String> = (0..30).map(|at| format!("v{}", at.min(13))).collect();
        let many = coloured(&many);
        assert_eq!(many.codes[29], 0, "the most frequent value comes first");
        assert_eq!(many.codes[7..10], [11, 11, 11], "the rarest values share a code");
        let numbers: Vec<String> = (0..100).map(|at| if at == 7 { String::new() } else { at.to_string() }).collect();
        let numbers = coloured(&numbers);
        assert_eq!((numbers.codes[0], numbers.codes[7], numbers.codes[99]), (0, 255, 250));
        assert!(matches!(numbers.legend, Legend::Numbers { low: 0.0, high: 98.0 }));
        assert!(numbers.codes[50] > numbers.codes[49]);
    }

    #[test]
    fn a_column_without_values_is_all_missing() {
        let empty = coloured(&[String::new(), String::new()]);
        assert_eq!(empty.codes, [255, 255]);
        assert_eq!(empty.legend, Legend::Categories { names: Vec::new(), others: false });
    }
}
