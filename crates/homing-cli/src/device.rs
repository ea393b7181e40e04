//! `--device`: whether a selection runs on a GPU.

use std::time::Duration;

use anyhow::Result;
use homing::{Embeddings, Greedy, Plan, Points, StoredValues, Task};
use homing_cuda::{Device, DevicePool};

/// Smallest pool that `auto` uploads, in bytes. Opening a device takes as long as choosing from a smaller one.
const WORTHWHILE: usize = 1 << 30;

/// Where a selection runs.
pub enum Carried {
    /// On the CPU, as requested.
    Cpu,
    /// On the CPU, although a device was requested, because the device cannot run the selection.
    Refused {
        device: String,
        reason: &'static str,
    },
    On(String, Box<DevicePool>),
}

impl Carried {
    /// Returns the pool on the device.
    pub fn pool(&self) -> Option<&DevicePool> {
        match self {
            Carried::On(_, pool) => Some(pool),
            _ => None,
        }
    }

    /// Returns a sentence about where the selection ran, if a device was requested.
    pub fn note(&self, uploading: Duration) -> Option<String> {
        match self {
            Carried::Cpu => None,
            Carried::Refused { device, reason } => Some(format!("{device} was not used, because {reason}.")),
            Carried::On(device, _) => {
                Some(format!("The passes ran on {device}; the upload took {:.2} s.", uploading.as_secs_f64()))
            }
        }
    }
}

/// Uploads the pool if a device is requested and can run the selection.
pub fn upload(device: &str, task: &Task<'_>, plan: &Plan) -> Result<Carried> {
    if device == "cpu" {
        return Ok(Carried::Cpu);
    }
    let is_auto = device == "auto";
    let devices = match is_auto {
        true if Device::count() == 0 => return Ok(Carried::Cpu),
        true => Device::open_named("cuda:0"),
        false => Device::open_named(device),
    };
    let pool = match (runs_there(task, plan), devices) {
        (_, Err(_)) if is_auto => return Ok(Carried::Cpu),
        (_, Err(error)) => return Err(error.into()),
        (Err(_), _) if is_auto => return Ok(Carried::Cpu),
        (Err(reason), _) => return Ok(Carried::Refused { device: device.to_owned(), reason }),
        (Ok(pool), Ok(_)) if is_auto && bytes(pool) < WORTHWHILE => return Ok(Carried::Cpu),
        (Ok(pool), Ok(devices)) => DevicePool::upload(pool, &devices),
    };
    match pool {
        Ok(pool) => Ok(Carried::On(if is_auto { "cuda:0".to_owned() } else { device.to_owned() }, Box::new(pool))),
        Err(_) if is_auto => Ok(Carried::Cpu),
        Err(error) => Err(error.into()),
    }
}

/// Returns the embeddings that a device can hold, or why it cannot run the selection.
fn runs_there<'a>(task: &Task<'a>, plan: &Plan) -> Result<Embeddings<'a>, &'static str> {
    let Points::Embeddings(pool) = task.pool else { return Err("it runs only the linear kernel") };
    if !task.kernel.is_linear() {
        return Err("it runs only the linear kernel");
    }
    if !plan.strategy.is_carried() {
        return Err("this rule runs on the CPU only");
    }
    if plan.greedy != Greedy::Exact {
        return Err("it runs only --greedy exact");
    }
    if plan.repeat || task.costs.is_some() || !plan.quotas.is_empty() || task.noise_vars.is_some() {
        return Err("quotas, costs and repeated picks are handled on the CPU only");
    }
    match pool.values() {
        StoredValues::F64(_) => Err("the pool is in f64, and a GPU holds f32, f16 and bf16"),
        StoredValues::Source(source) if !source.fits_f32() => {
            Err("the pool is in f64, and a GPU holds f32, f16 and bf16")
        }
        _ => Ok(pool),
    }
}

fn bytes(pool: Embeddings<'_>) -> usize {
    let size = match pool.values() {
        StoredValues::F16(_) | StoredValues::Bf16(_) => 2,
        _ => 4,
    };
    pool.rows() * pool.dim() * size
}
