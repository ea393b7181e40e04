//! Converts errors into Python exceptions whose remedies name Python's arguments.

use std::path::Path;

use homing::Remedy;
use homing_cuda::Remedy as DeviceRemedy;
use homing_encode::Remedy as EncodeRemedy;
use homing_pool::Remedy as PoolRemedy;
use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError,
    PyValueError,
};
use pyo3::prelude::*;

/// Converts an error of the core.
pub fn core_error(error: homing::Error) -> PyErr {
    match error {
        homing::Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        homing::Error::Unreadable(reason) => PyOSError::new_err(reason),
        error @ homing::Error::Threads { .. } => PyRuntimeError::new_err(error.phrase(words)),
        error => PyValueError::new_err(error.phrase(words)),
    }
}

/// Converts an error from reading a file.
pub fn pool_error(error: homing_pool::Error) -> PyErr {
    let sentence = error.phrase(pool_words);
    match error {
        homing_pool::Error::NotFound { .. } => PyFileNotFoundError::new_err(sentence),
        _ => PyValueError::new_err(sentence),
    }
}

/// Converts an error of an encoder.
pub fn encoder_error(error: homing_encode::Error) -> PyErr {
    let sentence = error.phrase(encoder_words);
    match error {
        homing_encode::Error::Pool(error) => pool_error(error),
        homing_encode::Error::NoRuntime { .. } | homing_encode::Error::Runtime { .. } => {
            PyRuntimeError::new_err(sentence)
        }
        _ => PyValueError::new_err(sentence),
    }
}

/// Converts an error from writing a file.
pub fn write_error(path: &Path, error: &homing_pool::Error) -> PyErr {
    let sentence = error.phrase(pool_words);
    match error {
        homing_pool::Error::Write { .. } if path.is_dir() => PyIsADirectoryError::new_err(sentence),
        homing_pool::Error::NoFolder { .. } => PyFileNotFoundError::new_err(sentence),
        homing_pool::Error::Write { .. } => PyOSError::new_err(sentence),
        _ => PyValueError::new_err(sentence),
    }
}

/// Converts an error of a device.
pub fn device_error(error: homing_cuda::Error) -> PyErr {
    let sentence = error.phrase(device_words);
    match error {
        homing_cuda::Error::Name(_) | homing_cuda::Error::Inexact | homing_cuda::Error::TooManyRows(_) => {
            PyValueError::new_err(sentence)
        }
        homing_cuda::Error::Memory { .. } | homing_cuda::Error::OutOfMemory => PyMemoryError::new_err(sentence),
        homing_cuda::Error::Pool(_) => PyOSError::new_err(sentence),
        _ => PyRuntimeError::new_err(sentence),
    }
}

/// Converts an error from rendering a page.
pub fn report_error(error: homing_report::Error) -> PyErr {
    match error {
        homing_report::Error::Numbers(error) => core_error(error),
        error => PyRuntimeError::new_err(error.to_string()),
    }
}

/// Phrases a remedy of the core with the names of Python's arguments.
fn words(remedy: Remedy) -> String {
    let words = match remedy {
        Remedy::GiveTargets => "give `targets`",
        Remedy::GiveTargetsOrChooseUndirectedRule => {
            "give `targets`, or choose an undirected rule such as 'undirected-itl'"
        }
        Remedy::GiveTargetsOrDropVarianceStop => "give `targets`, or leave the variance out of `stop`",
        Remedy::GiveProbabilitiesOrChooseRule => "give `probabilities`, or choose a `rule` that does not need them",
        Remedy::GiveCostsOrDropBudget => "give `costs`, or leave `budget` out",
        Remedy::GiveGroupsOrDropQuotas => "give `groups`, or leave `quotas` out",
        Remedy::RaiseLimits => "raise `quotas` or `budget`",
        Remedy::ChooseListedRule => "choose a `rule` that homing.rules() lists",
        Remedy::DropRepeatOrChooseSequentialRule => {
            "leave `repeat` out, or choose a `rule` that picks one row after another, such as 'itl'"
        }
        Remedy::ChooseGreedyRuleOrExact => "choose one of those as `rule`, or leave `greedy` out",
        Remedy::DropInputsOrChooseUnpartitioned => {
            "leave `noise_vars`, `probabilities` and `repeat` out, or choose 'exact' or 'stochastic:EPSILON' for `greedy`"
        }
        Remedy::ObserveByRow => "give row numbers of the pool as `observed`, not embeddings",
        Remedy::StopByGainOrSamplePool => {
            "use the least gain in `stop` instead of the variance, or give a sample of the pool"
        }
        Remedy::AddToKernelOrRaiseNoise => "add a multiple of the identity to the kernel matrix, or raise `noise_std`",
        Remedy::ChooseSmallerApproximation => "choose a smaller approximation",
        _ => "change the arguments",
    };
    words.to_owned()
}

/// Phrases a remedy of the file readers with the names of Python's arguments.
fn pool_words(remedy: PoolRemedy) -> String {
    let words = match remedy {
        PoolRemedy::ReadByPosition => "read the pool by position, with 'read' as `pool_access`",
        PoolRemedy::NameEmbedding => "name one in `embedding_column`",
        PoolRemedy::NameIds => "name its column of ids in `id_column`",
        PoolRemedy::NameUse => "say what it is for (`id_column`, `label_column`, `groups` or `costs`)",
        PoolRemedy::CopyNoColumns => "leave the columns out",
        PoolRemedy::NameOtherUses => {
            "name the pool's columns that have another use (`id_column`, `label_column`, `groups` or `costs`)"
        }
        _ => "change the arguments",
    };
    words.to_owned()
}

/// Phrases a remedy of an encoder with the names of Python's arguments.
fn encoder_words(remedy: EncodeRemedy) -> String {
    let words = match remedy {
        EncodeRemedy::Pool(remedy) => return pool_words(remedy),
        EncodeRemedy::NameTexts => "name it in `text_column`",
        EncodeRemedy::ChooseEncoder => "give an `encoder` for both",
        EncodeRemedy::ChooseBuiltIn => "leave the model out",
        EncodeRemedy::UseNumbers => "set `encoder` to 'none' to use the numbers of both",
        _ => "change the arguments",
    };
    words.to_owned()
}

/// Phrases a remedy of a GPU.
fn device_words(remedy: DeviceRemedy) -> String {
    let words = match remedy {
        DeviceRemedy::NameDevice => "give 'cuda:0' ('cuda:0,1' for several), 'auto' or 'cpu' as `device`",
        DeviceRemedy::UseCpu => "use the CPU: leave `device` out, or copy arrays to memory",
        DeviceRemedy::InstallDriverOrUseCpu => {
            "install one, or use the CPU: leave `device` out, or copy arrays to memory"
        }
        DeviceRemedy::InstallCudaOrUseCpu => {
            "install CUDA 12 or 13 (such as nvidia-cuda-nvrtc and nvidia-cublas from PyPI) and add its libraries to \
             LD_LIBRARY_PATH, or use the CPU"
        }
        DeviceRemedy::UseMoreDevicesOrUseCpu => "give several devices ('cuda:0,1') as `device`, or use the CPU",
        DeviceRemedy::StoreInF32OrUseCpu => "convert it to float32, or leave `device` out",
        DeviceRemedy::UpdateOrUseCpu => "update the driver and CUDA, or use the CPU",
        DeviceRemedy::RetryOrUseCpu => "try again, or use the CPU",
        remedy => return remedy.to_string(),
    };
    words.to_owned()
}

/// Returns the sentence of every error of the libraries as Python shows it, for the tests.
#[pyfunction]
#[pyo3(name = "_refusals")]
pub fn refusals() -> Vec<String> {
    let core = homing::Error::examples().into_iter().map(|error| error.phrase(words));
    let own =
        |error: &homing_encode::Error| !matches!(error, homing_encode::Error::Pool(_) | homing_encode::Error::Data(_));
    let encoders = homing_encode::Error::examples().into_iter().filter(own).map(|error| error.phrase(encoder_words));
    let pools = homing_pool::Error::examples().into_iter().map(|error| error.phrase(pool_words));
    let devices = homing_cuda::Error::examples().into_iter().map(|error| error.phrase(device_words));
    core.chain(pools).chain(encoders).chain(devices).collect()
}
