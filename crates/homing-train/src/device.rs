//! Where networks run.

use burn::tensor::Device;

use crate::{Error, Result};

/// The device of a name: `cpu`; with the feature `libtorch` also `torch` and `cuda:0`.
pub fn device(name: &str) -> Result<Device> {
    match name {
        "cpu" => Ok(Device::flex()),
        _ => torch(name),
    }
}

/// Whether its memory is another than the CPU's.
pub(crate) fn is_apart(device: &Device) -> bool {
    let cpus = ["cpu", "torch"].map(self::device);
    !cpus.iter().flatten().any(|cpu| cpu == device)
}

#[cfg(feature = "libtorch")]
#[allow(deprecated, reason = "burn's own backends compile kernels for minutes before the first step")]
fn torch(name: &str) -> Result<Device> {
    match name.strip_prefix("cuda:").map(str::parse::<usize>) {
        Some(Ok(index)) => Ok(Device::libtorch_cuda(index)),
        None if name == "torch" => Ok(Device::libtorch()),
        _ => Err(Error::Device { name: name.into(), remedy: "use cpu, torch or cuda:0" }),
    }
}

#[cfg(not(feature = "libtorch"))]
fn torch(name: &str) -> Result<Device> {
    let remedy = "use cpu, or build with `--features libtorch` for torch and cuda:0";
    Err(Error::Device { name: name.into(), remedy })
}
