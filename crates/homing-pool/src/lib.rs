//! Reads pools of embeddings from files, and writes picks.
//!
//! A pool is a matrix with one row per example. It may have columns in addition to the embeddings: ids, groups, costs,
//! labels and class probabilities. All the usual file formats of embeddings can be read.
//!
//! ```
//! use homing_pool::{Pool, ReadOptions};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("pool.csv");
//! std::fs::write(&path, "id,x,y\nfirst,0.5,1\nsecond,2,3\n")?;
//!
//! let pool = Pool::open(&path, &ReadOptions::default())?;
//! assert_eq!((pool.rows(), pool.dim()), (2, 2));
//! assert_eq!(pool.ids().unwrap(), ["first", "second"]);
//! assert_eq!(pool.embeddings().row(1), [2.0, 3.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Formats
//!
//! | extension | where the embeddings are |
//! |---|---|
//! | `.npy` | in the array, which is used in place |
//! | `.npz`, `.safetensors` | in a two-dimensional float array; that of a `.safetensors` file is used in place |
//! | `.parquet`, `.arrow` (IPC stream or file) | in a column of lists of floats, or in number columns side by side |
//! | `.csv` (separated by `,`, `;` or tabs), `.tsv` | in number columns side by side, or in a column of JSON lists |
//! | `.jsonl`, `.ndjson` | in one list per line, or in a list within one object per line |
//!
//! A pool may also be several files of one format, whose rows are numbered across the files: a folder, a pattern such as
//! `shards/*.npy`, or a list with the ending `.list` ([`expand()`]).
//!
//! The first line of a text table is a header unless it consists of numbers only. Numbers that count up from 0 or 1 are a header
//! if no value below them is a whole number; otherwise the line could also be a row, and the file is refused.
//!
//! A file is refused if decoding it needs more memory than this process may use ([`memory_allowed`]).
//!
//! Files that are used in place are mapped into memory without being copied. A file that is larger than half of the memory that
//! this process may use is read block by block instead ([`Access`]). Do not rewrite such files while the pool is in use.

mod arrow;
mod arrow_text;
mod beside;
mod chooser;
mod column;
mod csv;
pub mod disk;
mod error;
mod expand;
mod format;
mod guard;
mod ipc;
mod jsonl;
mod layout;
mod many;
mod mapped;
mod matrix;
mod memory;
mod memory_budget;
mod message;
mod npy;
mod npz;
mod number_table;
mod options;
mod parquet;
mod paths;
mod picks;
mod pool;
mod positional;
mod raw_table;
mod records;
mod row_files;
mod row_labels;
mod row_values;
mod rows;
mod safetensors;
mod shards;
mod spread;
mod store;
mod table;
mod table_columns;
mod tensor;
mod write_pool;

pub use arrow::{embedding_column, list_numbers};
pub use beside::{check_writable, is_left_over, write_beside};
pub use chooser::{LABEL_NAMES, PATH_NAMES, TEXT_NAMES, is_usual_column};
pub use column::{column_from_bytes, read_column};
pub use error::{Error, Remedy, Result, rephrase};
pub use expand::{expand, is_list, is_pattern};
pub use format::Format;
pub use guard::catch_panic;
pub use many::{PoolFiles, count_rows};
pub use mapped::{explain_lost_files, map, read_file};
pub use memory::allowed as memory_allowed;
pub use message::{display_path, one_line};
pub use number_table::NumberTable;
pub use options::ReadOptions;
pub use paths::{Paths, refuse_foreign};
pub use picks::{PickColumns, PickFormat, check_picks_writable, write_picks, write_picks_csv};
pub use pool::Pool;
pub use raw_table::RawTable;
pub use row_labels::{classes_of, label_values, labelled_rows, listed_labels, row_labels, values_of_rows};
pub use row_values::RowValues;
pub use rows::RowList;
pub use store::Access;
pub use table_columns::ColumnChoice;
pub use write_pool::{PoolFormat, write_pool};
