//! Memory on a device that is reused from call to call.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, ValidAsZeroBits};

use crate::{Device, Result};

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
            self.device.check_room(size * size_of::<T>())?;
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

impl Buffer<u8> {
    /// Copies bytes to a position.
    pub fn write(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        if let Some(slice) = self.slice.as_mut() {
            self.device.stream.memcpy_htod(bytes, &mut slice.slice_mut(at..at + bytes.len()))?;
        }
        Ok(())
    }

    /// Copies bytes from a position to memory.
    pub fn read_at(&self, at: usize, out: &mut [u8]) -> Result<()> {
        if let Some(slice) = self.slice.as_ref() {
            self.device.stream.memcpy_dtoh(&slice.slice(at..at + out.len()), out)?;
            self.device.stream.synchronize()?;
        }
        Ok(())
    }
}

impl Buffer<f32> {
    /// Copies numbers from a position of another buffer to the start of this one.
    pub fn copy_from(&mut self, other: &Self, from: usize, count: usize) -> Result<()> {
        if let (Some(to), Some(from_slice)) = (self.slice.as_mut(), other.slice.as_ref()) {
            self.device.stream.memcpy_dtod(&from_slice.slice(from..from + count), &mut to.slice_mut(..count))?;
        }
        Ok(())
    }
}
