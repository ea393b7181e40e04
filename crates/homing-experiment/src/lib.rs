//! Experiments: grids of fine-tuning runs that a TOML file describes, tables and figures of their results, and tests of the
//! paper's claims.
//!
//! ```
//! use homing_experiment::Experiment;
//!
//! let experiment = Experiment::open("mnist-main")?;
//! assert!(experiment.caption().contains("of the paper"));
//! # Ok::<(), homing_experiment::Error>(())
//! ```

mod cells;
mod check;
mod claims;
mod classes;
mod draw;
mod error;
mod experiment;
mod open;
mod shared;
pub mod study;
mod table;

pub use cells::{GridCell, cells};
pub use check::{MOST_CELLS, MOST_ROUNDS};
pub use claims::{LEVEL, Verdict, holm, verdicts};
pub use classes::ClassTable;
pub use draw::draw;
pub use error::{Error, Remedy, Result};
pub use experiment::{Claim, Experiment, ExperimentLine, Figure, Period, QuickVersion, SeriesName};
pub use open::{names, sources};
pub use table::{ResultRow, ResultTable};
