//! Dependencies between modules: each uses only modules below it, and no two siblings depend on each other, even
//! indirectly.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// The folders of `src`, from bottom to top. Each uses only those before it.
const LAYERS: [&str; 12] = [
    "base",
    "data",
    "kernels",
    "last_layer",
    "law",
    "rules",
    "task",
    "engine",
    "select",
    "explain",
    "theory",
    "diagnose",
];

type ModulePath = Vec<String>;

/// The modules of a crate with their sources.
struct Modules {
    sources: BTreeMap<ModulePath, String>,
    /// The modules of the names that the crate's root exports.
    exports: HashMap<String, ModulePath>,
}

fn path_of(text: &str) -> ModulePath {
    text.split("::").map(str::to_owned).collect()
}

/// Returns a source without its comments and unit tests.
fn code(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Expands groups in braces in a path: `a::{b, c::d}` becomes `a::b` and `a::c::d`.
pub(crate) fn expand(text: &str) -> Vec<String> {
    let end_of_path = |c: char| !(c.is_alphanumeric() || "_:".contains(c));
    let end = text.find(end_of_path).unwrap_or(text.len());
    let prefix = &text[..end];
    if !(prefix.ends_with("::") && text[end..].starts_with('{')) {
        return vec![prefix.trim_end_matches("::").to_owned()];
    }
    let (mut depth, mut start, mut paths) = (0, end + 1, Vec::new());
    for (at, c) in text.char_indices().skip_while(|&(at, _)| at < end) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (c == ',' && depth == 1) || depth == 0 {
            let inner = text[start..at].trim();
            let inner = if inner.is_empty() { Vec::new() } else { expand(inner) };
            paths.extend(inner.into_iter().map(|inner| format!("{prefix}{inner}")));
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    paths
}

/// Returns the sources of the crate by module path. That of the root is `lib`.
pub(crate) fn sources() -> BTreeMap<String, String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = BTreeMap::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(&src).unwrap().with_extension("");
            let names: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
            let module = names.join("::");
            let module = module.strip_suffix("::mod").unwrap_or(&module).to_owned();
            sources.insert(module, fs::read_to_string(path).unwrap());
        }
    }
    sources
}

impl Modules {
    /// Creates the modules from their sources and that of the crate's root.
    fn new<'s>(sources: impl IntoIterator<Item = (&'s str, &'s str)>, root: &str) -> Self {
        let root = code(root);
        let uses = root.split("pub use ").skip(1).flat_map(expand);
        let export = |path: String| {
            let mut path = path_of(&path);
            path.pop().map(|name| (name, path))
        };
        let exports = uses.filter_map(export).collect();
        Self { sources: sources.into_iter().map(|(path, source)| (path_of(path), code(source))).collect(), exports }
    }

    /// Reads the modules from the crate's sources.
    fn read() -> Self {
        let mut files = sources();
        let root = files.remove("lib").unwrap();
        Self::new(files.iter().map(|(path, source)| (path.as_str(), source.as_str())), &root)
    }

    /// Returns the modules that a module names by `crate::` and `super::`.
    fn used_by(&self, module: &ModulePath) -> BTreeSet<ModulePath> {
        let source = &self.sources[module];
        let mut found = BTreeSet::new();
        for (at, _) in source.match_indices("crate::").chain(source.match_indices("super::")) {
            // Skip matches within another path, such as the second part of `super::super`.
            if source[..at].ends_with(|c: char| c.is_alphanumeric() || c == ':' || c == '_') {
                continue;
            }
            found.extend(expand(&source[at..]).iter().map(|path| self.resolve(module, path)));
        }
        found
    }

    /// Returns the module that a path leads to. The crate's root is the empty path.
    fn resolve(&self, module: &ModulePath, path: &str) -> ModulePath {
        let mut segments: Vec<String> = path_of(path);
        let supers = segments.iter().take_while(|segment| *segment == "super").count();
        let mut full: ModulePath = if supers > 0 { module[..module.len() - supers].to_vec() } else { Vec::new() };
        full.extend(segments.drain(supers.max(1)..));
        if full.len() == 1 && !self.sources.contains_key(&full) {
            let found = self.exports.get(&full[0]);
            return found
                .unwrap_or_else(|| panic!("{} uses crate::{}, which does not exist", module.join("::"), full[0]))
                .clone();
        }
        while !full.is_empty() && !self.sources.contains_key(&full) {
            full.pop();
        }
        full
    }

    /// Returns the dependencies between siblings: for each module, the siblings that it or a part of it uses.
    fn arrows(&self) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        let mut arrows: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
        for module in self.sources.keys() {
            for used in self.used_by(module) {
                let shared = module.iter().zip(&used).take_while(|(a, b)| a == b).count();
                if shared < module.len().min(used.len()) {
                    arrows.entry(module[..=shared].to_vec()).or_default().insert(used[..=shared].to_vec());
                }
            }
        }
        arrows
    }

    /// Describes each forbidden dependency in a sentence.
    fn faults(&self, layers: &[&str]) -> Vec<String> {
        let arrows = self.arrows();
        let layer = |module: &ModulePath| layers.iter().position(|layer| *layer == module[0]);
        let mut faults = Vec::new();
        for module in self.sources.keys().filter(|module| module.len() == 1 && layer(module).is_none()) {
            faults.push(format!("{} is in no layer", module[0]));
        }
        for (module, used) in &arrows {
            for used in used {
                if module.len() == 1 && layer(module) < layer(used) {
                    faults.push(format!("{} uses {}, which lies above it", module[0], used[0]));
                }
                if module.len() > 1 && reaches(&arrows, used, module) {
                    faults.push(format!("{} and {} use each other", module.join("::"), used.join("::")));
                }
            }
        }
        faults
    }
}

/// Returns whether one module depends on another, even indirectly.
fn reaches(arrows: &BTreeMap<ModulePath, BTreeSet<ModulePath>>, from: &ModulePath, to: &ModulePath) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            open.extend(arrows.get(module).into_iter().flatten());
        }
    }
    false
}

#[test]
fn modules_use_only_what_lies_below_them() {
    let faults = Modules::read().faults(&LAYERS);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_dependency_that_points_up_is_found() {
    let faults = |low: &str, high: &str| {
        let root = "mod low;\nmod high;\npub use high::tower::{Roof, Floor};\npub use low::Ground;";
        Modules::new([("low", low), ("high", ""), ("high::tower", high)], root).faults(&["low", "high"])
    };
    let up = ["low uses high, which lies above it"];
    assert!(faults("use crate::Ground;", "use crate::low::Ground;").is_empty());
    assert_eq!(faults("use crate::high::tower::Roof;", ""), up);
    assert_eq!(faults("use crate::{Ground,\n    Roof};", ""), up);
    assert_eq!(faults("fn f() -> crate::Floor {}", ""), up);
    assert_eq!(faults("use super::high::tower;", ""), up);
    assert!(faults("// crate::Roof\n#[cfg(test)]\nmod tests { use crate::Roof; }", "").is_empty());
    // An item for tests hides nothing that follows it.
    assert!(!faults("#[cfg(test)]\nuse std::fs;\nuse crate::Roof;", "").is_empty());
}

#[test]
fn a_cycle_of_siblings_is_found() {
    let faults = |third: &str| {
        let sources =
            [("a", ""), ("a::one", "use super::two::X;"), ("a::two", "use crate::a::three;"), ("a::three", third)];
        Modules::new(sources, "mod a;").faults(&["a"])
    };
    assert!(faults("use super::Y;").is_empty());
    assert_eq!(faults("use super::{Y, one::Z};").len(), 3);
}
