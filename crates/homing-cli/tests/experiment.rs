//! Runs `homing experiment` as a process.

mod folder;
#[path = "../../homing-pool/tests/npy/mod.rs"]
mod npy;

use std::fs;

use folder::Folder;
use npy::npy;

const NAMES: [&str; 6] = ["gp-figure1", "gp-line", "gp-rounds", "gp-bound", "gp-band", "gp-capacity"];

#[test]
fn every_experiment_draws_a_page_of_its_own() {
    let folder = Folder::new();
    for name in NAMES {
        let said = folder.succeeds(&format!("experiment run {name}"));
        assert!(said.contains(&format!("{name}.html")), "{said}");
        let page = fs::read_to_string(folder.path(&format!("{name}.html"))).unwrap();
        assert!(page.matches("<figure class=\"homing-plot\">").count() >= 3, "{name}");
        assert!(page.trim_end().ends_with("</html>") && !page.contains("NaN") && !page.contains("inf "), "{name}");
        assert!(!page.contains("http://") && !page.contains("https://"), "{name}");
        folder.succeeds(&format!("experiment run {name} --out again.html"));
        assert_eq!(
            fs::read_to_string(folder.path("again.html")).unwrap(),
            page,
            "{name}: the same seed, the same page"
        );
    }
}

/// With the same number of labels, ITL knows the targets better than uncertainty sampling, as the pictures are meant to show.
#[test]
fn itl_leaves_less_variance_than_uncertainty_sampling() {
    let said = Folder::new().succeeds("experiment run gp-rounds");
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

/// The quick study on the built-in digits and on a data set of the folder, in which the classes are easy to tell apart.
#[test]
fn the_study_of_the_defaults_compares_with_the_baseline_and_says_what_it_chose() {
    let folder = Folder::new();
    let rows: Vec<f32> = (0..400)
        .flat_map(|i| (0..12).map(move |j| f32::from(u8::from(i % 6 == j % 6)) + ((i * j + i) as f32).sin() * 0.4))
        .collect();
    let bytes: Vec<u8> = rows.iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(folder.path("easy.npy"), npy("<f4", false, "(400, 12)", &bytes)).unwrap();
    let labels: Vec<String> = (0..400).map(|i| format!("class {}\n", i % 6)).collect();
    folder.write("easy.labels.txt", &labels.concat());
    let said = folder.succeeds("experiment run defaults --quick --quiet");
    for part in [
        "Chosen on 12 scenes: ",
        "Chosen without easy: ",
        "nearest-each",
        "random",
        "unequal lengths",
        "results/defaults.csv",
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    let table = fs::read_to_string(folder.path("results/defaults.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 12 * 12);
    let mean = |setting: &str| {
        let rows = table.lines().filter(|line| line.starts_with("easy,") && line.contains(setting));
        let accuracies: Vec<f64> = rows.map(|line| line.rsplit(',').nth(1).unwrap().parse().unwrap()).collect();
        accuracies.iter().sum::<f64>() / accuracies.len() as f64
    };
    assert!(mean("nearest-each") > mean("random"), "{table}");
    assert_eq!(
        folder.succeeds("experiment run defaults --quick --quiet"),
        said,
        "the same seed gives the same results"
    );

    folder.write("easy.labels.txt", "class 1\n");
    folder.refuses("experiment run defaults --quick --quiet", &["400 rows", "1 lines", "one label per example"]);
}

#[test]
fn bad_input_gets_one_sentence() {
    let folder = Folder::new();
    folder.refuses("experiment run gp-line --out nowhere/page.html", &["nowhere"]);
    folder.refuses("experiment run gp-line --out -", &["--out", "file"]);
    folder.refuses("experiment run gp-cube", &["gp-cube", "homing experiment list"]);
    folder.refuses("experiment run mnist-main", &["mnist.tar.xz", "--data"]);
    folder.refuses("experiment compare digits-quick", &["digits-quick.csv", "homing experiment run"]);
    folder.refuses("experiment run none.toml", &["none.toml", "does not exist"]);
    let plan = |lines: &str, claims: &str| {
        let head =
            "title = \"t\"\npaper = \"p\"\ndata = [\"digits\"]\nseeds = 1\n[arguments]\ntask = \"3,6\"\nrounds = 1\n";
        format!("{head}{lines}{claims}")
    };
    let line = "[[lines]]\nname = \"a\"\nrule = \"itl\"\n";
    folder.write("two.toml", &plan(&format!("{line}noise-std = [1, 2]\npicks-per-round = [1, 2]\n"), ""));
    folder.refuses("experiment run two.toml", &["\"a\"", "two lists"]);
    folder.write("twice.toml", &plan(&format!("{line}{line}"), ""));
    folder.refuses("experiment run twice.toml", &["\"a\"", "two lines"]);
    folder.write("half.toml", &plan(line, "[[claims]]\nsays = \"s\"\nhigher = \"a\"\n"));
    folder.refuses("experiment run half.toml", &["\"s\"", "higher and lower"]);
    folder.write("type.toml", "title = 3\n");
    folder.refuses("experiment run type.toml", &["type.toml, line 1"]);
    folder.refuses("experiment run digits-quick --seeds 0", &["--seeds"]);
    folder.write("who.toml", &plan(line, "[[claims]]\nsays = \"s\"\nhigher = \"a\"\nlower = [\"b\"]\n"));
    folder.refuses("experiment run who.toml", &["\"b\"", "the series are called", "\"a\""]);
    folder.write("rule.toml", &plan("[[lines]]\nname = \"a\"\nrule = \"itll\"\n", ""));
    folder.refuses("experiment run rule.toml", &["itll"]);
    folder.write("flag.toml", &plan(&format!("{line}speed = 3\n"), ""));
    folder.refuses("experiment run flag.toml", &["flag", "--speed"]);
    folder.write("typo.toml", &plan(&format!("{line}picks-per-rond = 3\n"), ""));
    folder.refuses("experiment run typo.toml", &["--picks-per-rond", "'--picks-per-round'"]);
    folder.write("like.toml", &format!("title = \"t\"\nlike = \"imagenet\"\n{line}"));
    folder.refuses(
        "experiment run like.toml",
        &["\"imagenet\"", "use mnist, cifar, authors-mnist, authors-cifar or authors-head"],
    );
    folder.write("empty.toml", &format!("title = \"t\"\n{line}"));
    folder.refuses("experiment run empty.toml", &["empty.toml", "data = "]);
}

/// Returns what does not depend on how long anything took.
fn untimed(csv: &str) -> Vec<String> {
    csv.lines().map(|line| line.split(',').take(7).collect::<Vec<_>>().join(",")).collect()
}

#[test]
fn a_grid_runs_goes_on_and_is_drawn() {
    let folder = Folder::new();
    assert!(folder.succeeds("experiment list").contains("digits-quick"));
    let run = "experiment run digits-quick --seeds 2 --rounds 3 --jobs 2 --quiet";
    let said = folder.succeeds(run);
    assert!(said.contains("ITL is more accurate than random picks"), "{said}");
    let csv = fs::read_to_string(folder.path("results/digits-quick.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 7 * 2 * 3, "lines, seeds and rounds: {csv}");
    let svg = fs::read_to_string(folder.path("results/digits-quick.svg")).unwrap();
    assert!(svg.contains("InformationDensity"));

    // One cell was interrupted, and one has not started.
    let cells: Vec<_> =
        fs::read_dir(folder.path("results/cells")).unwrap().flatten().map(|entry| entry.path()).collect();
    let cells: Vec<_> = cells.into_iter().filter(|path| path.join("results.csv").exists()).collect();
    assert_eq!(cells.len(), 7 * 2);
    fs::remove_file(cells[0].join("results.csv")).unwrap();
    fs::remove_dir_all(&cells[1]).unwrap();
    folder.succeeds(run);
    assert_eq!(untimed(&fs::read_to_string(folder.path("results/digits-quick.csv")).unwrap()), untimed(&csv));

    // If a cell fails, the seeds that every line has remain.
    let second = cells.iter().find(|path| path.join("itl-1").exists()).unwrap();
    fs::remove_dir_all(second).unwrap();
    fs::create_dir(second).unwrap();
    fs::write(second.join("note.txt"), "not a run").unwrap();
    fs::remove_file(folder.path("results/digits-quick.csv")).unwrap();
    let said = String::from_utf8(folder.homing(run).stderr).unwrap();
    assert!(said.contains("1 of 14 cells failed") && said.contains("is not empty"), "{said}");
    let part = fs::read_to_string(folder.path("results/digits-quick.csv")).unwrap();
    assert_eq!(part.lines().count(), 1 + 7 * 3);
    assert!(folder.succeeds("experiment compare digits-quick").contains("one seed"));
    fs::remove_dir_all(second).unwrap();
    folder.succeeds(run);

    fs::remove_file(folder.path("results/digits-quick.svg")).unwrap();
    folder.succeeds("experiment plot digits-quick");
    assert_eq!(
        fs::read_to_string(folder.path("results/digits-quick.svg")).unwrap(),
        svg,
        "the same results, the same picture"
    );
    assert!(
        folder
            .succeeds("experiment compare digits-quick")
            .lines()
            .any(|line| line.contains("too few") || line.contains("hold"))
    );
}

#[test]
fn cells_of_other_data_are_not_taken() {
    let folder = Folder::new();
    let table = |odd: &str| -> String {
        let row = |i: usize| {
            let (side, t) = (if i.is_multiple_of(2) { 1.0 } else { -1.0 }, i as f64);
            format!(
                "{},{},{}\n",
                side + t.sin(),
                (2.0 * t).cos() - side,
                if i.is_multiple_of(2) { "even" } else { odd }
            )
        };
        format!("x,y,label\n{}", (0..60).map(row).collect::<String>())
    };
    folder.write("data.csv", &table("odd"));
    folder.write(
        "mine.toml",
        "title = \"Mine\"\ndata = [\"data.csv\"]\nseeds = 2\n[arguments]\nrounds = 3\ntask = \"even,odd\"\n[[lines]]\nname = \"ITL\"\nrule = \"itl\"\n",
    );
    folder.succeeds("experiment run mine.toml --quiet");
    let cells =
        || fs::read_dir(folder.path("results/cells")).unwrap().flatten().filter(|cell| cell.path().is_dir()).count();
    assert_eq!(cells(), 2);
    folder.succeeds("experiment run mine.toml --quiet");
    assert_eq!(cells(), 2, "what is there is not run again");
    folder.write("data.csv", &table("odd").replacen("even", "odd", 1));
    folder.succeeds("experiment run mine.toml --quiet");
    assert_eq!(cells(), 4, "one label is another");
    let before = fs::read(folder.path("results/mine.csv")).unwrap();
    let output = folder.homing("experiment run mine.toml --seeds 1 --quiet");
    assert!(String::from_utf8_lossy(&output.stderr).contains("holds 2 seeds of 3 rounds"));
    assert_eq!(fs::read(folder.path("results/mine.csv")).unwrap(), before);
    folder.refuses("experiment run mine.toml --quick", &["no quick version"]);
}

/// The documented verdicts on the paper's claims follow from the results next to them.
#[test]
fn committed_verdicts_follow_from_committed_results() {
    let results = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let mut compared = 0;
    for entry in fs::read_dir(&results).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if name.ends_with("-classes") {
            continue;
        }
        let said = Folder::new().succeeds(&format!("experiment compare {name} --out {}", results.display()));
        assert_eq!(said, fs::read_to_string(path.with_extension("txt")).unwrap(), "{name}");
        compared += 1;
    }
    assert!(compared > 0);
    let said = Folder::new().succeeds(&format!("experiment verdicts --out {}", results.display()));
    assert_eq!(said, fs::read_to_string(results.join("verdicts.txt")).unwrap());
    Folder::new().refuses("experiment verdicts", &["holds no results of a built-in experiment", "--out"]);
}

/// Returns the number in the last column of each row.
fn counts(csv: &str) -> Vec<usize> {
    csv.lines().skip(1).map(|row| row.rsplit(',').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn an_experiment_counts_the_picks_of_each_class() {
    let folder = Folder::new();
    let rows: String = (0..60)
        .map(|i| format!("{i},{},{}\n", i % 7, if i % 2 == 0 { "even" } else { "odd" }))
        .collect::<Vec<_>>()
        .concat();
    folder.write("data.csv", &format!("x,y,label\n{rows}"));
    folder.write(
        "mine.toml",
        "title = \"Mine\"\ndata = [\"data.csv\"]\nseeds = 2\n[arguments]\nrounds = 3\npicks-per-round = 2\ntask = \"even,odd\"\n[[lines]]\nname = \"A\"\nrule = \"random\"\n",
    );
    folder.succeeds("experiment run mine.toml --quiet");
    let table = fs::read_to_string(folder.path("results/mine-classes.csv")).unwrap();
    assert!(table.starts_with("line,value,seed,class,picks\n"), "{table}");
    assert_eq!(counts(&table).iter().sum::<usize>(), 2 * 3 * 2, "{table}");
    let rounds = fs::read_to_string(folder.path("results/mine.csv")).unwrap();
    let at = rounds.lines().next().unwrap().split(',').position(|name| name == "mean_var").unwrap();
    assert!(rounds.lines().skip(1).all(|row| row.split(',').nth(at).unwrap().parse::<f64>().unwrap() > 0.0));
}
