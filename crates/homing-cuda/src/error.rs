//! Everything that can go wrong with a device.

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

/// What is wrong with a device.
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
    /// The pool's numbers cannot be held on a device without loss, because they are in f64.
    Inexact,
    /// The pool has more rows than one device numbers.
    TooManyRows(usize),
    /// The kernels cannot be compiled.
    Compile(String),
    /// The device or its driver failed.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: &usize| *bytes as f64 / f64::from(1 << 30);
        match self {
            Error::Name(name) => write!(f, "{name:?} is not a device; write cuda:0 or, for several, cuda:0,1"),
            Error::NoLibrary(Library::Driver) => {
                f.write_str("there is no NVIDIA driver (libcuda); install one, or select on the CPU")
            }
            Error::NoLibrary(Library::Cublas) => {
                f.write_str("cuBLAS (libcublas) was not found; install CUDA 12 or 13 and add its libraries to LD_LIBRARY_PATH")
            }
            Error::NoLibrary(Library::Nvrtc) => {
                f.write_str("NVRTC (libnvrtc) was not found; install CUDA 12 or 13 and add its libraries to LD_LIBRARY_PATH")
            }
            Error::NoDevice { count: 0, .. } => f.write_str("there is no NVIDIA GPU; select on the CPU"),
            Error::NoDevice { index, count } => {
                write!(f, "there is no device cuda:{index}; the devices are cuda:0 to cuda:{}", count - 1)
            }
            Error::Memory { needed, free } => write!(
                f,
                "the pool needs {:.1} GiB of device memory, and {:.1} GiB are free; use more devices, or select on the CPU",
                gib(needed),
                gib(free)
            ),
            Error::Inexact => {
                f.write_str("a device holds f32, f16 or bf16 as they are stored, but this pool is in f64; store it in f32, or select on the CPU")
            }
            Error::TooManyRows(rows) => {
                write!(f, "a device numbers fewer than 2³² rows, and the pool has {rows}; use more devices, or select on the CPU")
            }
            Error::Compile(log) => write!(f, "the kernels cannot be compiled for this device ({log}); update the driver and CUDA"),
            Error::Failed(reason) => write!(f, "the device failed ({reason}); select again, or on the CPU"),
        }
    }
}

impl std::error::Error for Error {}

impl From<DriverError> for Error {
    fn from(DriverError(code): DriverError) -> Self {
        let error = DriverError(code);
        match error.error_string() {
            _ if code == CUresult::CUDA_ERROR_NO_DEVICE => Error::NoDevice { index: 0, count: 0 },
            Ok(reason) => Error::Failed(reason.to_string_lossy().into_owned()),
            Err(_) => Error::Failed(format!("{code:?}")),
        }
    }
}

impl From<CublasError> for Error {
    fn from(CublasError(code): CublasError) -> Self {
        Error::Failed(format!("cuBLAS: {code:?}"))
    }
}
