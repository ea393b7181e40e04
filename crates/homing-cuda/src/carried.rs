//! Where a selection runs: on the devices that were asked for, or on the CPU.

use std::fmt;
use std::sync::Arc;

use homing::{Embeddings, Greedy, Plan, Points, RowSource, StoredValues, Task};

use crate::{Device, DevicePool, Error, Result};

/// Smallest pool that `auto` uploads, in bytes. Opening a device takes as long as choosing from a smaller one.
const WORTHWHILE: usize = 1 << 30;

/// Reason why a selection runs on the CPU although a device was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "their texts explain them")]
pub enum CpuOnly {
    Kernel,
    Rule,
    Greedy,
    Limits,
    Format,
}

impl fmt::Display for CpuOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CpuOnly::Kernel => "it runs only the linear kernel",
            CpuOnly::Rule => "this rule runs on the CPU only",
            CpuOnly::Greedy => "it runs only exact greedy choices",
            CpuOnly::Limits => "quotas, costs, repeated picks and a noise variance per row are handled on the CPU only",
            CpuOnly::Format => "the pool is in f64, and a GPU holds f32, f16 and bf16",
        })
    }
}

/// Returns the rows that devices can hold for a selection, or why it does not run there.
pub fn runs_on_devices<'a>(task: &Task<'a>, plan: &Plan) -> std::result::Result<Embeddings<'a>, CpuOnly> {
    let Points::Embeddings(pool) = task.pool else { return Err(CpuOnly::Kernel) };
    let has_limits = plan.repeat || task.costs.is_some() || !plan.quotas.is_empty() || task.noise_vars.is_some();
    match pool.values() {
        _ if !task.kernel.is_linear() => Err(CpuOnly::Kernel),
        _ if !plan.strategy.is_carried() => Err(CpuOnly::Rule),
        _ if plan.greedy != Greedy::Exact => Err(CpuOnly::Greedy),
        _ if has_limits => Err(CpuOnly::Limits),
        StoredValues::F64(_) => Err(CpuOnly::Format),
        StoredValues::Source(source) if !source.fits_f32() => Err(CpuOnly::Format),
        _ => Ok(pool),
    }
}

/// Where the passes of a selection run.
#[derive(Debug)]
pub enum Carried {
    /// On the CPU, as requested.
    Cpu,
    /// On the CPU, although a device was requested.
    Refused {
        /// The device that was requested.
        device: String,
        /// Why it is not used.
        reason: CpuOnly,
    },
    /// On devices, which hold the pool.
    On {
        /// The name of the devices.
        device: String,
        /// The pool.
        pool: Arc<DevicePool>,
    },
}

impl Carried {
    /// Uploads the pool of a task if the named device can run the selection: `cpu`, `cuda:0`, `cuda:0,1` for two, or `auto`.
    /// `kept` is the pool that an earlier call has uploaded to that device. A pool that is larger than the memory of the devices
    /// stays in that of the machine, of which it may take `room` bytes, if that is known (see [`DevicePool::lend`]).
    ///
    /// ```
    /// use homing::{Embeddings, Plan, Task};
    /// use homing_cuda::Carried;
    ///
    /// let (pool, targets) = ([1.0f64, 0.0, 0.9, 0.1], [0.8f64, 0.3]);
    /// let task = Task::new(Embeddings::new(&pool, 2)?, Embeddings::new(&targets, 2)?);
    /// assert!(matches!(Carried::new("cpu", &task, &Plan::default(), None, None)?, Carried::Cpu));
    /// assert!(matches!(Carried::new("auto", &task, &Plan::default(), None, None)?, Carried::Cpu));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        device: &str,
        task: &Task<'_>,
        plan: &Plan,
        kept: Option<&Arc<DevicePool>>,
        room: Option<u64>,
    ) -> Result<Self> {
        if device == "cpu" {
            return Ok(Self::Cpu);
        }
        let found = runs_on_devices(task, plan);
        if device == "auto" {
            let worthwhile = found.ok().filter(|&pool| bytes(pool) >= WORTHWHILE && Device::count() > 0);
            let Some(pool) = worthwhile else { return Ok(Self::Cpu) };
            let uploaded = kept.cloned().map_or_else(|| upload(pool, "cuda:0"), Ok);
            return Ok(uploaded.map_or(Self::Cpu, |pool| Self::On { device: "cuda:0".to_owned(), pool }));
        }
        // A wrong name is refused even if the device is not needed.
        let devices = if kept.is_some() { Vec::new() } else { Device::open_named(device)? };
        let device = device.to_owned();
        Ok(match (found, kept) {
            (Err(reason), _) => Self::Refused { device, reason },
            (Ok(_), Some(kept)) => Self::On { device, pool: kept.clone() },
            (Ok(pool), None) => Self::On { device, pool: Arc::new(upload_or_lend(pool, &devices, room)?) },
        })
    }

    /// Returns the task with the pool where the passes run.
    pub fn task<'t>(&'t self, task: Task<'t>) -> homing::Result<Task<'t>> {
        let mut carried = task;
        if let (Self::On { pool: copy, .. }, Points::Embeddings(pool)) = (self, task.pool) {
            carried.pool = pool.of_copy(&**copy as &dyn RowSource)?.into();
        }
        Ok(carried)
    }

    /// Returns a sentence about a device that was requested and is not used.
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::Refused { device, reason } => Some(format!("{device} was not used, because {reason}.")),
            _ => None,
        }
    }
}

fn upload(pool: Embeddings<'_>, device: &str) -> Result<Arc<DevicePool>> {
    Ok(Arc::new(DevicePool::upload(pool, &Device::open_named(device)?)?))
}

/// Uploads a pool, or lends it to the devices if their memory is too small.
fn upload_or_lend(pool: Embeddings<'_>, devices: &[Arc<Device>], room: Option<u64>) -> Result<DevicePool> {
    match DevicePool::upload(pool, devices) {
        Err(Error::Memory { .. }) => DevicePool::lend(pool, devices, room),
        made => made,
    }
}

fn bytes(pool: Embeddings<'_>) -> usize {
    let size = match pool.values() {
        StoredValues::F16(_) | StoredValues::Bf16(_) => 2,
        _ => 4,
    };
    pool.rows() * pool.dim() * size
}

#[cfg(test)]
mod tests {
    use homing::Noise;

    use super::*;

    #[test]
    fn what_a_device_cannot_run_is_said() {
        let (singles, doubles) = ([1.0f32, 0.0, 0.9, 0.1], [1.0f64, 0.0, 0.9, 0.1]);
        let (single, double) = (Embeddings::new(&singles, 2).unwrap(), Embeddings::new(&doubles, 2).unwrap());
        let task = Task::new(single, single);
        let plan = |rule: &str| Plan::default().strategy(rule.parse().unwrap()).noise(Noise::Std(1.0));
        let why = |task: &Task<'_>, plan: &Plan| runs_on_devices(task, plan).err();
        for rule in ["itl", "ctl", "itl-top-b", "uncertainty-top-b", "cosine", "nearest-each"] {
            assert_eq!(why(&task, &plan(rule)), None, "{rule}");
        }
        for rule in
            ["max-dist", "k-means++", "badge", "information-density", "max-entropy", "least-confidence", "random"]
        {
            assert_eq!(why(&task, &plan(rule)), Some(CpuOnly::Rule), "{rule}");
        }
        assert_eq!(why(&Task::new(double, double), &plan("itl")), Some(CpuOnly::Format));
        let mut noisy = task;
        noisy.noise_vars = Some(&[1.0, 2.0]);
        assert_eq!(why(&noisy, &plan("itl")), Some(CpuOnly::Limits));
        let gaussian = homing::kernel_named("gaussian:1", 0).unwrap();
        assert_eq!(why(&task.kernel(&*gaussian), &plan("itl")), Some(CpuOnly::Kernel));
        let mut sampled = plan("itl");
        sampled.greedy = Greedy::Stochastic { epsilon: 0.1 };
        assert_eq!(why(&task, &sampled), Some(CpuOnly::Greedy));
    }

    #[test]
    fn a_wrong_name_is_refused_before_anything_is_uploaded() {
        let values = [1.0f32, 0.0, 0.9, 0.1];
        let pool = Embeddings::new(&values, 2).unwrap();
        let error = Carried::new("gpu", &Task::new(pool, pool), &Plan::default(), None, None).unwrap_err();
        assert_eq!(error, Error::Name("gpu".to_owned()));
    }
}
