//! `homing experiment`, driven as a process.

mod folder;

use std::fs;

use folder::Folder;

const NAMES: [&str; 6] = ["gp-figure1", "gp-line", "gp-rounds", "gp-bound", "gp-band", "gp-capacity"];

#[test]
fn every_experiment_draws_a_page_of_its_own() {
    let folder = Folder::new();
    for name in NAMES {
        let said = folder.succeeds(&format!("experiment {name}"));
        assert!(said.contains(&format!("{name}.html")), "{said}");
        let page = fs::read_to_string(folder.path(&format!("{name}.html"))).unwrap();
        assert!(page.matches("<figure class=\"plot\">").count() >= 3, "{name}");
        assert!(page.trim_end().ends_with("</html>") && !page.contains("NaN") && !page.contains("inf "), "{name}");
        assert!(!page.contains("http://") && !page.contains("https://"), "{name}");
        folder.succeeds(&format!("experiment {name} --out again.html"));
        assert_eq!(
            fs::read_to_string(folder.path("again.html")).unwrap(),
            page,
            "{name}: the same seed, the same page"
        );
    }
}

/// The pictures show what they are drawn for: with the same labels, ITL knows the targets better than uncertainty sampling.
#[test]
fn itl_leaves_less_variance_than_uncertainty_sampling() {
    let said = Folder::new().succeeds("experiment gp-rounds");
    let rows: Vec<Vec<f64>> = said
        .lines()
        .filter(|line| line.trim_start().starts_with("Targets"))
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    assert_eq!(rows.len(), 3, "{said}");
    for row in rows {
        let [floor, itl, _, _, uncertainty, random] = row[..] else { panic!("six figures: {row:?}") };
        assert!(floor <= itl && itl < uncertainty && uncertainty < random, "{row:?}");
    }
}

#[test]
fn bad_input_gets_one_sentence() {
    let folder = Folder::new();
    folder.refuses("experiment gp-cube", &["gp-cube"]);
    folder.refuses("experiment", &["<NAME>"]);
    folder.refuses("experiment gp-line --out nowhere/page.html", &["nowhere"]);
    folder.refuses("experiment gp-line --out -", &["--out", "file"]);
}
