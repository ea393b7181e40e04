//! The kernels: compiled at their first use, and cached by content and kind of device.

use std::path::PathBuf;
use std::sync::Arc;
use std::{env, fs};

use cudarc::driver::{CudaContext, CudaFunction, CudaModule};
use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};

use crate::{Error, Result};

const SOURCE: &str = include_str!("kernels.cu");

macro_rules! kernels {
    ($($name:ident),*) => {
        /// The functions of `kernels.cu`.
        #[derive(Debug)]
        pub(crate) struct Kernels {
            $(pub $name: CudaFunction,)*
        }

        impl Kernels {
            #[cfg(test)]
            const NAMES: &[&str] = &[$(stringify!($name)),*];

            fn of(module: &Arc<CudaModule>) -> Result<Self> {
                Ok(Self { $($name: module.load_function(stringify!($name))?,)* })
            }
        }
    };
}

kernels!(
    survey,
    measure,
    sum_blocks,
    add_sums,
    convert,
    gather,
    start,
    open_rows,
    set_until,
    verify,
    collect,
    histogram,
    histogram_of_keys,
    reach,
    choose,
    list_best,
    copy_numbers,
    try_steps,
    generate
);

impl Kernels {
    /// Loads the kernels for a device. `real` is the type of their numbers in C.
    pub fn load(context: &Arc<CudaContext>, real: &str) -> Result<Self> {
        compiled(context, real, SOURCE, &[format!("-DREAL={real}")], Self::of)
    }
}

/// Loads kernels for a device from the cache, or compiles them.
pub(crate) fn compiled<K>(
    context: &Arc<CudaContext>,
    name: &str,
    source: &str,
    options: &[String],
    kernels_of: impl Fn(&Arc<CudaModule>) -> Result<K>,
) -> Result<K> {
    let (major, minor) = context.compute_capability()?;
    let architecture = format!("compute_{major}{minor}");
    let file = cache_file(&architecture, name, source);
    if let Some(text) = file.as_ref().and_then(|file| fs::read_to_string(file).ok())
        && let Ok(module) = context.load_module(Ptx::from_src(text))
        && let Ok(kernels) = kernels_of(&module)
    {
        return Ok(kernels);
    }
    let compiled = compile(source, &architecture, options)?;
    if let Some(file) = file {
        // Without a cache the kernels are compiled again next time.
        let _ = store(&file, &compiled.to_src());
    }
    kernels_of(&context.load_module(compiled)?)
}

/// Compiles kernels, which needs no device.
pub(crate) fn compile(source: &str, architecture: &str, options: &[String]) -> Result<Ptx> {
    let common = [format!("--gpu-architecture={architecture}"), "--std=c++17".into()];
    let options = CompileOptions { options: [&common[..], options].concat(), ..CompileOptions::default() };
    compile_ptx_with_opts(source, options).map_err(|error| match error {
        CompileError::CompileError { log, .. } => Error::Compile(log.to_string_lossy().into_owned()),
        other => Error::Compile(format!("{other:?}")),
    })
}

/// Returns the file of compiled kernels in the user's cache folder, if there is one.
fn cache_file(architecture: &str, name: &str, source: &str) -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))?;
    let content = blake3::hash(source.as_bytes()).to_hex();
    Some(cache.join("homing").join(format!("kernels-{architecture}-{name}-{}.ptx", &content[..16])))
}

/// Writes a file beside its place and renames it, so that it appears whole.
fn store(file: &std::path::Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    let beside = file.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&beside, text)?;
    fs::rename(beside, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::is_present;
    use crate::error::Library;
    use crate::tensor;

    #[test]
    fn every_kernel_compiles() {
        if !is_present(Library::Nvrtc) {
            println!("skipped: NVRTC (libnvrtc) was not found");
            return;
        }
        for architecture in ["compute_80", "compute_90"] {
            for real in ["float", "double"] {
                let compiled = compile(SOURCE, architecture, &[format!("-DREAL={real}")]).unwrap().to_src();
                for name in Kernels::NAMES {
                    assert!(compiled.contains(&format!(".entry {name}(")), "{name} for {real}");
                }
            }
            let compiled = compile(tensor::SOURCE, architecture, &[]).unwrap().to_src();
            for name in ["single_2", "half_8", "transformed_single_4", "transformed_half_6"] {
                assert!(compiled.contains(&format!(".entry {name}(")), "{name}");
            }
        }
    }

    #[test]
    fn what_cannot_be_compiled_is_one_sentence() {
        if !is_present(Library::Nvrtc) {
            println!("skipped: NVRTC (libnvrtc) was not found");
            return;
        }
        let error = compile("__global__ void wrong( {", "compute_90", &[]).unwrap_err().to_string();
        assert!(error.contains("cannot be compiled") && !error.contains('\n'), "{error}");
    }
}
