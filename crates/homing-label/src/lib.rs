//! Lets a person label the rows that teach the most: a run that keeps every answer, and a page on which to give them.
//!
//! [`Session`] is a run without its page. It chooses what to ask next, takes answers, keeps them in an append-only file, and
//! says when further labels would add little. [`Server`] shows it in a browser.

mod board;
mod class_folders;
mod colours;
mod data;
mod error;
mod export;
mod folder;
mod head;
mod law;
mod log;
mod map;
mod metadata;
mod open;
mod planner;
mod report;
mod server;
mod session;
mod simulate;
mod table;
mod trainer;
mod view;

pub use board::{Answer, Board, Counts, Decision};
pub use data::{Contents, Examples, LabelData, NotShown, Rows, Shown};
pub use error::{Error, Refusal, Remedy, Result};
pub use export::{ExportFormat, ImportedLabel, export, import_label_studio};
pub use folder::{RunFile, SETTINGS};
pub use log::{EVENTS, Event, Record, read_events};
pub use open::{OpenOptions, Opened, examples_of, open_examples};
pub use planner::{NamedRow, NamedTarget, PlannedPick, Progress, StopSignal, TargetProgress};
pub use server::Server;
pub use session::{Next, Saved, Session};
pub use simulate::{KnownLabels, Step, simulate};
pub use table::{is_run, observed_ids, write_label_table};
pub use trainer::CurvePoint;
