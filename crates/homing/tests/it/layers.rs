//! Dependencies between modules. In every crate, no two siblings depend on each other, even indirectly; in this one, each
//! module also uses only layers below its own. A folder's own module may use the folder's files, and they may use it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// The folders of `src`, from bottom to top. Each uses only those before it.
const LAYERS: [&str; 14] = [
    "base",
    "shard",
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
    "remote",
];

/// The other crates whose modules are checked. In `homing-pool` and `homing-train`, a table (of formats, of errors) and
/// what it lists still use each other.
const OTHER_CRATES: [&str; 7] =
    ["homing-data", "homing-encode", "homing-experiment", "homing-label", "homing-report", "homing-cli", "homing-py"];

type ModulePath = Vec<String>;

/// The modules of a crate with their sources. The crate's root is the empty path.
struct Modules {
    sources: BTreeMap<ModulePath, String>,
    /// The paths of the names that modules export from elsewhere, by the exporting module and the name.
    exports: HashMap<(ModulePath, String), ModulePath>,
}

fn path_of(text: &str) -> ModulePath {
    text.split("::").map(str::to_owned).collect()
}

/// Returns a source without its comments and unit tests.
fn code(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns the names of the files that a source declares as modules for tests.
fn test_files(source: &str) -> impl Iterator<Item = &str> {
    source.split("#[cfg(test)]\nmod ").skip(1).filter_map(|rest| rest.lines().next()?.strip_suffix(';'))
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

/// Returns the sources of a crate of this workspace by module path. That of the root is `lib` or `main`.
pub(crate) fn sources(name: &str) -> BTreeMap<String, String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(name).join("src");
    let mut sources = BTreeMap::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
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
    fn new<'s>(sources: impl IntoIterator<Item = (&'s str, &'s str)>, root: &'s str) -> Self {
        let mut sources: BTreeMap<ModulePath, &str> =
            sources.into_iter().map(|(path, source)| (path_of(path), source)).collect();
        sources.insert(Vec::new(), root);
        for (module, source) in sources.clone() {
            for file in test_files(source) {
                sources.remove(&[module.as_slice(), &[file.to_owned()]].concat());
            }
        }
        let sources = sources.into_iter().map(|(path, source)| (path, code(source))).collect();
        let mut modules = Self { sources, exports: HashMap::new() };
        for (module, source) in &modules.sources {
            let uses = |keyword| source.split(keyword).skip(1).flat_map(expand);
            for path in uses("pub use ").chain(uses("pub(crate) use ")).chain(uses("pub(super) use ")) {
                let Some(path) = modules.absolute(module, &path) else { continue };
                if let Some(name) = path.last() {
                    modules.exports.insert((module.clone(), name.clone()), path.clone());
                }
            }
        }
        modules
    }

    /// Reads the modules of a crate of this workspace.
    fn read(name: &str) -> Self {
        let mut files = sources(name);
        let root = files.remove("lib").or_else(|| files.remove("main")).unwrap();
        Self::new(files.iter().map(|(path, source)| (path.as_str(), source.as_str())), &root)
    }

    /// Returns a path that a module names, from the crate's root on, or `None` for a path of another crate.
    fn absolute(&self, module: &ModulePath, path: &str) -> Option<ModulePath> {
        let segments = path_of(path.trim_end_matches("::self"));
        let supers = segments.iter().take_while(|segment| *segment == "super").count();
        let (base, from) = match segments[0].as_str() {
            "crate" => (&[][..], 1),
            "self" => (&module[..], 1),
            "super" => (&module[..module.len() - supers], supers),
            _ => (&module[..], 0),
        };
        let full = [base, &segments[from..]].concat();
        let is_here = from > 0 || self.sources.contains_key(&full[..=module.len()]);
        is_here.then_some(full)
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

    /// Returns the module that a path leads to, also by way of names that modules export from elsewhere.
    fn resolve(&self, module: &ModulePath, path: &str) -> ModulePath {
        let mut full = self.absolute(module, path).expect("the path begins in this crate");
        loop {
            let inside = (0..=full.len()).rev().find(|&len| self.sources.contains_key(&full[..len])).unwrap();
            let Some(name) = full.get(inside) else { return full };
            let Some(elsewhere) = self.exports.get(&(full[..inside].to_vec(), name.clone())) else {
                let is_known = inside > 0 || self.sources[&full[..0]].contains(name.as_str());
                assert!(is_known, "{} uses {path}, which does not exist", module.join("::"));
                full.truncate(inside);
                return full;
            };
            full = [elsewhere, &full[inside + 1..]].concat();
        }
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
        let layer = |module: &ModulePath| layers.iter().position(|layer| *layer == module[0]);
        let mut faults = Vec::new();
        for module in self.sources.keys().filter(|module| module.len() == 1 && layer(module).is_none()) {
            faults.push(format!("{} is in no layer", module[0]));
        }
        for (module, used) in self.arrows().iter().filter(|(module, _)| module.len() == 1) {
            for used in used.iter().filter(|used| layer(module) < layer(used)) {
                faults.push(format!("{} uses {}, which lies above it", module[0], used[0]));
            }
        }
        faults.extend(self.cycles());
        faults
    }

    /// Describes each dependency that is part of a cycle in a sentence.
    fn cycles(&self) -> Vec<String> {
        let arrows = self.arrows();
        let all = arrows.iter().flat_map(|(module, used)| used.iter().map(move |used| (module, used)));
        let in_cycle = all.filter(|(module, used)| reaches(&arrows, used, module));
        in_cycle.map(|(module, used)| format!("{} and {} use each other", module.join("::"), used.join("::"))).collect()
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
    let faults = Modules::read("homing").faults(&LAYERS);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_crate_has_a_cycle_of_modules() {
    let cycles_of =
        |name: &'static str| Modules::read(name).cycles().into_iter().map(move |cycle| format!("{name}: {cycle}"));
    let cycles: Vec<String> = OTHER_CRATES.into_iter().flat_map(cycles_of).collect();
    assert!(cycles.is_empty(), "{}", cycles.join("\n"));
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
    assert_eq!(faults("fn f() { crate::Roof::raise() }", ""), up);
    assert_eq!(faults("use super::high::tower;", ""), up);
    assert!(faults("// crate::Roof\n#[cfg(test)]\nmod tests { use crate::Roof; }", "").is_empty());
    // An item for tests hides nothing that follows it.
    assert!(!faults("#[cfg(test)]\nuse std::fs;\nuse crate::Roof;", "").is_empty());
}

#[test]
fn a_cycle_of_siblings_is_found() {
    let faults = |third: &str| {
        let sources = [
            ("a", "struct Y;\npub use one::{V, W};"),
            ("a::one", "use super::two::X;\nstruct Z;"),
            ("a::two", "use crate::a::three;"),
            ("a::three", third),
        ];
        Modules::new(sources, "mod a;\npub use a::W;").faults(&["a"])
    };
    assert!(faults("use super::Y;").is_empty());
    assert_eq!(faults("use super::{Y, one::Z};").len(), 3);
    // What a module exports from elsewhere counts as used from there.
    assert_eq!(faults("use crate::W;").len(), 3);
    assert_eq!(faults("fn f() { super::V::new() }").len(), 3);
}
