//! Runs `homing diagnose` as a process.

mod folder;
#[path = "../../homing-pool/tests/npy/mod.rs"]
mod npy;

use std::fs;

use folder::Folder;
use homing::theory::{Model, capacity, submodularity_ratio};
use homing::{Noise, Task};
use homing_pool::{Pool, ReadOptions};
use npy::npy;
use serde_json::Value;

/// Unlike the folder's pool, this pool has only columns of the embedding.
fn folder() -> Folder {
    let folder = Folder::new();
    let rows: Vec<String> =
        (0..40).map(f64::from).map(|t| format!("doc-{t},{},{},{}", (t * 0.7).sin(), (t * 1.3).cos(), 0.0)).collect();
    folder.write("pool.csv", &format!("id,x,y,z\n{}\n", rows.join("\n")));
    folder.write("targets.csv", "id,x,y,z\nnear,0.9,0.1,0.0\nfar,0.1,0.0,2.0\n");
    folder.write("picks.txt", "3\n17\n20\n");
    folder
}

fn diagnose(folder: &Folder, more: &str) -> String {
    folder.succeeds(&format!("diagnose pool.csv --targets targets.csv {more}"))
}

/// A pool of thirty kinds of rows, with or without the kind of the targets.
#[test]
fn a_pool_without_rows_like_the_targets_is_warned_about() {
    let folder = Folder::new();
    let row = |kind: usize, i: usize| -> String {
        let number = |j: usize| f64::from(u8::from(j == kind)) + 0.15 * ((i * (j * j + 7) + kind) as f64 * 1.3).sin();
        (0..40).map(|j| number(j).to_string()).collect::<Vec<_>>().join(",")
    };
    let header = (0..40).map(|j| format!("x{j}")).collect::<Vec<_>>().join(",");
    let table = |rows: Vec<String>| format!("{header}\n{}\n", rows.join("\n"));
    let pool = |kinds: usize| table((0..600).map(|i| row(i % kinds, i)).collect());
    folder.write("targets.csv", &table((0..8).map(|i| row(29, 1000 + i)).collect()));
    folder.write("whole.csv", &pool(30));
    folder.write("lacking.csv", &pool(29));
    let of = |name: &str| folder.succeeds(&format!("diagnose {name} --targets targets.csv"));
    let whole = of("whole.csv");
    assert!(whole.starts_with("This pool has rows like all 8 targets and can teach them"), "{whole}");
    assert!(whole.contains("left after 10 picks") && whole.contains("nats"), "{whole}");
    let lacking = of("lacking.csv");
    assert!(lacking.starts_with("This pool has no rows like the targets"), "{lacking}");
    for absent in ["infinite", "uninformative", "unknown"] {
        assert!(!lacking.contains(absent), "a bound that says nothing is left out: {lacking}");
    }
    let of = |name: &str| -> Value {
        serde_json::from_str(&folder.succeeds(&format!("diagnose {name} --targets targets.csv --format json"))).unwrap()
    };
    let [whole, lacking] = [of("whole.csv"), of("lacking.csv")];
    assert_eq!((&whole["closeness"]["offer"], &lacking["closeness"]["offer"]), (&"rows".into(), &"no-rows".into()));
    let of_target = |json: &Value, key: &str| json["targets"][0][key].as_f64().unwrap();
    assert!(of_target(&whole, "closeness") > of_target(&lacking, "closeness"));
    assert!(of_target(&whole, "nearest_cosine") > of_target(&lacking, "nearest_cosine"));
    let left = |json: &Value, key: &str| json["prospect"][key].as_f64().unwrap();
    assert!(left(&whole, "left") < left(&whole, "left_by_random"));
    assert_eq!(whole["prospect"]["n"], 10);
}

/// Rows of noise, in few and in many dimensions, with and without preparation, are never said to teach.
#[test]
fn noise_is_never_said_to_teach() {
    let folder = Folder::new();
    let mut state = 1u64;
    let mut normal = || -> f64 {
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..6).map(|_| uniform()).sum::<f64>() - 3.0
    };
    for dim in [4, 24, 150] {
        let mut rows = |count: usize| {
            let bytes: Vec<u8> = (0..count * dim).flat_map(|_| (normal() as f32).to_le_bytes()).collect();
            npy("<f4", false, &format!("({count}, {dim})"), &bytes)
        };
        fs::write(folder.path("noise.npy"), rows(3000)).unwrap();
        fs::write(folder.path("some.npy"), rows(20)).unwrap();
        for prepared in ["", "--center=false --normalize=false"] {
            let said = folder.succeeds(&format!("diagnose noise.npy --targets some.npy {prepared}"));
            let verdict = said.lines().next().unwrap();
            assert!(!verdict.contains("can teach"), "{dim} {prepared}: {verdict}");
        }
    }
}

/// The JSON has exactly these keys, and its numbers are those of the library.
#[test]
fn json_has_the_documented_keys_and_the_library_s_numbers() {
    let folder = folder();
    let json: Value =
        serde_json::from_str(&diagnose(&folder, "--picks picks.txt --noise-std 0.4 --format json")).unwrap();
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(
        keys(&json),
        [
            "batch",
            "closeness",
            "duplicates",
            "gamma",
            "guarantee",
            "information",
            "kappa",
            "mean_var",
            "near_duplicate_share",
            "next_gain",
            "next_row",
            "noise_var",
            "objective",
            "prospect",
            "suggested_noise_var",
            "target_var",
            "targets",
            "verdict"
        ]
    );
    assert!(json["closeness"].is_null(), "40 rows are too few to tell");
    assert_eq!(keys(&json["prospect"]), ["left", "left_by_random", "left_of_rows", "n"]);
    assert_eq!(keys(&json["gamma"]), ["lower", "n", "upper"]);
    assert_eq!(keys(&json["kappa"]), ["lower", "upper"]);
    assert_eq!(
        keys(&json["targets"][0]),
        [
            "closeness",
            "index",
            "irreducible_var",
            "labelled_var",
            "nearest_cosine",
            "nearest_row",
            "posterior_var",
            "prior_var"
        ]
    );

    let open = |name: &str| Pool::open(&folder.path(name), &ReadOptions::default()).unwrap();
    let (pool, targets) = (open("pool.csv"), open("targets.csv"));
    let task = Task::new(pool.embeddings(), targets.embeddings());
    let model = Model::new(task, Noise::Std(0.4)).unwrap();
    let after = model.given(&[3, 17, 20]).unwrap();
    let same = |got: &Value, want: f64| assert!((got.as_f64().unwrap() - want).abs() < 1e-12, "{got} {want}");
    for (i, target) in json["targets"].as_array().unwrap().iter().enumerate() {
        assert_eq!(target["index"], i);
        same(&target["prior_var"], model.prior_vars()[i]);
        same(&target["irreducible_var"], model.irreducible_vars().unwrap()[i]);
        same(&target["posterior_var"], after.target_vars()[i]);
    }
    same(&json["targets"][1]["irreducible_var"], 4.0);
    same(&json["objective"], after.objective().value);
    assert_eq!(json["gamma"]["n"], 3);
    same(&json["gamma"]["lower"], capacity(&model, 3).unwrap().lower);
    same(&json["kappa"]["upper"], submodularity_ratio(&model, &[3, 17, 20], 0).unwrap().upper);
    same(&json["noise_var"], 0.4 * 0.4);
}

#[test]
fn the_table_says_what_is_out_of_reach_and_where_each_number_stands_in_the_paper() {
    let folder = folder();
    let text = diagnose(&folder, "--picks picks.txt");
    assert!(text.starts_with("This pool cannot teach 1 of 2 targets (far)"), "{text}");
    for word in ["Eq. 6", "Eq. 5", "§2", "Eq. 7", "App. B.2", "exact", "Γ_3", "κ_3", "γ_3", "near-duplicates"] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    let fresh = diagnose(&folder, "-n 4");
    assert!(fresh.contains("Γ_0") && fresh.contains("κ_4"), "{fresh}");
    folder.write("targets.csv", "x,y,z\n0.9,0.1,0.0\n");
    let few = diagnose(&folder, "");
    assert!(few.starts_with("Labels for every row of this pool would settle most about the target;"), "{few}");
    assert!(few.contains("fewer than 100 rows") && few.contains("What the words mean"), "{few}");
}

#[test]
fn picks_and_observed_rows_come_in_any_form() {
    let folder = folder();
    folder.succeeds("select pool.csv --targets targets.csv -n 3 --out picks.csv -q");
    let by =
        |more: &str| -> Value { serde_json::from_str(&diagnose(&folder, &format!("{more} --format json"))).unwrap() };
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    let ids: Vec<&str> = picks.lines().skip(1).map(|line| line.split(',').nth(2).unwrap()).collect();
    folder.write("ids.txt", &ids.join("\n"));
    assert_eq!(by("--picks picks.csv"), by("--picks ids.txt"));
    let (observed, picked) = (by("--observed picks.csv"), by("--picks picks.csv"));
    let same = |a: &Value, b: &Value| assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-12, "{a} {b}");
    same(&observed["targets"][0]["posterior_var"], &picked["targets"][0]["posterior_var"]);
    same(&observed["objective"], &picked["objective"]);
    assert_eq!(observed["gamma"]["n"], 10);
    for kernel in ["gaussian:0.5", "laplace:1", "matern:1.5:0.7"] {
        let json = by(&format!("--kernel {kernel} --picks picks.csv"));
        assert_eq!(json["targets"][0]["prior_var"], 1.0);
    }
    for threads in [1, 3] {
        assert_eq!(by(&format!("--picks picks.csv --threads {threads}")), picked);
    }
}

#[test]
fn noise_is_suggested_from_values_and_from_labels() {
    let folder = folder();
    let row = |i: u32| {
        let t = f64::from(i);
        let (x, y) = ((t * 0.7).sin(), (t * 1.3).cos());
        format!("{x},{y},{},{}", 3.0 * x - y + 0.3 * (t * 9.1).sin(), if x > 0.2 { "up" } else { "down" })
    };
    let rows: Vec<String> = (0..120).map(row).collect();
    folder.write("valued.csv", &format!("x,y,value,class\n{}\n", rows.join("\n")));
    folder.write("two.csv", "x,y\n0.3,0.4\n");
    let run = |more: &str| folder.succeeds(&format!("diagnose valued.csv --targets two.csv {more}"));
    let by_column = run("--values value --label-column class");
    assert!(by_column.contains("suggested ρ²") && by_column.contains("of 120 values"), "{by_column}");
    assert!(run("--label-column class --values value").contains("suggested"));
    let partly = |i: usize, row: &String| {
        let cells: Vec<&str> = row.split(',').collect();
        format!("{},{},{}", cells[0], cells[1], if i.is_multiple_of(3) { cells[3] } else { "" })
    };
    let partly: Vec<String> = rows.iter().enumerate().map(|(i, row)| partly(i, row)).collect();
    folder.write("partly.csv", &format!("x,y,class\n{}\n", partly.join("\n")));
    let some = folder.succeeds("diagnose partly.csv --targets two.csv --label-column class");
    assert!(some.contains("suggested ρ²") && some.contains("of 40 values"), "blank labels are skipped: {some}");
    // Labels of some rows in a picks file, a few of them blank; also in the --picks themselves.
    let plain: Vec<&str> = rows.iter().map(|row| row.rsplitn(3, ',').nth(2).unwrap()).collect();
    folder.write("plain.csv", &format!("x,y\n{}\n", plain.join("\n")));
    let picks: Vec<String> = (0..50)
        .map(|i| format!("{},0.5,{}", 2 * i, if i % 5 == 0 { "" } else { rows[2 * i].rsplit(',').next().unwrap() }))
        .collect();
    folder.write("labelled.csv", &format!("index,score,label\n{}\n", picks.join("\n")));
    // A table with nothing but ids and labels names rows of a pool with ids.
    let named = |rows: &[String]| rows.iter().map(|row| format!("r{row}\n")).collect::<Vec<_>>().concat();
    let ids: Vec<String> = plain.iter().enumerate().map(|(i, row)| format!("{i},{row}")).collect();
    folder.write("named.csv", &format!("id,x,y\n{}", named(&ids)));
    folder.write("by-id.csv", &format!("id,label\n{}", named(&picks).replace(",0.5,", ",")));
    for (pool, given) in
        [("plain", "--values labelled.csv"), ("plain", "--picks labelled.csv"), ("named", "--values by-id.csv")]
    {
        let said = folder.succeeds(&format!("diagnose {pool}.csv --targets two.csv {given}"));
        assert!(said.contains("suggested ρ²") && said.contains("of 40 values"), "{given}: {said}");
    }
    folder.write("few.csv", "index,label\n3,up\n5,down\n8,up\n");
    let few = folder.succeeds("diagnose plain.csv --targets two.csv --values few.csv");
    assert!(few.contains("the values of 3 rows are too few to estimate it; 20 are needed"), "{few}");
    assert!(!few.contains("noise variance"), "nothing is advised: {few}");
    folder.write("outside.csv", "index,label\n3,up\n500,down\n");
    folder.refuses("diagnose plain.csv --targets two.csv --values outside.csv", &["row 500", "has 120 rows"]);
    let values: Vec<String> = (0..120).map(|i| (i % 7).to_string()).collect();
    folder.write("values.csv", &format!("value\n{}\n", values.join("\n")));
    let by_file = folder.succeeds("diagnose plain.csv --targets two.csv --values values.csv");
    assert!(by_file.contains("suggested ρ²"), "{by_file}");
    assert!(!folder.succeeds("diagnose plain.csv --targets two.csv").contains("suggested"));
    // An array of one dimension is one column, of floats or of integers.
    let floats: Vec<u8> = (0..120).flat_map(|i| f64::from(i % 7).to_le_bytes()).collect();
    let integers: Vec<u8> = (0..120).flat_map(|i: i64| (i % 7).to_le_bytes()).collect();
    for (kind, values) in [("<f8", floats), ("<i8", integers)] {
        fs::write(folder.path("values.npy"), npy(kind, false, "(120,)", &values)).unwrap();
        assert_eq!(folder.succeeds("diagnose plain.csv --targets two.csv --values values.npy"), by_file, "{kind}");
    }
}

#[test]
fn the_page_is_one_file_and_escapes_what_it_is_given() {
    let folder = folder();
    folder.write("targets.csv", "id,x,y,z\n<script>alert(1)</script>,0.9,0.1,0.0\nfar,0.1,0.0,2.0\n");
    diagnose(&folder, "--picks picks.txt --report page.html");
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains("This pool cannot teach 1 of 2 targets") && page.contains("Variance over the picks"));
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert"));
    assert!(!page.contains("http://") && !page.contains("https://"));
    assert!(!page.contains("NaN") && page.trim_end().ends_with("</html>"));
}

#[test]
fn what_has_no_variance_is_said_in_words() {
    let folder = folder();
    folder.write("zero.csv", "x,y,z\n0,0,0\n0,0,0\n");
    let untaught = folder.succeeds("diagnose zero.csv --targets targets.csv");
    assert!(
        untaught.contains("2 of 2 rows have zero variance") && untaught.contains("100 % is out of reach"),
        "{untaught}"
    );
    let unknown = folder.succeeds("diagnose pool.csv --targets zero.csv");
    assert!(unknown.contains("2 of 2 targets have zero variance"), "{unknown}");
    for text in [untaught, unknown] {
        assert!(!text.contains("inf ") && !text.contains("NaN") && !text.contains("Lower --noise-std"), "{text}");
    }
}

#[test]
fn a_pick_that_was_observed_before_is_one_more_label() {
    let folder = folder();
    folder.write("one.txt", "17\n");
    let text = diagnose(&folder, "--picks picks.txt --observed one.txt");
    assert!(text.contains("1 of the picks are among the observed rows"), "{text}");
    assert!(!diagnose(&folder, "--picks picks.txt").contains("among the observed"));
}

#[test]
fn bad_input_gets_one_sentence() {
    let folder = folder();
    let refuses =
        |more: &str, words: &[&str]| folder.refuses(&format!("diagnose pool.csv --targets targets.csv {more}"), words);
    folder.refuses("diagnose pool.csv", &["--targets"]);
    folder.refuses("diagnose nowhere.npy --targets targets.csv", &["nowhere.npy"]);
    folder.write("far.txt", "40\n");
    refuses("--picks far.txt", &["row 40", "picks", "40 rows"]);
    folder.write("none.csv", "index\n");
    refuses("--picks none.csv", &["none.csv names no rows", "leave --picks out"]);
    folder.write("who.txt", "doc-1\ndoc-x\n");
    refuses("--picks who.txt", &["doc-x"]);
    refuses("--picks targets.csv", &["near"]);
    refuses("--noise-std 0", &["noise", "positive"]);
    refuses("--noise-std nan", &["noise"]);
    refuses("-n 0", &["at least 1"]);
    refuses("--threads 0", &["at least 1"]);
    refuses("--kernel cubic", &["cubic", "gaussian"]);
    refuses("--format xml", &["xml"]);
    refuses("--values height", &["height"]);
    folder.write("short.csv", "1\n2\n");
    refuses("--values short.csv", &["2 rows", "40"]);
    fs::write(folder.path("cube.npy"), npy("<f4", false, "(40, 1, 1)", &[0; 160])).unwrap();
    refuses("--values cube.npy", &["--values", "(40, 1, 1)"]);
    fs::write(folder.path("words.npy"), npy("<U1", false, "(40,)", &[0; 160])).unwrap();
    refuses("--values words.npy", &["--values", "text"]);
    refuses("--values nowhere.npy", &["--values", "nowhere.npy does not exist"]);
    folder.write("same.csv", &"1.5\n".repeat(40));
    refuses("--values same.csv", &["all equal"]);
    refuses("--report pool.csv", &["pool.csv", "overwritten"]);
    refuses("--report nowhere/d.html", &["nowhere"]);
    refuses("--report -", &["--report", "file"]);
    folder.write("narrow.csv", "x,y\n1,2\n");
    folder.refuses("diagnose pool.csv --targets narrow.csv", &["narrow.csv lacks 'z'"]);
    folder.write("narrow.csv", "2,1\n");
    folder.refuses("diagnose pool.csv --targets narrow.csv", &["2 dimensions", "3"]);
    folder.write("nan.csv", "x,y,z\n1,nan,2\n");
    folder.refuses("diagnose pool.csv --targets nan.csv", &["row 0", "targets", "not finite"]);
}

#[test]
fn the_noise_is_given_or_the_default() {
    let folder = folder();
    let line = |more: &str| {
        let text = diagnose(&folder, more);
        text.lines().find(|line| line.contains("noise ρ²")).unwrap().to_owned()
    };
    assert!(line("").contains("default") && !line("").contains("given"));
    assert!(line("--noise-std 0.4").contains("given"));
}
