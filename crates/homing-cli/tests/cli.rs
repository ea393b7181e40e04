//! Runs the command as a process: what it writes, and what it says if it cannot.

mod folder;
#[path = "../../homing-pool/tests/npy/mod.rs"]
mod npy;

use std::fs;

use folder::{Folder, pool_csv, table};
use npy::npy;

const SELECT: &str = "select pool.csv --targets targets.csv --cost-column cost --group-column source";

fn rows_of(csv: &str) -> Vec<Vec<String>> {
    csv.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn csv_on_standard_output_and_nothing_else_there() {
    let folder = Folder::new();
    let csv = folder.succeeds(&format!("{SELECT} -n 5 --out -"));
    assert_eq!(csv.lines().next(), Some("rank,index,id,score,information,variance_left"));
    let rows = rows_of(&csv);
    assert_eq!(rows.len(), 5);
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row[0], (i + 1).to_string());
        assert_eq!(row[2], format!("doc-{}", row[1]));
        assert!(row[3..].iter().all(|number| number.parse::<f64>().unwrap().is_finite()));
    }
    let informations: Vec<f64> = rows.iter().map(|row| row[4].parse().unwrap()).collect();
    assert!(informations.is_sorted());
}

#[test]
fn one_thread_and_many_write_the_same_bytes() {
    let folder = Folder::new();
    for extension in ["csv", "jsonl", "parquet", "npy"] {
        let bytes = |threads: usize| {
            folder.succeeds(&format!("{SELECT} -n 7 --threads {threads} --out picks.{extension} --quiet"));
            fs::read(folder.path(&format!("picks.{extension}"))).unwrap()
        };
        let first = bytes(1);
        assert_eq!(first, bytes(4), "{extension}");
        assert_eq!(first, bytes(1), "{extension}");
    }
}

#[test]
fn every_rule_runs() {
    let folder = Folder::new();
    let rows: Vec<String> = (1..41).map(|i| format!("{},{}", f64::from(i) / 41.0, 1.0 - f64::from(i) / 41.0)).collect();
    let probabilities = rows.join(
        "
",
    );
    folder.write("p.csv", &probabilities);
    for entry in homing::STRATEGIES {
        let csv = folder.succeeds(&format!("{SELECT} -n 3 --rule {} --probabilities p.csv --out - -q", entry.name));
        assert_eq!(rows_of(&csv).len(), 3, "{}", entry.name);
    }
}

#[test]
fn rules_lists_the_whole_table() {
    let text = Folder::new().succeeds("rules");
    for entry in homing::STRATEGIES {
        assert!(text.contains(entry.name) && text.contains(entry.formula));
    }
}

#[test]
fn observed_embeddings_are_matched_by_the_names_of_their_columns() {
    let folder = Folder::new();
    folder.write("known.csv", "x,y,z\n0.9,0.1,0.2\n-0.3,0.7,0.1\n");
    folder.write("turned.csv", "z,note,y,x\n0.2,a,0.1,0.9\n0.1,b,0.7,-0.3\n");
    folder.write("short.csv", "x,z\n0.9,0.2\n");
    let picks = |file: &str| folder.succeeds(&format!("{SELECT} -n 4 --observed {file} --out - -q"));
    assert_eq!(picks("known.csv"), picks("turned.csv"));
    folder.refuses(&format!("{SELECT} -n 4 --observed short.csv"), &["short.csv lacks 'y'"]);
}

#[test]
fn picks_written_are_rows_observed_in_any_format() {
    let folder = Folder::new();
    let whole = rows_of(&folder.succeeds(&format!("{SELECT} -n 8 --out - -q")));
    let index = |row: &Vec<String>| row[1].clone();
    for extension in ["csv", "jsonl", "parquet", "npy"] {
        folder.succeeds(&format!("{SELECT} -n 5 --out first.{extension} -q"));
        let rest = rows_of(&folder.succeeds(&format!("{SELECT} -n 3 --observed first.{extension} --out - -q")));
        let want: Vec<String> = whole[5..].iter().map(index).collect();
        assert_eq!(rest.iter().map(index).collect::<Vec<_>>(), want, "{extension}");
    }
    let ids: Vec<&str> = whole[..5].iter().map(|row| row[2].as_str()).collect();
    let ids = ids.join(
        "
",
    );
    folder.write("ids.txt", &ids);
    let rest = rows_of(&folder.succeeds(&format!("{SELECT} -n 3 --observed ids.txt --out - -q")));
    assert_eq!(rest.iter().map(index).collect::<Vec<_>>(), whole[5..].iter().map(index).collect::<Vec<_>>());
}

#[test]
fn a_picks_file_names_its_rows_by_id_when_the_pool_was_reordered() {
    let folder = Folder::new();
    let pool = pool_csv(40);
    let (header, rows) = pool.split_once('\n').unwrap();
    let reversed: Vec<&str> = rows.trim_end().lines().rev().collect();
    folder.write("reversed.csv", &format!("{header}\n{}\n", reversed.join("\n")));
    let ids = |csv: String| -> Vec<String> { rows_of(&csv).into_iter().map(|row| row[2].clone()).collect() };
    let whole = ids(folder.succeeds(&format!("{SELECT} -n 8 --out - -q")));
    for extension in ["csv", "jsonl", "parquet"] {
        folder.succeeds(&format!("{SELECT} -n 5 --out first.{extension} -q"));
        let select = SELECT.replace("pool.csv", "reversed.csv");
        let rest = ids(folder.succeeds(&format!("{select} -n 3 --observed first.{extension} --out - -q")));
        assert_eq!(rest, whole[5..], "{extension}");
    }
}

#[test]
fn forbidding_the_id_18_does_not_forbid_row_18() {
    let folder = Folder::new();
    // Row 3 has the id 18, and row 18 the id 33.
    let pool = pool_csv(40).replace("doc-", "");
    let (header, rows) = pool.split_once('\n').unwrap();
    let row = |(i, line): (usize, &str)| format!("{},{}", i + 15, line.split_once(',').unwrap().1);
    let rows: Vec<String> = rows.lines().enumerate().map(row).collect();
    folder.write("pool.csv", &format!("{header}\n{}\n", rows.join("\n")));
    folder.write("no.txt", "18\n");
    let all = format!("{SELECT} -n 39 --out - -q --forbid");
    for (name, text) in [("no.txt", "18\n"), ("no.csv", "18\n"), ("no.jsonl", "18\n")] {
        folder.write(name, text);
        let words = [name, "row indices or ids", "(18 is the id of row 3)", "`index` or `id`"];
        folder.refuses(&format!("{all} {name}"), &words);
        folder.refuses(&format!("{SELECT} -n 2 --observed {name}"), &words);
        folder.refuses(&format!("diagnose pool.csv --label-column cost --targets targets.csv --picks {name}"), &words);
    }
    for (header, kept) in [("id", 18), ("index", 3)] {
        for name in ["no.txt", "no.csv"] {
            folder.write(name, &format!("{header}\n18\n"));
            let rows = rows_of(&folder.succeeds(&format!("{all} {name}")));
            assert!(rows.len() == 39 && rows.iter().any(|row| row[1] == kept.to_string()), "{header}");
        }
    }
    // No row has the number 50.
    folder.write("no.txt", "50\n");
    let rows = rows_of(&folder.succeeds(&format!("{all} no.txt")));
    assert!(rows.len() == 39 && rows.iter().all(|row| row[2] != "50"));
}

#[test]
fn probabilities_that_are_neither_a_file_nor_a_column_are_told_so() {
    let folder = Folder::new();
    let select = format!("{SELECT} -n 2 --rule max-entropy --probabilities");
    folder.refuses(&format!("{select} p.s"), &["'p.s' is neither a file nor a column", "it has 'id', 'source'"]);
    folder.refuses(&format!("{select} p.npy"), &["p.npy does not exist"]);
    folder.write("p.s", "1");
    folder.refuses(&format!("{select} p.s"), &["p.s has no extension that can be read", ".npy"]);
    folder.write("dots.jsonl", &table(40, |i| format!("{{\"v\":[0.5,{i}],\"model.p\":[0.5,0.5]}}\n")));
    folder
        .succeeds("select dots.jsonl --embedding-column v -n 2 --rule max-entropy --probabilities model.p --out - -q");
}

#[test]
fn limits_from_columns() {
    let folder = Folder::new();
    let rows = rows_of(&folder.succeeds(&format!("{SELECT} -n 9 --quota web=1 --quota 4 --out - -q")));
    let from = |group: usize| rows.iter().filter(|row| row[1].parse::<usize>().unwrap() % 3 == group).count();
    assert_eq!((from(0), from(1), from(2)), (1, 4, 4));
    let rows = rows_of(&folder.succeeds(&format!("{SELECT} -n 40 --budget 6 --out - -q")));
    let spent: usize = rows.iter().map(|row| 1 + row[1].parse::<usize>().unwrap() % 4).sum();
    assert!(spent <= 6 && !rows.is_empty());
    folder.write("no.txt", "0\n1\n2\n");
    let rows = rows_of(&folder.succeeds(&format!("{SELECT} -n 37 --forbid no.txt --out - -q")));
    assert!(rows.iter().all(|row| !["0", "1", "2"].contains(&row[1].as_str())));
}

/// Rows of few numbers are compared on the sphere, unless the kernel or the preparation is given.
#[test]
fn the_kernel_suits_the_rows() {
    let folder = Folder::new();
    let row =
        |i: usize| (0..6).map(|j| format!("{:.4}", ((i * (j + 3) + j * j) as f64 * 0.7).sin())).collect::<Vec<_>>();
    let rows =
        |count: usize| table(count + 1, |i| if i == 0 { "a,b,c,d,e,f\n".into() } else { row(i).join(",") + "\n" });
    folder.write("many.csv", &rows(150));
    folder.write("some.csv", &rows(60));
    folder.write("wanted.csv", &rows(3));
    let run = |pool: &str, options: &str| {
        let output = folder.homing(&format!("select {pool} --targets wanted.csv -n 20 --out - {options}"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    };
    let (usual, said) = run("many.csv", "");
    assert!(said.contains("with itl and the kernel gaussian:1; ρ² = 0.3"), "{said}");
    assert_eq!(run("many.csv", "--kernel gaussian:1 --center --normalize").0, usual);
    for (pool, options) in [("many.csv", "--kernel linear"), ("many.csv", "--center=false"), ("some.csv", "")] {
        let (picks, said) = run(pool, options);
        assert!(said.contains("with itl; ρ² = ") && picks != usual, "{pool} {options}: {said}");
    }
}

#[test]
fn every_kernel_target_sample_and_stop_runs() {
    let folder = Folder::new();
    for options in [
        "--kernel gaussian:1",
        "--kernel laplace:1.5",
        "--kernel matern:1.5:1",
        "--center",
        "--target-sample 0.5",
        "--target-sample 1 --picks-per-round 2",
        "--target-sample max-det:1",
        "--target-sample max-dist:1",
        "--stop-variance 0.9999",
        "--min-gain 0",
        "--noise-std 0.3 --seed 4",
    ] {
        let csv = folder.succeeds(&format!("{SELECT} -n 4 {options} --out - -q"));
        assert!(!rows_of(&csv).is_empty(), "{options}");
    }
    let few = rows_of(&folder.succeeds(&format!("{SELECT} -n 30 --min-gain 0.3 --out - -q")));
    assert!(few.len() < 30);
}

#[test]
fn the_report_stands_alone_and_the_closing_line_tells() {
    let folder = Folder::new();
    let output = folder.homing(&format!("{SELECT} -n 5 --out picks.csv --report report.html"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout.is_empty());
    for word in
        ["Picked 5 of 40 rows", "2 targets", "itl", "Time: reading ", ", choosing ", ", report ", "Peak memory: "]
    {
        assert!(said.contains(word), "{said}");
    }
    let page = fs::read_to_string(folder.path("report.html")).unwrap();
    for part in ["<html", "doc-", "<svg", "Information", "What this pool can teach", "Out of reach"] {
        assert!(page.contains(part), "no {part} in the report");
    }
    assert!(!page.contains("http://") && !page.contains("https://"), "nothing is fetched");
    let quiet = folder.homing(&format!("{SELECT} -n 5 --quiet"));
    let shown = String::from_utf8(quiet.stdout).unwrap();
    assert!(shown.contains("doc-") && quiet.stderr.is_empty(), "quiet leaves only the result: {shown}");
    let quiet = folder.homing(&format!("{SELECT} -n 5 --quiet --out quiet.csv"));
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
}

#[test]
fn the_report_names_the_targets_that_the_pool_cannot_teach() {
    let folder = Folder::new();
    folder.write("flat.csv", "x,y\n1,0\n0.5,0\n-1,0\n");
    folder.write("tasks.csv", "id,x,y\nnear,1,0\nabove,0,2\n");
    folder.succeeds("select flat.csv --targets tasks.csv -n 2 --report report.html -q");
    let page = fs::read_to_string(folder.path("report.html")).unwrap();
    assert!(page.contains("This pool cannot teach 1 of 2 targets (above)"));
    folder.succeeds("select flat.csv --rule undirected-itl -n 2 --report report.html -q");
    assert!(!fs::read_to_string(folder.path("report.html")).unwrap().contains("can teach"), "there are no targets");
}

#[test]
fn the_demo_compares_and_reports() {
    let folder = Folder::new();
    let text = folder.succeeds("demo");
    for rule in ["itl", "ctl", "cosine", "random"] {
        assert!(text.contains(rule));
    }
    assert!(fs::read_to_string(folder.path("homing-demo.html")).unwrap().contains("3, 6 and 9"));
}

#[test]
fn columns_that_were_not_named_are_told_and_the_targets_match_them_by_name() {
    let folder = Folder::new();
    folder.write("p.csv", "id,x,stars,y\na,1,5,0\nb,0.5,1,0.1\nc,-0.2,3,1\n");
    folder.write("t.csv", "x,y\n0,1\n");
    // The columns have another order, there is one more number, there are no ids, and a label is missing.
    folder.write("u.csv", "name,stars,y,x,extra\nt1,,1,0,77\n");
    let want = folder.succeeds("select p.csv --label-column stars --targets t.csv -n 2 --noise-std 1 --out - -q");
    let output =
        folder.homing("select p.csv --label-column stars --id-column id --targets u.csv -n 2 --noise-std 1 --out -");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), want);
    assert!(said.contains("p.csv: the embedding consists of the 2 columns of numbers 'x', 'y';"), "{said}");
    assert!(said.contains("warning: the column 'extra' of u.csv is ignored"), "{said}");
    let output = folder.homing("select p.csv --rule undirected-itl -n 1 --out -");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("3 columns of numbers 'x', 'stars', 'y'") && said.contains("--label-column"), "{said}");
    folder.refuses("select p.csv --targets t.csv -n 1", &["t.csv lacks 'stars'", "--label-column"]);
    folder.write("text.csv", "x,y\n1,0\nhigh,1\n");
    folder.refuses("select t.csv --targets text.csv -n 1", &["'x' of text.csv is text", "numbers"]);
    folder.write("blank.csv", "x,y\n1,\n");
    folder.refuses("select t.csv --targets blank.csv -n 1", &["row 0 of blank.csv has no value in column 'y'", "fill"]);
    folder.refuses("select t.csv --targets t.csv -n -1", &["'-1' is negative", "give another number"]);
    folder.refuses(
        "select t.csv --targets t.csv -n 1 --out none/p.csv",
        &["its folder does not exist; create the folder"],
    );
}

#[test]
fn picks_that_reveal_nothing_are_refused_or_warned_of() {
    let folder = Folder::new();
    folder.write("zero.csv", "0,0\n0,0\n0,0\n");
    folder.write("t.csv", "0,2\n");
    for rule in ["itl", "vtl", "random"] {
        folder.refuses(&format!("select zero.csv --targets t.csv --rule {rule} -n 2 --out o.csv"), &["zero"]);
    }
    folder.write("same.csv", "2,1\n2,1\n");
    folder.refuses("select same.csv --targets t.csv --center -n 1", &["zero", "mean"]);
    folder.write("apart.csv", "1,0\n2,0\n3,0\n");
    let output = folder.homing("select apart.csv --targets t.csv -n 2 --out -");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("warning: the picks reveal nothing about the targets"), "{said}");
    let output = folder.homing("select pool.csv --cost-column cost --targets targets.csv -n 2 --out -");
    assert!(!String::from_utf8(output.stderr).unwrap().contains("warning"));
}

#[test]
fn bad_files() {
    let folder = Folder::new();
    let pool = |name: &str| format!("select {name} --targets targets.csv -n 2 --out o.csv");
    folder.refuses(&pool("absent.npy"), &["absent.npy"]);
    folder.write("empty.npy", "");
    folder.refuses(&pool("empty.npy"), &["empty.npy", "empty"]);
    folder.write("foreign.npy", "this is no array at all, just text");
    folder.refuses(&pool("foreign.npy"), &["foreign.npy"]);
    folder.write("foreign.parquet", "this is no parquet");
    folder.refuses(&pool("foreign.parquet"), &["foreign.parquet"]);
    let (whole, flat, ints) = (
        npy("<f4", false, "(5, 3)", &[0; 60]),
        npy("<f4", false, "(15,)", &[0; 60]),
        npy("<i8", false, "(5, 3)", &[0; 120]),
    );
    fs::write(folder.path("cut.npy"), &whole[..whole.len() - 8]).unwrap();
    folder.refuses(&pool("cut.npy"), &["cut.npy"]);
    fs::write(folder.path("flat.npy"), flat).unwrap();
    folder.refuses(&pool("flat.npy"), &["flat.npy", "two"]);
    fs::write(folder.path("ints.npy"), ints).unwrap();
    folder.refuses(&pool("ints.npy"), &["ints.npy", "int64", "float32"]);
    folder.write("ragged.jsonl", "[1,2,3]\n[1,2,3]\n[1,2]\n");
    folder.refuses(&pool("ragged.jsonl"), &["ragged.jsonl", "row 2"]);
    folder.write("header.csv", "x,y,z\n");
    folder.refuses(&pool("header.csv"), &["header.csv", "no rows"]);
    folder.refuses("select pool.csv --targets header.csv -n 2", &["header.csv", "no rows"]);
    folder.write("nan.csv", "x,y,z\n1,2,3\n1,NaN,3\n");
    folder.refuses(&pool("nan.csv"), &["row 1", "pool", "not finite"]);
    folder.refuses("select pool.csv --cost-column cost --targets nan.csv -n 2", &["row 1", "targets", "not finite"]);
    folder.write("inf.csv", "x,y,z\ninf,2,3\n1,2,3\n");
    folder.refuses(&pool("inf.csv"), &["row 0", "not finite"]);
    folder.write("wide.csv", "4,3,2,1\n");
    folder.refuses("select pool.csv --cost-column cost --targets wide.csv -n 2", &["targets", "4", "3", "same model"]);
}

#[test]
fn bad_settings() {
    let folder = Folder::new();
    folder.refuses(&format!("{SELECT} -n 0"), &["0 of 40"]);
    folder.refuses(&format!("{SELECT} -n 41"), &["41 of 40"]);
    for noise in ["-1", "nan", "0"] {
        folder.refuses(&format!("{SELECT} -n 2 --noise-std {noise}"), &["noise", "positive"]);
    }
    folder.refuses(&format!("{SELECT} -n 2 --rule max-entropy"), &["max-entropy", "probabilities"]);
    folder.refuses(&format!("{SELECT} -n 2 --rule itll"), &["itll", "did you mean 'itl'"]);
    folder.refuses("select pool.csv -n 2", &["itl", "needs targets"]);
    folder.refuses(&format!("{SELECT} -n 2 --out nowhere/picks.csv"), &["nowhere/picks.csv"]);
    folder.refuses(&format!("{SELECT} -n 2 --report nowhere/r.html"), &["nowhere/r.html"]);
    folder.refuses(&format!("{SELECT} -n 2 --out picks.xlsx"), &["picks.xlsx", ".csv"]);
    folder.refuses(&format!("{SELECT} -n 2 --report -"), &["--report", "file"]);
    folder.refuses(&format!("{SELECT} -n 2 --threads 0"), &["--threads", "at least 1"]);
    folder.refuses(&format!("{SELECT} -n 2 --kernel cubic"), &["cubic", "gaussian"]);
    folder.refuses(&format!("{SELECT} -n 2 --target-sample 0"), &["targets"]);
    folder.refuses(&format!("{SELECT} -n 2 --quota nobody=3"), &["nobody"]);
    for (arguments, problem) in [
        ("-n -1", "only numbers from 0"),
        ("-n two", "a whole number is needed"),
        ("-n 99999999999999999999", "too large"),
        ("-n 2 --noise-std abc", "a number is needed"),
        ("-n 2 --nosie-std 1", "'--noise-std'"),
        ("", "--count"),
    ] {
        folder.refuses(&format!("{SELECT} {arguments}"), &[problem, "see --help"]);
    }
    folder.refuses(&format!("{SELECT} -n 2 --quota 0"), &["quotas", "raise"]);
    folder.refuses(&format!("{SELECT} -n 2 --budget 0.5"), &["budget", "raise"]);
    folder.refuses("select pool.csv --targets targets.csv -n 2 --budget 3", &["--budget needs --cost-column"]);
    folder.refuses(&format!("{SELECT} -n 2 --out pool.csv"), &["pool.csv", "overwritten"]);
    folder.refuses(&format!("{SELECT} -n 2 --noise-std 1e-100"), &["noise", "between 1e-70 and 1e70"]);
    folder.refuses("select pool.csv --cost-column cost -n 2 --rule random --target-sample 3", &["--targets"]);
    folder.write("far.txt", "99\n");
    folder.refuses(&format!("{SELECT} -n 2 --observed far.txt"), &["99", "40"]);
    folder.write("who.txt", "doc-1\ndoc-x\n");
    folder.refuses(&format!("{SELECT} -n 2 --observed who.txt"), &["doc-x"]);
}

/// An existing file stays unchanged if the run that would replace it fails.
#[test]
fn a_failed_run_keeps_the_old_picks() {
    let folder = Folder::new();
    folder.write("picks.csv", "precious");
    folder.refuses(&format!("{SELECT} -n 99 --out picks.csv"), &["99 of 40"]);
    assert_eq!(fs::read_to_string(folder.path("picks.csv")).unwrap(), "precious");
}

#[test]
fn a_misspelt_command_or_option_gets_a_suggestion() {
    let folder = Folder::new();
    folder.refuses("selct pool.csv", &["unrecognized subcommand 'selct'", "similar", "'select'"]);
    folder.refuses("select pool.csv -n 2 --nosie-std 1", &["unexpected argument '--nosie-std'", "'--noise-std'"]);
    folder.refuses("select pool.csv -n 2 --pool-access red", &["'red'", "'read'"]);
}

#[test]
fn shells_and_man_get_their_pages() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(folder.succeeds(&format!("completions {shell}")).contains("embedding-column"), "{shell}");
    }
    let page = folder.succeeds("man");
    assert!(page.contains(".TH homing 1") && page.contains(".SH EXAMPLES"), "{page}");
    folder.succeeds("man pages");
    let select = fs::read_to_string(folder.path("pages/homing-select.1")).unwrap();
    assert!(select.contains("\\-\\-picks\\-per\\-round") && select.contains(".SH EXAMPLES"), "{select}");
    assert!(folder.path("pages/homing-experiment-run.1").exists());
}

/// Runs a command in a pseudo-terminal, with the answers as what is typed there, and returns what it shows.
#[cfg(target_os = "linux")]
fn in_terminal(folder: &Folder, arguments: &str, answers: &str, no_color: &str) -> String {
    folder.write("typed", answers);
    let homing = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_homing"));
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &homing, "/dev/null"]).stdin(fs::File::open(folder.path("typed")).unwrap());
    script.current_dir(folder.path("")).env("TERM", "xterm-256color").env("NO_COLOR", no_color);
    String::from_utf8(script.output().unwrap().stdout).unwrap()
}

/// Whether the text holds a sequence that changes colours or the weight of letters, such as `ESC [ 1 m`.
#[cfg(target_os = "linux")]
fn is_coloured(text: &str) -> bool {
    let ends_with_m = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m');
    text.split("\u{1b}[").skip(1).any(ends_with_m)
}

#[cfg(target_os = "linux")]
#[test]
fn no_color_keeps_colours_out_of_a_terminal() {
    if std::process::Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `script` (Debian: bsdutils)");
        return;
    }
    let folder = Folder::new();
    let ask = "finetune digits --task 3,6 --target-count 4 --rounds 1 --epochs 1 --ask --quiet --run";
    let (coloured, plain) = (format!("{ask} a"), format!("{ask} b"));
    let mut commands = vec![("select --help", "select --help")];
    if cfg!(feature = "train") {
        commands.push((&coloured, &plain));
    }
    for (coloured, plain) in commands {
        let shown = in_terminal(&folder, coloured, "3\n", "");
        assert!(is_coloured(&shown), "{coloured}: {shown:?}");
        let shown = in_terminal(&folder, plain, "3\n", "1");
        assert!(!is_coloured(&shown) && !shown.is_empty(), "{plain}: {shown:?}");
    }
}

#[test]
fn help_starts_with_examples_and_groups_options() {
    let folder = Folder::new();
    let help = folder.succeeds("--help");
    assert!(help.lines().nth(2).unwrap() == "Quick start:" && help.contains("homing select pool.npy"), "{help}");
    let help = folder.succeeds("select --help");
    let place = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text} in {help}"));
    let order = [
        "Examples:",
        "Usage:",
        "\nOutput:",
        "\nTargets and limits:",
        "\nColumns:",
        "\nKernel and noise:",
        "\nPerformance:",
    ];
    assert!(order.map(place).is_sorted(), "{help}");
    if cfg!(feature = "train") {
        let help = folder.succeeds("finetune --help");
        let run = help.split("\nRun:").nth(1).unwrap().split("\n\n").next().unwrap();
        assert!(["--run", "--resume", "--quiet", "--seed", "--seeds"].iter().all(|name| run.contains(name)), "{help}");
    }
}
