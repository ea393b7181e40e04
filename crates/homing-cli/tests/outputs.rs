//! What the command may write, and what it must not change.

mod folder;

use std::fs;

use folder::{Folder, pool_csv, table};

const SELECT: &str = "select pool.csv --targets targets.csv --cost-column cost --group-column source";

#[test]
fn an_output_that_is_an_input_or_another_output_is_refused() {
    let folder = Folder::new();
    folder.write("forbid.csv", "id\ndoc-3\n");
    folder.write("p.csv", &table(40, |i| format!("{},{}\n", i as f64 / 40.0, 1.0 - i as f64 / 40.0)));
    folder.write("picks.csv", "index\n3\n");
    let written_over = [
        (format!("{SELECT} -n 3 --forbid forbid.csv --out forbid.csv"), "forbid.csv is an input"),
        (format!("{SELECT} -n 3 --probabilities p.csv --out ./p.csv"), "p.csv is an input"),
        (format!("{SELECT} -n 3 --observed picks.csv --report picks.csv"), "picks.csv is an input"),
        (format!("{SELECT} -n 3 --out o.csv --report ./o.csv"), "--out and --report both name"),
        (
            "diagnose pool.csv --targets targets.csv --values cost --report targets.csv".into(),
            "targets.csv is an input",
        ),
        ("diagnose pool.csv --targets targets.csv --values p.csv --report p.csv".into(), "p.csv is an input"),
    ];
    for (arguments, words) in written_over {
        folder.refuses(&arguments, &[words]);
    }
}

#[test]
fn an_output_inside_a_folder_that_is_read_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("shards")).unwrap();
    folder.succeeds(&format!("{SELECT} -n 3 --out shards/part-1.parquet -q"));
    let before = fs::read(folder.path("shards/part-1.parquet")).unwrap();
    folder.refuses(
        "select shards -n 1 --rule random --out shards/part-1.parquet",
        &["lies in shards, which is an input"],
    );
    assert!(fs::read(folder.path("shards/part-1.parquet")).unwrap() == before);
}

#[test]
fn picks_that_repeat_rows_are_not_written_where_a_row_has_one_line() {
    let folder = Folder::new();
    folder.refuses(&format!("{SELECT} -n 30 --repeat --out picks.parquet"), &["--repeat", ".csv, .jsonl or .npy"]);
    for extension in ["csv", "jsonl"] {
        folder.succeeds(&format!("{SELECT} -n 60 --repeat --noise-std 2 --out picks.{extension} -q"));
        let lines = fs::read_to_string(folder.path(&format!("picks.{extension}"))).unwrap().lines().count();
        assert_eq!(lines, 60 + usize::from(extension == "csv"), "{extension}");
    }
}

#[test]
fn ids_reach_the_terminal_without_control_characters() {
    let folder = Folder::new();
    let ids = table(40, |i| format!("\u{1b}]0;owned\u{7}{i},{},1\n", i as f64 / 40.0));
    folder.write("ids.csv", &format!("id,x,y\n{ids}"));
    folder.write("aim.csv", "x,y\n1,0\n");
    let table = folder.succeeds("select ids.csv --targets aim.csv -n 3");
    assert!(table.contains(r"\u{1b}]0;owned\u{7}") && !table.contains(['\u{1b}', '\u{7}']), "{table}");
    assert!(!folder.succeeds("explain ids.csv --targets aim.csv").contains('\u{1b}'));
    let json = folder.succeeds("explain ids.csv --targets aim.csv --format json");
    assert!(json.contains(r"\u001b]0;owned\u0007") && !json.contains(r"\u{"), "{json}");
    folder.write("forbid.csv", "id\n\u{1b}[2Jgone\n");
    folder.refuses("select ids.csv --targets aim.csv -n 3 --forbid forbid.csv", &["is not in ids.csv"]);
    let output = folder.homing("select nowhere\u{1b}]0;.csv -n 3");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(r"nowhere\u{1b}]0;.csv does not exist"), "{said}");
}

#[test]
fn an_id_of_two_lines_stays_in_its_row_of_the_table() {
    let folder = Folder::new();
    folder.write("ids.csv", "id,x,y\n\"a\n9 forged\",1,0.5\n");
    folder.write("aim.csv", "x,y\n1,0\n");
    let table = folder.succeeds("select ids.csv --targets aim.csv -n 1");
    assert_eq!(table.trim_end().lines().count(), 2, "{table}");
    assert!(table.contains(r"a\n9 forged"), "{table}");
}

#[test]
fn ids_that_a_spreadsheet_would_compute_are_quoted_when_asked_for() {
    let folder = Folder::new();
    let ids = ["=1+1", "+2", "-3", "@sum", "plain"];
    let rows = table(5, |i| format!("{},{},1\n", ids[i], i + 1));
    folder.write("ids.csv", &format!("id,x,y\n{rows}"));
    let ids_of = |csv: String| -> Vec<String> {
        let mut ids: Vec<String> = csv.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().into()).collect();
        ids.sort();
        ids
    };
    let mut plain = ids.map(str::to_owned).to_vec();
    plain.sort();
    assert_eq!(ids_of(folder.succeeds("select ids.csv -n 5 --rule random --out - -q")), plain);
    let safe = folder.succeeds("select ids.csv -n 5 --rule random --out - -q --csv-safe");
    assert_eq!(ids_of(safe.clone()), ["'+2", "'-3", "'=1+1", "'@sum", "plain"]);
    // The rows are recognised with and without the apostrophe before their ids.
    folder.write("half.csv", &safe.lines().take(4).collect::<Vec<_>>().join("\n"));
    let rest = folder.succeeds("select ids.csv -n 2 --rule random --observed half.csv --out - -q");
    assert_eq!(ids_of(rest).len(), 2);
}

#[test]
fn the_bare_command_prints_its_help() {
    let output = Folder::new().homing("");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.starts_with("Choose the few rows") && said.contains("Usage: homing <COMMAND>"), "{said}");
    assert!(!said.contains("error:"), "{said}");
}

#[test]
fn an_output_that_cannot_be_replaced_is_refused_before_the_work() {
    let folder = Folder::new();
    folder.write("picks.csv", "mine");
    let mut permissions = fs::metadata(folder.path("picks.csv")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(folder.path("picks.csv"), permissions).unwrap();
    folder.refuses(&format!("{SELECT} -n 3 --out picks.csv"), &["picks.csv cannot be written: it is read-only"]);
    folder.refuses(&format!("{SELECT} -n 3 --out new.csv/"), &["new.csv/ cannot be written"]);
}

/// `homing select … --out - | head -n 1`: the reader takes one line and closes the pipe.
#[test]
fn a_reader_that_stops_early_ends_the_command_quietly() {
    let folder = Folder::new();
    folder.write("large.csv", &pool_csv(20_000));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_homing"));
    command.current_dir(folder.path(""));
    let select =
        "select large.csv --cost-column cost --targets targets.csv -n 20000 --rule cosine --out - --report page.html";
    command.args(select.split(' ')).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 8];
    std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((&first, output.status.code()), (b"rank,ind", Some(0)), "{said}");
    assert!(!said.contains("error") && said.contains("Picked 20,000 of 20,000 rows"), "{said}");
    assert!(folder.path("page.html").exists(), "the report does not depend on the reader");
}
