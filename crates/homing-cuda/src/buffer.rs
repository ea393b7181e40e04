//! Memory on a device that is reused from call to call.

use std::sync::Arc;

use cudarc::driver::result::{memcpy_dtoh_async, memcpy_htod_async};
use cudarc::driver::sys::CU_MEMHOSTALLOC_DEVICEMAP;
use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, PinnedHostSlice, ValidAsZeroBits};

use crate::real::Real;
use crate::{Device, Error, Result};

/// Number of bytes from which on an allocation is checked first, to say how much is needed and how much is free. The check
/// takes longer than a small allocation.
const LARGE: usize = 64 << 20;

/// Memory that grows when more is asked for.
pub(crate) struct Buffer<T> {
    device: Arc<Device>,
    slice: Option<CudaSlice<T>>,
}

impl<T: DeviceRepr + ValidAsZeroBits> Buffer<T> {
    pub fn new(device: &Arc<Device>) -> Self {
        Self { device: device.clone(), slice: None }
    }

    /// Returns a buffer of `len` zeros.
    pub fn zeros(device: &Arc<Device>, len: usize) -> Result<Self> {
        let mut buffer = Self::new(device);
        buffer.reserve(len)?;
        Ok(buffer)
    }

    /// Makes room for `len` values. If the memory grows, its contents are lost.
    pub fn reserve(&mut self, len: usize) -> Result<u64> {
        if self.slice.as_ref().is_none_or(|slice| slice.len() < len) {
            self.slice = None;
            let size = len.max(1);
            if size * size_of::<T>() >= LARGE {
                self.device.check_room(size * size_of::<T>())?;
            }
            self.slice = Some(self.device.stream.alloc_zeros(size)?);
        }
        Ok(self.at(0))
    }

    /// Copies values to the start of the buffer, and returns its address.
    pub fn fill(&mut self, values: &[T]) -> Result<u64> {
        self.reserve(values.len())?;
        if let Some(slice) = self.slice.as_mut().filter(|_| !values.is_empty()) {
            self.device.stream.memcpy_htod(values, &mut slice.slice_mut(..values.len()))?;
        }
        Ok(self.at(0))
    }

    /// Copies the first values to memory.
    pub fn read(&self, out: &mut [T]) -> Result<()> {
        if let Some(slice) = self.slice.as_ref().filter(|_| !out.is_empty()) {
            self.device.stream.memcpy_dtoh(&slice.slice(..out.len()), out)?;
            self.device.stream.synchronize()?;
        }
        Ok(())
    }

    /// Returns the address of a position; zero if there is no memory yet.
    pub fn at(&self, position: usize) -> u64 {
        self.slice
            .as_ref()
            .map_or(0, |slice| slice.device_ptr(&self.device.stream).0 + (position * size_of::<T>()) as u64)
    }
}

/// The numbers of a part of a pool.
pub(crate) enum Values {
    Own(Buffer<u8>),
    /// Memory of somebody else, from an address on.
    Borrowed(Arc<Device>, u64),
    /// Memory of the machine, which the device reads across the bus.
    Lent(Lent),
}

impl Values {
    /// Returns the address of a byte, at which the device reads it.
    pub fn at(&self, byte: usize) -> u64 {
        match self {
            Values::Own(buffer) => buffer.at(byte),
            Values::Borrowed(_, address) => address + byte as u64,
            Values::Lent(lent) => lent.address + byte as u64,
        }
    }

    /// Copies bytes from a position to memory.
    pub fn read_at(&self, at: usize, out: &mut [u8]) -> Result<()> {
        match self {
            Values::Own(Buffer { device, .. }) | Values::Borrowed(device, _) => read_address(device, self.at(at), out),
            Values::Lent(lent) => {
                out.copy_from_slice(&lent.memory.as_slice()?[at..at + out.len()]);
                Ok(())
            }
        }
    }
}

/// Copies numbers from an address on a device to memory.
#[allow(unsafe_code, reason = "an address says nothing about what is there")]
pub(crate) fn read_address<T: DeviceRepr>(device: &Arc<Device>, address: u64, out: &mut [T]) -> Result<()> {
    // SAFETY: callers name memory that holds at least as many numbers, and the copy ends before `out` does.
    unsafe { memcpy_dtoh_async(out, address, device.stream.cu_stream()) }?;
    device.stream.synchronize()?;
    Ok(())
}

/// Memory of the machine that stays where it is, so that a device can read it.
pub(crate) struct Lent {
    device: Arc<Device>,
    memory: PinnedHostSlice<u8>,
    /// Devices with unified addresses read it at the address that it has for the CPU.
    address: u64,
}

impl Lent {
    /// Returns memory that `write` fills, for a pool that needs `needed` bytes of it in all.
    #[allow(unsafe_code, reason = "memory that the device reads is not initialised")]
    pub fn new(
        device: &Arc<Device>,
        (len, needed): (usize, usize),
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        // SAFETY: every byte is a valid u8, and `write` writes all that are read.
        let memory = unsafe { device.context.alloc_pinned_with_flags(len.max(1), CU_MEMHOSTALLOC_DEVICEMAP) };
        let mut memory = memory.map_err(|error| Error::of_host_memory(error, needed))?;
        write(&mut memory.as_mut_slice()?[..len])?;
        let address = memory.as_ptr()? as u64;
        Ok(Self { device: device.clone(), memory, address })
    }

    /// Sends bytes to the start of a buffer, and returns its address.
    #[allow(unsafe_code, reason = "the copy goes to an address")]
    pub fn send(&self, bytes: std::ops::Range<usize>, to: &mut Buffer<u8>) -> Result<u64> {
        let to = to.reserve(bytes.len())?;
        // SAFETY: the buffer was made as large as the range, and the memory that is read stays as long as the part exists.
        unsafe { memcpy_htod_async(to, &self.memory.as_slice()?[bytes], self.device.stream.cu_stream()) }?;
        Ok(to)
    }
}

impl<T: Real> Buffer<T> {
    /// Copies numbers from a position of another buffer to the start of this one.
    pub fn copy_from(&mut self, other: &Self, from: usize, count: usize) -> Result<()> {
        if let (Some(to), Some(from_slice)) = (self.slice.as_mut(), other.slice.as_ref()) {
            self.device.stream.memcpy_dtod(&from_slice.slice(from..from + count), &mut to.slice_mut(..count))?;
        }
        Ok(())
    }
}

/// Two parts of memory that the device reads directly: one is filled while the other is sent.
pub(crate) struct Staging {
    device: Arc<Device>,
    halves: [Option<PinnedHostSlice<u8>>; 2],
    current: usize,
}

impl Staging {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        device.context.bind_to_thread()?;
        Ok(Self { device: device.clone(), halves: [None, None], current: 0 })
    }

    /// Returns memory to be filled, once the device has read what was sent from there.
    #[allow(unsafe_code, reason = "memory that the device reads is not initialised")]
    pub fn next(&mut self, len: usize) -> Result<&mut [u8]> {
        self.current = 1 - self.current;
        let half = &mut self.halves[self.current];
        if half.as_ref().is_none_or(|half| half.len() < len) {
            // SAFETY: every byte is a valid u8, and those that are sent are written before.
            *half = Some(unsafe { self.device.context.alloc_pinned_with_flags(len, 0) }?);
        }
        let half = half.as_mut().expect("the memory was allocated above");
        Ok(&mut half.as_mut_slice()?[..len])
    }

    /// Sends the first `len` bytes to a position on the device.
    pub fn send(&mut self, len: usize, to: &mut Buffer<u8>, at: usize) -> Result<()> {
        if let (Some(half), Some(slice)) = (&mut self.halves[self.current], to.slice.as_mut()) {
            let mut place = slice.slice_mut(at..at + len);
            if half.len() == len {
                self.device.stream.memcpy_htod(half, &mut place)?;
            } else {
                self.device.stream.memcpy_htod(&half.as_slice()?[..len], &mut place)?;
                self.device.stream.synchronize()?;
            }
        }
        Ok(())
    }
}
