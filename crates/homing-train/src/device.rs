//! Devices that networks run on.

use burn::tensor::Device;

use crate::{Error, Result};

/// Returns the device with a name: `cpu`, and with the feature `libtorch` also `torch` and `cuda:0`.
pub fn device(name: &str) -> Result<Device> {
    match name {
        "cpu" => Ok(Device::flex()),
        _ => torch(name),
    }
}

/// Returns whether the device has its own memory, separate from the CPU's.
pub(crate) fn has_own_memory(device: &Device) -> bool {
    let cpus = ["cpu", "torch"].map(self::device);
    !cpus.iter().flatten().any(|cpu| cpu == device)
}

#[cfg(feature = "libtorch")]
#[allow(deprecated, reason = "burn's own backends compile kernels for minutes before the first step")]
fn torch(name: &str) -> Result<Device> {
    match name.strip_prefix("cuda:").map(str::parse::<usize>) {
        Some(Ok(index)) => Ok(Device::libtorch_cuda(index)),
        None if name == "torch" => Ok(Device::libtorch()),
        _ => Err(Error::Device { name: name.into() }),
    }
}

#[cfg(not(feature = "libtorch"))]
fn torch(name: &str) -> Result<Device> {
    Err(Error::Device { name: name.into() })
}
