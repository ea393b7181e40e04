//! The precisions in which a device computes.

use std::fmt::Debug;

use cudarc::cublas::CudaBlas;
use cudarc::cublas::result::{CublasError, dgemm, sgemm};
use cudarc::cublas::sys::cublasOperation_t;
use cudarc::driver::{DeviceRepr, ValidAsZeroBits};

use crate::Device;
use crate::kernels::Kernels;
use crate::pool::Format;
use crate::tensor::TensorCores;

/// f32, or f64 if f32 cannot distinguish the best rows.
pub(crate) trait Real: DeviceRepr + ValidAsZeroBits + Debug + Copy + Default + Send + Sync + 'static {
    /// Relative rounding error of one operation.
    const UNIT: f64;

    /// The format that is multiplied in place; `None` if every format is converted first.
    const STORED: Option<Format>;

    fn of(x: f64) -> Self;

    fn kernels(device: &Device) -> &Kernels;

    /// The kernels for tensor cores, if there are some for these numbers.
    fn tensor_cores(device: &Device) -> Option<&TensorCores>;

    /// out = leftᵀ · right, or out += leftᵀ · right, where `left` holds `rows` and `right` `count` columns, which are `stride`
    /// numbers apart and of which the first `inner` are multiplied. The columns of `out` are `out_stride` numbers apart.
    ///
    /// # Safety
    /// The addresses hold matrices of these sizes.
    #[allow(unsafe_code, reason = "cuBLAS takes addresses")]
    unsafe fn product(blas: &CudaBlas, product: &Product) -> Result<(), CublasError>;
}

/// The addresses and sizes of a product.
pub(crate) struct Product {
    pub left: u64,
    pub right: u64,
    pub out: u64,
    pub rows: usize,
    pub count: usize,
    pub inner: usize,
    pub stride: usize,
    pub out_stride: usize,
    /// Whether the product is added.
    pub adds: bool,
}

macro_rules! real {
    ($type:ty, $unit:expr, $stored:expr, $kernels:ident, $tensor:expr, $gemm:ident) => {
        impl Real for $type {
            const UNIT: f64 = $unit;
            const STORED: Option<Format> = $stored;

            fn of(x: f64) -> Self {
                x as $type
            }

            fn kernels(device: &Device) -> &Kernels {
                &device.$kernels
            }

            fn tensor_cores(device: &Device) -> Option<&TensorCores> {
                let tensor: fn(&Device) -> Option<&TensorCores> = $tensor;
                tensor(device)
            }

            #[allow(unsafe_code, reason = "cuBLAS takes addresses")]
            unsafe fn product(blas: &CudaBlas, product: &Product) -> Result<(), CublasError> {
                let (one, other): ($type, $type) = (1.0, if product.adds { 1.0 } else { 0.0 });
                // SAFETY: the caller guarantees that the addresses hold matrices of these sizes.
                unsafe {
                    $gemm(
                        *blas.handle(),
                        cublasOperation_t::CUBLAS_OP_T,
                        cublasOperation_t::CUBLAS_OP_N,
                        product.rows as i32,
                        product.count as i32,
                        product.inner as i32,
                        &raw const one,
                        product.left as *const $type,
                        product.stride as i32,
                        product.right as *const $type,
                        product.stride as i32,
                        &raw const other,
                        product.out as *mut $type,
                        product.out_stride as i32,
                    )
                }
            }
        }
    };
}

real!(f32, f32::EPSILON as f64 / 2.0, Some(Format::F32), single, |device| device.tensor.as_ref(), sgemm);
real!(f64, f64::EPSILON / 2.0, None, double, |_| None, dgemm);
