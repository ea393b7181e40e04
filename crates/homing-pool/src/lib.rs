//! Pools of embeddings from files, and the picks that come out of them.
//!
//! A pool is a matrix with a row an example, in any of the formats that embeddings are usually kept in,
//! and optionally columns that go with it: ids, groups, costs, labels, class probabilities.
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
//! | extension | embeddings are |
//! |---|---|
//! | `.npy` | the array, used in place |
//! | `.npz`, `.safetensors` | a two-dimensional float array; `.safetensors` are used in place |
//! | `.parquet`, `.arrow` (IPC stream or file) | a column of lists of floats, or the number columns side by side |
//! | `.csv` (separated by `,`, `;` or tabs), `.tsv` | the number columns side by side, or a column of JSON lists |
//! | `.jsonl`, `.ndjson` | a list a line, or a list in an object a line |
//! | a directory of `.arrow` or `.parquet` shards | as in the shards, those that its `state.json` lists, or all in the order of their names |
//!
//! The first line of a table of text names its columns unless all of it are numbers. Numbers that count up from 0 or 1 are names
//! where nothing below them is a whole number; elsewhere they may be a row as well, and the file is refused.
//!
//! A file that decodes to more than the memory that this process may use is refused ([`memory_allowed`]).
//!
//! Files that are used in place are mapped into memory and cost none of it, or are read a block of rows at a time where they
//! take more than half of the memory that this process may use ([`Access`]); they must not be rewritten while the pool is in use.

mod arrow;
mod beside;
mod column;
mod csv;
pub mod disk;
mod error;
mod format;
mod guard;
mod ipc;
mod jsonl;
mod layout;
mod mapped;
mod matrix;
mod memory;
mod npy;
mod npz;
mod parquet;
mod paths;
mod picks;
mod pool;
mod positional;
mod records;
mod room;
mod row_files;
mod rows;
mod safetensors;
mod shards;
mod store;
mod table;
mod tensor;
mod values;
mod words;

pub use arrow::{embedding_column, list_numbers};
pub use beside::{check_writable, is_left_over, write_beside};
pub use column::{column_from_bytes, read_column};
pub use error::{Error, Result, one_line, shown};
pub use format::Format;
pub use guard::catch_panic;
pub use layout::LABEL_NAMES;
pub use mapped::{explain_lost_files, map, read_file};
pub use memory::allowed as memory_allowed;
pub use paths::{Paths, refuse_foreign};
pub use picks::{Ids, PickFormat, prepare, write_picks, write_picks_csv};
pub use pool::{Pool, ReadOptions};
pub use rows::RowList;
pub use store::Access;
pub use values::Values;
