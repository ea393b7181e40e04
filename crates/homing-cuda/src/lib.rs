//! Pools in the memory of NVIDIA GPUs: a carrier of [`homing::shard`].
//!
//! A [`DevicePool`] holds the rows of a pool on one or more devices. Its [`embeddings`](DevicePool::embeddings), which may be
//! centred and scaled, are given to a [`Task`](homing::Task) as any others. Selections with the linear kernel then run on the devices: matrix products in
//! f32, bounds on their rounding, and the ranking of rows. Every decision is made in f64 on the CPU, so the picks are those
//! of a pool in memory. Everything else reads the rows that it needs through the CPU.
//!
//! CUDA is loaded when a [`Device`] is opened: the driver, cuBLAS and NVRTC, which compiles the kernels at their first use on
//! a kind of device. Nothing of it is needed to build this crate, or to run a program that opens no device.
//!
//! ```no_run
//! use homing::{Embeddings, Plan, Task, select};
//! use homing_cuda::{Device, DevicePool};
//!
//! # let pool = [1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0, -1.0, 0.2];
//! # let targets = [0.8f32, 0.3];
//! let devices = Device::open_named("cuda:0")?;
//! let pool = DevicePool::upload(Embeddings::new(&pool, 2)?, &devices)?;
//! let task = Task::new(pool.embeddings(), Embeddings::new(&targets, 2)?);
//! assert_eq!(select(&task, &Plan::default().count(2))?.rows(), [1, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffer;
mod carried;
mod device;
mod error;
mod kernels;
mod pool;
mod products;
mod ranking;
mod real;
mod refiner;
mod rows;
mod shard;
mod tensor;

pub use carried::{Carried, CpuOnly, runs_on_devices};
pub use device::Device;
pub use error::{Error, Library, Remedy, Result};
pub use pool::{DevicePool, Format};
