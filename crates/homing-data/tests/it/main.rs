//! Tests of data sets from files and from servers.

mod broken;
mod fetch;
mod images;
#[cfg(unix)]
mod memory;
mod packed;
mod real;
mod sample;
mod seeds;
mod tables;
