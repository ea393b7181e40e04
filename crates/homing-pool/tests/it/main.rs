//! Tests of reading pools and lists of rows, and of writing picks.
//!
//! They are one program, because each program contains every reader and takes long to link. `memory` and `silence` are
//! programs of their own: they limit the memory of their process and replace its panic hook.

#[path = "../samples/mod.rs"]
mod samples;

mod access;
mod columns;
mod footers;
mod formats;
mod hostile;
mod ids;
mod many;
mod many_refusals;
mod picks;
mod refusals;
mod row_lists;
mod shards;
mod values;
mod wide;
