//! A GPU with its stream, its kernels and cuBLAS.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use cudarc::cublas::CudaBlas;
use cudarc::cublas::sys::{cublasMath_t, cublasSetMathMode};
use cudarc::driver::result::{device, mem_pool};
use cudarc::driver::sys::CUmemPool_attribute::{
    CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT as RESERVED,
    CU_MEMPOOL_ATTR_USED_MEM_CURRENT as USED,
};
use cudarc::driver::{CudaContext, CudaStream, DriverError, LaunchConfig};

use crate::error::Library;
use crate::kernels::Kernels;
use crate::tensor::TensorCores;
use crate::{Error, Result};

/// Threads of a block, for kernels with one thread per row.
const THREADS: u32 = 256;

/// Blocks of a kernel that runs through all rows.
const GRID: u32 = 2048;

/// Number of bytes that are kept for the next selection.
const KEPT_MEMORY: u64 = 2 << 30;

/// A GPU.
pub struct Device {
    index: usize,
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) blas: CudaBlas,
    /// The kernels for numbers in f32, and for numbers in f64.
    pub(crate) single: Kernels,
    pub(crate) double: Kernels,
    /// Products in f32, unless the device is too old.
    pub(crate) tensor: Option<TensorCores>,
    /// Held while a shard uses the device.
    pub(crate) turn: Mutex<()>,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cuda:{}", self.index)
    }
}

impl Device {
    /// Returns how many devices there are: none without a driver.
    pub fn count() -> usize {
        if !is_present(Library::Driver) || cudarc::driver::result::init().is_err() {
            return 0;
        }
        CudaContext::device_count().map_or(0, |count| count as usize)
    }

    /// Opens a device by its number. A process opens each device once.
    pub fn open(index: usize) -> Result<Arc<Self>> {
        static OPENED: LazyLock<Mutex<HashMap<usize, Arc<Device>>>> = LazyLock::new(Mutex::default);
        let mut opened = OPENED.lock().expect("no thread panics while it holds the lock");
        if let Some(device) = opened.get(&index) {
            return Ok(device.clone());
        }
        let device = Self::load(index)?;
        opened.insert(index, device.clone());
        Ok(device)
    }

    fn load(index: usize) -> Result<Arc<Self>> {
        for library in [Library::Driver, Library::Cublas, Library::Nvrtc] {
            if !is_present(library) {
                return Err(Error::NoLibrary(library));
            }
        }
        let count = Self::count();
        if index >= count {
            return Err(Error::NoDevice { index, count });
        }
        let context = CudaContext::new(index)?;
        let stream = context.default_stream();
        let blas = CudaBlas::new(stream.clone())?;
        pedantic(&blas)?;
        let (single, double) = (Kernels::load(&context, "float")?, Kernels::load(&context, "double")?);
        let tensor = TensorCores::load(&context)?;
        let device = Self { index, context, stream, blas, single, double, tensor, turn: Mutex::new(()) };
        device.keep_memory()?;
        Ok(Arc::new(device))
    }

    /// Opens the devices of a name such as `cuda:0`, or `cuda:0,1` for two.
    pub fn open_named(name: &str) -> Result<Vec<Arc<Self>>> {
        Self::indices(name)?.into_iter().map(Self::open).collect()
    }

    /// Returns the numbers in a name such as `cuda:0,1`. The name `cuda` alone means the first device.
    fn indices(name: &str) -> Result<Vec<usize>> {
        let wrong = || Error::Name(name.to_owned());
        let list = match name.strip_prefix("cuda") {
            Some("") => "0",
            Some(rest) => rest.strip_prefix(':').ok_or_else(wrong)?,
            None => return Err(wrong()),
        };
        let indices: Vec<usize> =
            list.split(',').map(|part| part.parse().map_err(|_| wrong())).collect::<Result<_>>()?;
        let mut once = indices.clone();
        once.sort_unstable();
        once.dedup();
        if once.len() == indices.len() { Ok(indices) } else { Err(wrong()) }
    }

    /// Returns the name of the model, such as `NVIDIA H200`.
    pub fn model(&self) -> Result<String> {
        Ok(self.context.name()?)
    }

    /// Waits for the device, and makes it current on this thread.
    pub(crate) fn take_turn(&self) -> Result<MutexGuard<'_, ()>> {
        let turn = self.turn.lock().expect("no thread panics while it holds the lock");
        self.context.bind_to_thread()?;
        Ok(turn)
    }

    /// Waits until everything asked of the device is done.
    pub fn wait(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }

    /// Refuses an allocation for which there is no room.
    pub(crate) fn check_room(&self, needed: usize) -> Result<()> {
        let (free, _) = self.context.mem_get_info()?;
        let free = free + self.kept_memory();
        if needed > free { Err(Error::Memory { needed, free }) } else { Ok(()) }
    }
}

impl Device {
    /// Keeps memory for the next selection instead of returning it to the driver, which takes milliseconds per selection.
    #[allow(unsafe_code, reason = "cudarc has no safe interface to memory pools")]
    fn keep_memory(&self) -> Result<()> {
        if self.context.has_async_alloc() {
            let mut most = KEPT_MEMORY;
            // SAFETY: the device is valid, and the attribute is a number of 64 bits.
            unsafe {
                let pool = device::get_default_mem_pool(self.context.cu_device())?;
                mem_pool::set_attribute(pool, RELEASE_THRESHOLD, (&raw mut most).cast())?;
            }
        }
        Ok(())
    }

    /// Returns how many bytes are kept and not in use.
    #[allow(unsafe_code, reason = "cudarc has no safe interface to memory pools")]
    fn kept_memory(&self) -> usize {
        if !self.context.has_async_alloc() {
            return 0;
        }
        let read = |attribute| {
            let mut bytes = 0u64;
            // SAFETY: the device is valid, and the attribute is a number of 64 bits.
            unsafe {
                let pool = device::get_default_mem_pool(self.context.cu_device())?;
                mem_pool::get_attribute(pool, attribute, (&raw mut bytes).cast())?;
            }
            Ok::<u64, DriverError>(bytes)
        };
        let kept = |(reserved, used): (u64, u64)| reserved.saturating_sub(used) as usize;
        read(RESERVED).and_then(|reserved| Ok((reserved, read(USED)?))).map_or(0, kept)
    }
}

/// Makes matrix products in f32 as the bounds expect them: without shorter formats.
#[allow(unsafe_code, reason = "cuBLAS has no safe interface to its settings")]
fn pedantic(blas: &CudaBlas) -> Result<()> {
    // SAFETY: the handle is valid as long as `blas` is.
    unsafe { cublasSetMathMode(*blas.handle(), cublasMath_t::CUBLAS_PEDANTIC_MATH) }.result()?;
    Ok(())
}

/// Returns whether a library can be loaded.
#[allow(unsafe_code, reason = "loading a library runs its code")]
pub(crate) fn is_present(library: Library) -> bool {
    // SAFETY: these are NVIDIA's libraries, whose initialisation has no requirements.
    unsafe {
        match library {
            Library::Driver => cudarc::driver::sys::is_culib_present(),
            Library::Cublas => cudarc::cublas::sys::is_culib_present(),
            Library::Nvrtc => cudarc::nvrtc::sys::is_culib_present(),
        }
    }
}

/// Returns the launch of a kernel with one thread per row.
pub(crate) fn per_row(rows: usize) -> LaunchConfig {
    let blocks = rows.div_ceil(THREADS as usize).max(1) as u32;
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}

/// Returns the launch of a kernel whose threads run through all rows.
pub(crate) fn through_all() -> LaunchConfig {
    LaunchConfig { grid_dim: (GRID, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}

/// Returns the launch of a kernel with one block per row.
pub(crate) fn per_block(rows: usize) -> LaunchConfig {
    LaunchConfig { grid_dim: (rows as u32, 1, 1), block_dim: (THREADS / 2, 1, 1), shared_mem_bytes: 0 }
}

/// Launches a kernel.
macro_rules! launch {
    ($device:expr, $kernel:expr, $config:expr, $($arg:expr),* $(,)?) => {{
        use cudarc::driver::PushKernelArg;
        let mut arguments = $device.stream.launch_builder(&$kernel);
        $(let argument = $arg; arguments.arg(&argument);)*
        // SAFETY: the arguments have the types and sizes that the kernel expects.
        #[allow(unsafe_code, reason = "kernels are code in another language")]
        unsafe { arguments.launch($config) }?;
    }};
}
pub(crate) use launch;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices() {
        assert_eq!(Device::indices("cuda"), Ok(vec![0]));
        assert_eq!(Device::indices("cuda:1"), Ok(vec![1]));
        assert_eq!(Device::indices("cuda:0,2"), Ok(vec![0, 2]));
        for wrong in ["", "gpu", "cuda:", "cuda:x", "cuda:0,0", "cuda0", "cuda:-1", "cuda:0,"] {
            assert_eq!(Device::indices(wrong), Err(Error::Name(wrong.into())));
        }
    }
}
