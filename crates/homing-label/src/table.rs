//! What a run knows about its rows, for programs that do not open its data.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use homing_pool::write_beside;

use crate::Result;
use crate::board::Board;
use crate::folder::RunFile;
use crate::log::{EVENTS, read_events};

/// Name of the table.
const TABLE: &str = "labels.csv";

/// Returns whether a folder is a labelling run.
pub fn is_run(folder: &Path) -> bool {
    folder.join(EVENTS).is_file()
}

/// Returns the ids of the rows whose answers tell something about the task: a class, or that they do not belong to it. The run may
/// be open.
pub fn observed_ids(run: &Path) -> Result<Vec<String>> {
    let (board, ids) = read_board(run)?;
    Ok(board.observed().into_iter().map(|row| ids[row].clone()).collect())
}

/// Returns what was answered in a run, and the ids of its rows in the order of its numbers.
fn read_board(run: &Path) -> Result<(Board, Vec<String>)> {
    let mut board = Board::new(RunFile::read(run)?.classes);
    // The data are not open here, so rows are numbered in the order in which their ids appear.
    let ids: RefCell<(HashMap<String, usize>, Vec<String>)> = RefCell::default();
    let row = |id: &str| {
        let (rows, names) = &mut *ids.borrow_mut();
        let new = names.len();
        let row = *rows.entry(id.to_owned()).or_insert(new);
        if row == new {
            names.push(id.to_owned());
        }
        Some(row)
    };
    board.replay(read_events(run)?, row, &run.join(EVENTS))?;
    Ok((board, ids.into_inner().1))
}

/// Writes the ids and labels of a run to `labels.csv` in its folder, and returns the path. The run may be open.
pub fn write_label_table(run: &Path) -> Result<PathBuf> {
    let (board, ids) = read_board(run)?;
    let path = run.join(TABLE);
    write_beside(&path, |out| {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(["id", "label"])?;
        for (row, class) in board.labels() {
            table.write_record([&ids[row], &board.classes()[class as usize]])?;
        }
        table.flush()
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Event, Record};

    #[test]
    fn the_table_has_the_labels_that_count() {
        let run = tempfile::tempdir().unwrap();
        std::fs::write(
            run.path().join(crate::SETTINGS),
            r#"{"version":1,"pool":"p","rows":9,"fingerprint":"","rule":"itl","classes":["a","b"]}"#,
        )
        .unwrap();
        let label = |id: &str, label: &str| Event::Label { ids: vec![id.into()], label: label.into() };
        let skipped = Event::Skip { ids: vec!["z".into()] };
        let excluded = Event::Exclude { ids: vec!["w".into()] };
        let events = [label("x,1", "a"), label("y", "b"), skipped, label("x,1", "b"), excluded];
        let mut text = String::new();
        for (at, event) in events.into_iter().enumerate() {
            let record = Record { seq: at as u64 + 1, at: 0, annotator: "me".into(), information: None, event };
            text.push_str(&serde_json::to_string(&record).unwrap());
            text.push('\n');
        }
        std::fs::write(run.path().join(EVENTS), text).unwrap();
        let path = write_label_table(run.path()).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "id,label\n\"x,1\",b\ny,b\n");
        assert_eq!(observed_ids(run.path()).unwrap(), ["x,1", "y", "w"]);
        assert!(is_run(run.path()) && !is_run(&run.path().join("none")));
    }
}
