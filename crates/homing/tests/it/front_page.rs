//! Every item that a user finds from the crate's front page has an example in its documentation.

use crate::layers::{expand, sources};

/// An item's documentation, and the keyword that declares it.
struct Item<'s> {
    documentation: Vec<&'s str>,
    kind: &'s str,
}

impl Item<'_> {
    fn has_example(&self) -> bool {
        self.documentation.iter().any(|line| line.contains("```"))
    }
}

/// Returns the item of this name in a source.
fn find<'s>(source: &'s str, name: &str) -> Option<Item<'s>> {
    let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
    let declares = |line: &str| {
        let words: Vec<&str> = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        matches!(&words[..], ["pub", "struct" | "enum" | "trait" | "fn" | "static" | "type", found, ..] if *found == name)
    };
    // A method of the same name is indented, but so are items that a macro declares.
    let at = source.lines().position(&declares).or_else(|| lines.iter().position(|line| declares(line)))?;
    let documentation = lines[..at].iter().rev().take_while(|line| line.starts_with("///") || line.starts_with("#["));
    Some(Item { documentation: documentation.copied().collect(), kind: lines[at].split(' ').nth(1)? })
}

/// Returns the names that a source exports, each with the first module of its path.
fn exports(source: &str) -> Vec<(String, String)> {
    let paths = source.split("pub use ").skip(1).flat_map(expand);
    let ends =
        paths.filter_map(|path| Some((path.split("::").next()?.to_owned(), path.split("::").last()?.to_owned())));
    ends.collect()
}

#[test]
fn every_item_of_the_front_page_has_an_example() {
    let sources = sources("homing");
    let item = |folder: &str, name: &str| {
        let mut below = sources.iter().filter(|(path, _)| path.split("::").next() == Some(folder));
        let found = below.find_map(|(_, source)| find(source, name));
        found.unwrap_or_else(|| panic!("{folder} declares no {name}"))
    };
    let mut missing = Vec::new();
    for (folder, name) in exports(&sources["lib"]) {
        if !item(&folder, &name).has_example() {
            missing.push(name);
        }
    }
    for folder in ["diagnose", "last_layer", "rules", "theory"] {
        for (_, name) in exports(&sources[folder]) {
            let item = if name.chars().any(char::is_lowercase) { item(folder, &name) } else { continue };
            if !item.has_example() && (item.kind == "fn" || folder == "rules") {
                missing.push(format!("{folder}::{name}"));
            }
        }
    }
    assert!(missing.is_empty(), "without an example: {}", missing.join(", "));
}

#[test]
fn every_trait_to_implement_shows_a_whole_implementation() {
    let traits = [
        ("homing", "data::source", "RowSource"),
        ("homing", "kernels", "Kernel"),
        ("homing", "rules", "Rule"),
        ("homing-train", "learner", "Learner"),
        ("homing-train", "labels", "Oracle"),
    ];
    for (library, module, name) in traits {
        let sources = sources(library);
        let found = find(&sources[module], name).expect("the trait is declared there");
        let shows = |text: &str| found.documentation.iter().any(|line| line.contains(text));
        let has_contract = shows("implementation guarantees") || shows("relies on this contract");
        assert!(shows(&format!("{name} for ")) && has_contract, "{name} lacks an implementation or its contract");
    }
}

#[test]
fn an_item_without_an_example_is_found() {
    let source =
        "/// Words.\n///\n/// ```\n/// f();\n/// ```\n#[inline]\npub fn f() {}\n\n/// Words.\npub struct G<T>;\n";
    assert!(find(source, "f").unwrap().has_example());
    assert!(!find(source, "G").unwrap().has_example() && find(source, "h").is_none());
    assert_eq!(exports("pub use a::b::{C, d};").len(), 2);
}
