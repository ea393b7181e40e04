//! Where the library of ONNX Runtime is.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Variable of the environment that names the library.
pub const VARIABLE: &str = "ORT_DYLIB_PATH";

/// Name of the library, to which Linux and macOS may add a version.
const NAME: &str = if cfg!(windows) {
    "onnxruntime.dll"
} else if cfg!(target_os = "macos") {
    "libonnxruntime.dylib"
} else {
    "libonnxruntime.so"
};

/// Prints the folder of the Python package without importing it. The current folder is not searched.
const PYTHON: &str = "import sys; sys.path = [path for path in sys.path if path]
from importlib.util import find_spec
spec = find_spec('onnxruntime')
print(spec.submodule_search_locations[0] if spec else '')";

/// Returns the library that `ORT_DYLIB_PATH` names. Without it, returns that of the Python package `onnxruntime`, in the active
/// virtual environment or where `python3` finds it, or that in a usual folder for libraries. `None` if there is none.
pub fn find() -> Option<PathBuf> {
    found(|name| std::env::var_os(name).filter(|value| !value.is_empty()), package_of_python)
}

fn found(variable: impl Fn(&str) -> Option<OsString>, package: impl Fn() -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(path) = variable(VARIABLE) {
        return Some(path.into());
    }
    let environment = variable("VIRTUAL_ENV").map(PathBuf::from);
    let in_environment = environment.iter().flat_map(|folder| packages(folder)).find_map(|folder| library(&folder));
    in_environment.or_else(|| library(&package()?.join("capi"))).or_else(|| {
        let paths = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"].map(variable);
        let paths = paths.iter().flatten().flat_map(std::env::split_paths);
        paths.chain(FOLDERS.map(PathBuf::from)).find_map(|folder| library(&folder))
    })
}

/// Usual folders for libraries.
const FOLDERS: [&str; 7] = [
    "/usr/local/lib",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/opt/homebrew/lib",
    "/opt/onnxruntime/lib",
];

/// Returns the folders in a virtual environment that may hold the library.
fn packages(environment: &Path) -> Vec<PathBuf> {
    let versions = fs::read_dir(environment.join("lib")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sites: Vec<PathBuf> = versions.map(|version| version.join("site-packages")).collect();
    sites.push(environment.join("Lib/site-packages"));
    sites.into_iter().map(|site| site.join("onnxruntime/capi")).collect()
}

/// Asks `python3` for the folder of the package.
fn package_of_python() -> Option<PathBuf> {
    let python = if cfg!(windows) { "python" } else { "python3" };
    let output = Command::new(python).args(["-c", PYTHON]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    Some(folder.trim()).filter(|folder| output.status.success() && !folder.is_empty()).map(PathBuf::from)
}

/// Returns the library in a folder; of several versions, the one whose name sorts last.
fn library(folder: &Path) -> Option<PathBuf> {
    let (stem, ending) = NAME.split_once('.').expect("the name has an ending");
    let is_library = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let rest = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.'));
        // libonnxruntime.so.1.31.0, libonnxruntime.1.31.0.dylib
        let is_version = |text: &str| text.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        rest.is_some_and(|rest| {
            let version = rest.strip_prefix(ending).or_else(|| rest.strip_suffix(ending));
            version.is_some_and(is_version)
        })
    };
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| is_library(path) && path.is_file()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_first_then_python_then_usual_folders() {
        let folder = tempfile::tempdir().unwrap();
        let make = |place: &str, name: &str| {
            let place = folder.path().join(place);
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join(name), "").unwrap();
            place.join(name)
        };
        let versioned = if NAME.ends_with("so") { format!("{NAME}.1.31.1") } else { NAME.to_owned() };
        make("venv/lib/python3.11/site-packages/onnxruntime/capi", "libonnxruntime_providers_shared.so");
        let in_environment = make("venv/lib/python3.11/site-packages/onnxruntime/capi", &versioned);
        let of_python = make("python/onnxruntime/capi", NAME);
        let on_path = make("libraries", NAME);
        let search = |set: &[(&str, &str)], package: Option<&str>| {
            let value = |name: &str| set.iter().find(|(other, _)| *other == name).map(|(_, value)| value.to_string());
            let place =
                |value: String| if value.starts_with('/') { value.into() } else { folder.path().join(value).into() };
            found(|name| value(name).map(place), || package.map(|package| folder.path().join(package)))
        };
        let venv = ("VIRTUAL_ENV", "venv");
        assert_eq!(search(&[(VARIABLE, "/own.so"), venv], None), Some("/own.so".into()));
        assert_eq!(search(&[venv, ("LD_LIBRARY_PATH", "libraries")], Some("python/onnxruntime")), Some(in_environment));
        assert_eq!(search(&[("LD_LIBRARY_PATH", "libraries")], Some("python/onnxruntime")), Some(of_python));
        assert_eq!(search(&[("LD_LIBRARY_PATH", "libraries")], Some("nowhere")), Some(on_path));
    }

    #[test]
    fn other_libraries_are_not_taken_for_it() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["libonnxruntime_providers_shared.so", "libonnxruntime.so.txt", "onnxruntime.py"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(library(folder.path()), None);
        fs::write(folder.path().join(NAME), "").unwrap();
        assert_eq!(library(folder.path()), Some(folder.path().join(NAME)));
    }
}
