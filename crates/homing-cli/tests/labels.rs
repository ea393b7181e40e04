//! Labels from a person or from a file.
#![cfg(feature = "train")]

mod bars;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bars::{homing, refused, said};

/// Writes rows around two points of these classes; `name` returns the id of a row.
fn pool(path: &Path, name: impl Fn(usize) -> String, classes: [&str; 2]) {
    let line = |row: usize| {
        let (t, side) = (row as f64, if row.is_multiple_of(2) { 1.0 } else { -1.0 });
        let (x, y) = (side + 0.3 * t.sin(), 0.3 * (1.7 * t).cos() - side);
        format!("{},{x},{y},{}\n", name(row), classes[row % 2])
    };
    fs::write(path, format!("id,x,y,label\n{}", (0..40).map(line).collect::<Vec<_>>().concat())).unwrap();
}

fn run(folder: &Path, labels: &str) -> Command {
    let mut command = homing();
    command.current_dir(folder).args(["finetune", "pool.csv", "--target-count", "2", "--epochs", "1", "--quiet"]);
    command.args(["--rounds", "2", "--picks-per-round", "2", "--against", "none", "--run", "run"]);
    match labels {
        "ask" => command.arg("--ask"),
        file => command.args(["--labels", file]),
    };
    command
}

fn labels(folder: &Path, text: &str) -> Output {
    fs::write(folder.join("labels.csv"), text).unwrap();
    run(folder, "labels.csv").args(["--task", "a,b"]).output().unwrap()
}

#[test]
fn a_class_called_s_is_answered_and_another_word_skips() {
    let folder = tempfile::tempdir().unwrap();
    pool(&folder.path().join("pool.csv"), |row| row.to_string(), ["s", "skip"]);
    let mut command = run(folder.path(), "ask");
    command.args(["--task", "s,skip"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"s\nskip\nss\ns\nskip\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = said(&output);
    assert!(output.status.success() && text.contains("label (1 s, 2 skip; ss skip an example, u undo): "), "{text}");
    assert!(text.contains("\n1 of 2 in round 1: ") && text.contains("\n2 of 2 in round 2: "), "{text}");
    let picks = fs::read_to_string(folder.path().join("run/picks.csv")).unwrap();
    let given: Vec<&str> = picks.lines().skip(1).filter_map(|line| line.split(',').nth(6)).collect();
    // Another example has taken the place of the one that was skipped.
    assert_eq!(given, ["s", "skip", "", "s", "skip"]);
}

#[test]
fn ids_that_stand_for_several_rows_are_refused_and_not_said_to_lack_a_label() {
    let folder = tempfile::tempdir().unwrap();
    pool(&folder.path().join("pool.csv"), |row| format!("r{}", row / 2), ["a", "b"]);
    let by_id = (0..20).map(|id| format!("r{id},a\n")).collect::<Vec<_>>().concat();
    let output = labels(folder.path(), &format!("id,label\n{by_id}"));
    refused(&output, &["labels.csv, line 2: the rows 0 and 1 of the pool both have the id \"r0\"; label by row"]);
    let by_row = (0..40).map(|row| format!("{row};{}\n", ["a", "b"][row % 2])).collect::<Vec<_>>().concat();
    let output = labels(folder.path(), &format!("index;label\n{by_row}"));
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn what_is_wrong_with_a_file_of_labels_is_said_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    pool(&folder.path().join("pool.csv"), |row| format!("r{row}"), ["a", "b"]);
    for (text, word) in [
        ("", "labels.csv is empty"),
        ("id,name\nr1,a\n", "needs the columns id"),
        ("id,label\nr1,a\nr2,a,b\n", "labels.csv, line 3: it has 3 fields, but the first line has 2; correct the line"),
        ("id,label\nr99,a\n", "labels.csv, line 2: the pool has no \"r99\""),
        ("index,label\n40,a\n", "labels.csv, line 2: the pool has no \"40\""),
        ("index,label\n-1,a\n", "the pool has no \"-1\""),
        ("id,label\nr1,c\n", "labels.csv, line 2: there is no class \"c\"; the data have a, b"),
        ("id,label\nr1,a\nr1,b\n", "line 3: \"r1\" is \"b\" here, but \"a\" in an earlier line"),
    ] {
        let output = labels(folder.path(), text);
        refused(&output, &[word]);
        assert!(!folder.path().join("run").exists());
    }
    fs::write(folder.path().join("labels.csv"), b"id,label\nr1,\xff\n").unwrap();
    refused(&run(folder.path(), "labels.csv").args(["--task", "a,b"]).output().unwrap(), &["line 2", "is not UTF-8"]);
    // An empty or blank label counts as missing.
    let output = labels(folder.path(), "\u{feff}id,label\nr1,a\nr2, \nr3,\n");
    refused(
        &output,
        &["no label in ", "labels.csv and can be labelled in ", "to-label.csv; fill in the column label there"],
    );
}

/// Fills in a label for each row of `to-label.csv` that has none.
fn fill_in(folder: &Path, label: impl Fn(usize) -> &'static str) -> usize {
    let path = folder.join("run/to-label.csv");
    let mut count = 0;
    let filled = |line: &str| match line.strip_suffix(',') {
        Some(row) => {
            count += 1;
            let id: usize = row.split(',').next().unwrap().trim_start_matches('r').parse().unwrap();
            format!("{row},{}\n", label(id))
        }
        None => format!("{line}\n"),
    };
    let table: String = fs::read_to_string(&path).unwrap().lines().map(filled).collect();
    fs::write(path, table).unwrap();
    count
}

#[test]
fn missing_labels_are_listed_and_filled_in_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let line = |row: usize| {
        let (t, side) = (row as f64, if row.is_multiple_of(2) { 1.0 } else { -1.0 });
        format!("r{row},\"text {row}, in full\",{},{}\n", side + 0.3 * t.sin(), 0.3 * (1.7 * t).cos() - side)
    };
    fs::write(path("pool.csv"), format!("id,text,x,y\n{}", (0..40).map(line).collect::<String>())).unwrap();
    fs::write(path("targets.csv"), "x,y\n1,-1\n-1,1\n").unwrap();
    // Nothing is labelled yet, and the file of labels does not even exist.
    let mut command = homing();
    command.current_dir(folder.path()).args(["finetune", "pool.csv", "--targets", "targets.csv", "--task", "a,b"]);
    command.args(["--labels", "labels.csv", "--rounds", "2", "--picks-per-round", "3", "--run", "run", "--quiet"]);
    let output = command.output().unwrap();
    refused(&output, &["3 picks have no label in ", "run/to-label.csv", "--resume"]);
    let table = fs::read_to_string(path("run/to-label.csv")).unwrap();
    assert!(table.starts_with("id,text,label\nr") && table.lines().count() == 4, "{table}");
    assert!(table.lines().skip(1).all(|line| line.contains("\"text ") && line.ends_with(',')), "{table}");
    let resume = || homing().current_dir(folder.path()).args(["finetune", "--resume", "run", "-q"]).output().unwrap();
    refused(&resume(), &["3 picks have no label"]);
    // One of three is skipped, so that another takes its place.
    let skipped: usize = table.lines().nth(1).unwrap().split(',').next().unwrap()[1..].parse().unwrap();
    let label = |row: usize| if row == skipped { "skip" } else { ["a", "b"][row % 2] };
    assert_eq!(fill_in(folder.path(), label), 3);
    // If a third of the rows is skipped, two are needed for one label.
    refused(&resume(), &["2 picks have no label"]);
    assert_eq!(fs::read_to_string(path("run/to-label.csv")).unwrap().lines().count(), 6);
    assert_eq!(fill_in(folder.path(), label), 2);
    refused(&resume(), &["no label in "]);
    // Labels may also come by the file that was named.
    let labels = (0..40).map(|row| format!("r{row},{}\n", ["a", "b"][row % 2])).collect::<Vec<_>>().concat();
    fs::write(path("labels.csv"), format!("id,label\n{labels}")).unwrap();
    let output = resume();
    assert!(output.status.success(), "{}", said(&output));
    let picks = fs::read_to_string(path("run/picks.csv")).unwrap();
    let given: Vec<&str> = picks.lines().skip(1).map(|line| line.split(',').nth(6).unwrap()).collect();
    assert_eq!((given.len(), given.iter().filter(|label| label.is_empty()).count()), (7, 1), "{picks}");
    assert!(!path("run/random-0").exists(), "a comparison would cost labels");
    // The network classifies new rows.
    let predict = |data: &str, out: &str| {
        homing().current_dir(folder.path()).args(["predict", "run", data, "--out", out]).output().unwrap()
    };
    let output = predict("pool.csv", "predictions.csv");
    assert!(output.status.success() && said(&output).contains("Wrote the classes of 40 examples"), "{}", said(&output));
    let table = fs::read_to_string(path("predictions.csv")).unwrap();
    assert!(table.starts_with("id,text,label,probability\nr0,\"text 0, in full\","), "{table}");
    let right = |(row, line): &(usize, &str)| line.rsplit(',').nth(1).unwrap() == ["a", "b"][row % 2];
    assert!(table.lines().skip(1).enumerate().filter(right).count() > 30, "{table}");
    refused(&predict("run", "p.csv"), &["is not a data set that can be read"]);
    refused(&predict("pool.csv", "pool.csv"), &["pool.csv"]);
    assert!(fs::read_to_string(path("pool.csv")).unwrap().starts_with("id,text,x,y\n"));
}

#[test]
fn a_label_that_is_no_class_in_the_list_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    pool(&folder.path().join("pool.csv"), |row| format!("r{row}"), ["a", "b"]);
    refused(&labels(folder.path(), "id,label\n"), &["2 picks have no label"]);
    assert_eq!(fill_in(folder.path(), |_| "c"), 2);
    let output = homing().current_dir(folder.path()).args(["finetune", "--resume", "run", "-q"]).output().unwrap();
    refused(&output, &["run/to-label.csv, line 2: there is no class \"c\"; the data have a, b"]);
}

#[test]
fn every_row_of_an_unlabelled_pool_may_be_picked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let line = |row: usize| format!("r{row},{},{}\n", row % 2, 1 - row % 2);
    fs::write(path("pool.csv"), format!("id,x,y\n{}", (0..10).map(line).collect::<String>())).unwrap();
    fs::write(path("targets.csv"), "x,y\n0,1\n1,0\n").unwrap();
    let labels = (0..10).map(|row| format!("r{row},{}\n", ["a", "b"][row % 2])).collect::<Vec<_>>().concat();
    fs::write(path("labels.csv"), format!("id,label\n{labels}")).unwrap();
    let mut command = homing();
    command.current_dir(folder.path()).args(["finetune", "pool.csv", "--targets", "targets.csv", "--task", "a,b"]);
    command.args([
        "--labels",
        "labels.csv",
        "--rounds",
        "1",
        "--picks-per-round",
        "10",
        "--epochs",
        "1",
        "--run",
        "run",
    ]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read_to_string(path("run/picks.csv")).unwrap().lines().count(), 11);
}

#[test]
fn a_file_with_two_names_for_a_row_or_two_labels_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    pool(&folder.path().join("pool.csv"), |row| format!("r{row}"), ["a", "b"]);
    for text in ["id,label,label\nr3,a,b\n", "index,id,label\n3,r9,b\n", "id,id,label\nr3,r4,b\n"] {
        refused(&labels(folder.path(), text), &["more than one column id or index"]);
    }
}

/// A file with one label per line labels the whole pool from the start, so test examples have labels too.
#[test]
fn a_file_with_one_label_per_row_labels_the_whole_pool() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    pool(&path("labelled.csv"), |row| format!("r{row}"), ["a", "b"]);
    let bare = |line: &str| line.rsplit_once(',').unwrap().0.to_owned() + "\n";
    fs::write(
        path("pool.csv"),
        fs::read_to_string(path("labelled.csv")).unwrap().lines().map(bare).collect::<String>(),
    )
    .unwrap();
    fs::write(path("labels.txt"), ["a\n", "b\n"].concat().repeat(20)).unwrap();
    let output = run(folder.path(), "labels.txt").args(["--task", "a,b"]).output().unwrap();
    assert!(output.status.success() && said(&output).contains("test examples"), "{}", said(&output));
    let picks = fs::read_to_string(path("run/picks.csv")).unwrap();
    for line in picks.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let row: usize = cells[4].parse().unwrap();
        assert_eq!((cells[5], cells[6]), (&*format!("r{row}"), ["a", "b"][row % 2]), "{line}");
    }
    fs::write(path("labels.txt"), "a\nb\n").unwrap();
    fs::remove_dir_all(path("run")).unwrap();
    refused(
        &run(folder.path(), "labels.txt").args(["--task", "a,b"]).output().unwrap(),
        &["holds 2 labels for 40 examples"],
    );
}

#[test]
fn an_empty_path_of_labels_is_refused_before_it_is_made_absolute() {
    let folder = tempfile::tempdir().unwrap();
    pool(&folder.path().join("pool.csv"), |row| format!("r{row}"), ["a", "b"]);
    let output = run(folder.path(), "").args(["--task", "a,b"]).output().unwrap();
    refused(&output, &["a value is required for '--labels <FILE>'"]);
    assert!(!said(&output).contains("absolute") && !folder.path().join("run").exists(), "{}", said(&output));
}

#[test]
fn a_csv_parse_error_names_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    pool(&path("pool.csv"), |row| format!("r{row}"), ["a", "b"]);
    let bad: [&[u8]; 3] = [b"id,label\nr1,\xff\n", b"id,label\nr1,a,b\n", b"id,label\nr1\n"];
    for text in bad {
        fs::write(path("labels.csv"), text).unwrap();
        let output = run(folder.path(), "labels.csv").args(["--task", "a,b"]).output().unwrap();
        refused(&output, &["labels.csv, line 2: it "]);
    }
    let bad: [&[u8]; 2] = [b"id,x,y,label\nr1,1,2,\xff\n", b"id,x,y,label\nr1,1,2,a\nr2,1,2,a,3\n"];
    for text in bad {
        fs::write(path("bad.csv"), text).unwrap();
        for arguments in ["select bad.csv -n 1 --rule random", "finetune bad.csv --task a,b --run run"] {
            let output = homing().current_dir(folder.path()).args(arguments.split(' ')).output().unwrap();
            refused(&output, &["bad.csv"]);
        }
    }
    fs::create_dir(path("results")).unwrap();
    fs::write(path("results/digits-quick.csv"), "line,value\na,b,c\n").unwrap();
    let output = homing().current_dir(folder.path()).args(["experiment", "compare", "digits-quick"]).output().unwrap();
    refused(&output, &["results/digits-quick.csv"]);
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_text_is_refused_and_does_not_panic() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let name = OsStr::from_bytes(b"\xff.csv");
    pool(&folder.path().join(name), |row| format!("r{row}"), ["a", "b"]);
    let mut command = homing();
    command.current_dir(folder.path()).arg("finetune").arg(name).args(["--task", "a,b", "--target-count", "2"]);
    refused(&command.args(["--rounds", "1", "--run", "run"]).output().unwrap(), &["is not valid UTF-8"]);
    assert!(!folder.path().join("run").exists());
}
