//! Everything that can go wrong with a device, and what to do about it.

use std::fmt;

use cudarc::cublas::result::CublasError;
use cudarc::driver::{DriverError, sys::CUresult};

/// The result of an operation on a device.
pub type Result<T> = std::result::Result<T, Error>;

/// A library of CUDA that is loaded when a device is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// The driver, `libcuda`.
    Driver,
    /// Matrix products, `libcublas`.
    Cublas,
    /// The compiler of kernels, `libnvrtc`.
    Nvrtc,
}

/// What is wrong with a device. Each message is one sentence with the problem and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The name does not have the form `cuda:0` or `cuda:0,1`.
    Name(String),
    /// A library is missing.
    NoLibrary(Library),
    /// There is no such device.
    NoDevice {
        /// The number that was asked for.
        index: usize,
        /// How many devices there are.
        count: usize,
    },
    /// The device has too little free memory.
    Memory {
        /// Bytes that are needed.
        needed: usize,
        /// Bytes that are free.
        free: usize,
    },
    /// The pool is larger than the device's memory, and the machine has too little for it to be read from there.
    HostMemory {
        /// Bytes that are needed.
        needed: usize,
        /// Bytes of the machine's memory that may be used; `None` if the driver refused to reserve as much as is needed.
        free: Option<usize>,
    },
    /// Another program took the memory that was free a moment before.
    OutOfMemory,
    /// The pool's numbers cannot be held on a device without loss, because they are in f64.
    Inexact,
    /// The pool has more rows than one device numbers.
    TooManyRows(usize),
    /// The kernels cannot be compiled.
    Compile(String),
    /// The device or its driver failed, or the device has vanished.
    Failed(String),
    /// The pool cannot be read while it is uploaded.
    Pool(String),
}

/// What to do about an [`Error`]. [`Display`](fmt::Display) gives the Rust wording; [`Error::phrase`] accepts any other.
///
/// ```
/// use homing_cuda::{Device, Error, Remedy};
///
/// let error = Device::open_named("gpu").unwrap_err();
/// assert_eq!(error.remedy(), Some(Remedy::NameDevice));
/// assert_eq!(error.phrase(|_| "choose one of the list".to_owned()), "\"gpu\" is not a device; choose one of the list");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Name a device, or several.
    NameDevice,
    /// Select on the CPU.
    UseCpu,
    /// Install NVIDIA's driver, or select on the CPU.
    InstallDriverOrUseCpu,
    /// Install CUDA, whose libraries must be found, or select on the CPU.
    InstallCudaOrUseCpu,
    /// Divide the pool among more devices, or select on the CPU.
    UseMoreDevicesOrUseCpu,
    /// Store the pool in a format that devices hold, or select on the CPU.
    StoreInF32OrUseCpu,
    /// Update the driver and CUDA, or select on the CPU.
    UpdateOrUseCpu,
    /// Select again, or on the CPU.
    RetryOrUseCpu,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Remedy::NameDevice => "write cuda:0 or, for several, cuda:0,1",
            Remedy::UseCpu => "select on the CPU",
            Remedy::InstallDriverOrUseCpu => "install one, or select on the CPU",
            Remedy::InstallCudaOrUseCpu => {
                "install CUDA 12 or 13 and add its libraries to LD_LIBRARY_PATH, or select on the CPU"
            }
            Remedy::UseMoreDevicesOrUseCpu => "use more devices, or select on the CPU",
            Remedy::StoreInF32OrUseCpu => "store it in f32, or select on the CPU",
            Remedy::UpdateOrUseCpu => "update the driver and CUDA, or select on the CPU",
            Remedy::RetryOrUseCpu => "select again, or on the CPU",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: &usize| *bytes as f64 / f64::from(1 << 30);
        match self {
            Error::Name(name) => write!(f, "{name:?} is not a device")?,
            Error::NoLibrary(Library::Driver) => f.write_str("there is no NVIDIA driver (libcuda)")?,
            Error::NoLibrary(Library::Cublas) => f.write_str("cuBLAS (libcublas) was not found")?,
            Error::NoLibrary(Library::Nvrtc) => f.write_str("NVRTC (libnvrtc) was not found")?,
            Error::NoDevice { count: 0, .. } => f.write_str("there is no NVIDIA GPU")?,
            Error::NoDevice { index, count: 1 } => write!(f, "there is no device cuda:{index}, only cuda:0")?,
            Error::NoDevice { index, count } => {
                write!(f, "there is no device cuda:{index}, only cuda:0 to cuda:{}", count - 1)?;
            }
            Error::Memory { needed, free } => {
                let (needed, free) = (gib(needed), gib(free));
                write!(f, "the pool needs {needed:.1} GiB of device memory, and {free:.1} GiB are free")?;
            }
            Error::HostMemory { needed, free } => {
                write!(f, "the pool needs {:.1} GiB, more than the device has free, and ", gib(needed))?;
                if let Some(free) = free {
                    write!(f, "only {:.1} GiB of the machine's memory may hold it instead", gib(free))?;
                } else {
                    f.write_str("the driver could not reserve as much of the machine's memory")?;
                }
            }
            Error::OutOfMemory => f.write_str("the device has run out of memory")?,
            Error::Inexact => {
                f.write_str("a device holds f32, f16 or bf16 as they are stored, but this pool is in f64")?;
            }
            Error::TooManyRows(rows) => {
                write!(f, "a device numbers fewer than 2³² rows, and the pool has {rows}")?;
            }
            Error::Compile(log) => {
                write!(f, "the kernels cannot be compiled for this device ({})", log.trim().replace('\n', " "))?;
            }
            Error::Failed(reason) => write!(f, "the device failed ({reason})")?,
            Error::Pool(reason) => f.write_str(reason)?,
        }
        self.remedy().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl Error {
    /// Returns what to do; the message ends with it. `None` if the message of another library says it.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Error::NoLibrary(Library::Driver) => Remedy::InstallDriverOrUseCpu,
            Error::NoLibrary(Library::Cublas | Library::Nvrtc) => Remedy::InstallCudaOrUseCpu,
            Error::NoDevice { count: 0, .. } => Remedy::UseCpu,
            Error::Name(_) | Error::NoDevice { .. } => Remedy::NameDevice,
            Error::Memory { .. } | Error::HostMemory { .. } | Error::OutOfMemory | Error::TooManyRows(_) => {
                Remedy::UseMoreDevicesOrUseCpu
            }
            Error::Inexact => Remedy::StoreInF32OrUseCpu,
            Error::Compile(_) => Remedy::UpdateOrUseCpu,
            Error::Failed(_) => Remedy::RetryOrUseCpu,
            Error::Pool(_) => return None,
        })
    }

    /// Returns the message with the remedy in the words of an interface.
    pub fn phrase(&self, words: impl Fn(Remedy) -> String) -> String {
        let message = self.to_string();
        let Some(remedy) = self.remedy() else { return message };
        let problem = message.strip_suffix(&remedy.to_string()).expect("a message ends with its remedy");
        format!("{problem}{}", words(remedy))
    }

    /// Returns why the driver refused memory of the machine for a pool that needs so many bytes of it. The driver has the same
    /// code for this memory as for that of a device.
    pub(crate) fn of_host_memory(error: DriverError, needed: usize) -> Self {
        match Self::from(error) {
            Error::OutOfMemory => Error::HostMemory { needed, free: None },
            other => other,
        }
    }

    /// Returns one error of each kind.
    #[doc(hidden)]
    pub fn examples() -> Vec<Self> {
        vec![
            Error::Name("gpu".to_owned()),
            Error::NoLibrary(Library::Driver),
            Error::NoLibrary(Library::Cublas),
            Error::NoLibrary(Library::Nvrtc),
            Error::NoDevice { index: 0, count: 0 },
            Error::NoDevice { index: 1, count: 1 },
            Error::NoDevice { index: 7, count: 2 },
            Error::Memory { needed: 3 << 30, free: 1 << 30 },
            Error::HostMemory { needed: 300 << 30, free: Some(100 << 30) },
            Error::HostMemory { needed: 300 << 30, free: None },
            Error::OutOfMemory,
            Error::Inexact,
            Error::TooManyRows(1 << 33),
            Error::Compile("line 1\nline 2\n".to_owned()),
            Error::Failed("an illegal memory access was encountered".to_owned()),
            Error::Pool("pool.npy cannot be read; check the disk".to_owned()),
        ]
    }
}

impl std::error::Error for Error {}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        match error.0 {
            CUresult::CUDA_ERROR_NO_DEVICE => Error::NoDevice { index: 0, count: 0 },
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory,
            // Only the driver knows the words for its codes.
            code => Error::Failed(words_of(code)),
        }
    }
}

impl From<CublasError> for Error {
    fn from(CublasError(code): CublasError) -> Self {
        Error::Failed(format!("cuBLAS: {code:?}"))
    }
}

/// Returns CUDA's name of an error without what all names have in common: `CUDA_ERROR_ILLEGAL_ADDRESS` becomes `illegal
/// address`.
fn words_of(code: CUresult) -> String {
    let name = format!("{code:?}");
    name.trim_start_matches("CUDA_ERROR_").to_lowercase().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_one_sentence_that_ends_with_its_remedy() {
        for error in Error::examples() {
            let message = error.to_string();
            assert!(!message.contains("--") && !message.contains('\n'), "{message}");
            assert_eq!(error.phrase(|remedy| remedy.to_string()), message);
            if error.remedy().is_some() {
                assert!(error.phrase(|_| "REMEDY".to_owned()).ends_with("; REMEDY"), "{message}");
            }
        }
    }

    #[test]
    fn codes_of_the_driver() {
        let of = |code| Error::from(DriverError(code));
        assert_eq!(of(CUresult::CUDA_ERROR_NO_DEVICE), Error::NoDevice { index: 0, count: 0 });
        assert_eq!(of(CUresult::CUDA_ERROR_OUT_OF_MEMORY), Error::OutOfMemory);
        let refused = Error::of_host_memory(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY), 3 << 30);
        assert_eq!(refused, Error::HostMemory { needed: 3 << 30, free: None });
        assert!(refused.to_string().contains("the machine's memory"), "{refused}");
        let vanished = of(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS).to_string();
        assert_eq!(vanished, "the device failed (illegal address); select again, or on the CPU");
    }
}
