//! Checks that a device makes the picks of the CPU, and measures how long selections take on it.
//!
//! `cargo bench -p homing-cuda` does both on the device `cuda:0`. Arguments choose parts: `check`, `time`, `upload`, and
//! `1m`, `10m`, `random` or `50m` for the pools of the timings.

#![allow(missing_docs, clippy::disallowed_methods)]

mod check;
#[path = "../../../homing/benches/timed/mod.rs"]
mod timed;
mod timings;

use std::env;
use std::sync::Arc;

use homing_cuda::Device;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    println!("device: {}", device.model().unwrap_or_default());
    // The command and Python choose on such threads, too.
    let threads = homing::thread_pool(None).expect("threads can be started");
    let agree = threads.install(|| measure(&device, &arguments));
    assert!(agree, "some picks differ from those of the CPU");
}

/// Checks and measures what the arguments name, and returns whether all picks are those of the CPU.
fn measure(device: &Arc<Device>, arguments: &[String]) -> bool {
    let wants = |part: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == part);
    let mut agree = true;
    if wants("check") {
        agree = check::check_all(device);
    }
    if wants("upload") {
        timings::upload(device);
    }
    for pool in timings::POOLS {
        if wants("time") || arguments.iter().any(|argument| argument == pool.name) {
            timings::selections(device, &pool);
        }
    }
    agree
}
