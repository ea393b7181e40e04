//! Caught panics of parsers print nothing, and other panics still print their message.

mod samples;

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use homing_pool::{Format, Pool, ReadOptions, RowList};
use samples::*;

/// Number of panics that were printed.
static PRINTED: AtomicUsize = AtomicUsize::new(0);

/// Returns variants of an Arrow file with one byte changed; the reader panics at some of them, such as decreasing list offsets.
fn panicking_files() -> Vec<Vec<u8>> {
    let table = [batch(vec![("id", ids()), ("vector", lists())])];
    let whole = arrow_stream(&table);
    let mut files = Vec::new();
    for at in 0..whole.len() {
        for byte in [0x7f, 0xff] {
            let mut file = whole.clone();
            file[at] = byte;
            files.push(file);
        }
    }
    files
}

#[test]
fn a_caught_panic_of_a_parser_prints_no_trace_and_other_panics_do() {
    panic::set_hook(Box::new(|_| {
        PRINTED.fetch_add(1, Ordering::SeqCst);
    }));
    let mut contradictions = 0;
    for file in panicking_files() {
        let refusals = [
            Pool::from_bytes(Format::Arrow, file.clone(), &ReadOptions::default()).err(),
            RowList::from_bytes(Format::Arrow, file).err(),
        ];
        let caught = |error: &homing_pool::Error| error.to_string().contains("its contents contradict each other");
        contradictions += refusals.iter().flatten().filter(|error| caught(error)).count();
    }
    assert!(contradictions > 0, "none of the files makes a parser panic, so this test checks nothing");
    assert_eq!(PRINTED.load(Ordering::SeqCst), 0, "printed panics among {contradictions} that were caught");

    let elsewhere = thread::spawn(|| panic!("on purpose")).join();
    let here = panic::catch_unwind(|| panic!("on purpose"));
    assert!(elsewhere.is_err() && here.is_err());
    assert_eq!(PRINTED.load(Ordering::SeqCst), 2, "panics that were not caught must be printed");
}
