//! Experiments with networks: a cell is identified by everything that its process reads, and no setting of a file is ignored.
#![cfg(feature = "train")]

mod folder;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use folder::Folder;

/// Returns a table of two classes, of which one is called `odd`.
fn table(odd: &str) -> String {
    let mut text = String::from("id,x,y,label\n");
    for i in 0..60 {
        let (side, t) = (if i % 2 == 0 { 1.0 } else { -1.0 }, f64::from(i));
        let label = if i % 2 == 0 { "even" } else { odd };
        writeln!(text, "r{i},{},{},{label}", side + t.sin(), (2.0 * t).cos() - side).unwrap();
    }
    text
}

/// Returns a plan over `data.csv` with these arguments and lines.
fn plan(arguments: &str, lines: &str) -> String {
    format!(
        "title = \"Mine\"\ndata = [\"data.csv\"]\nseeds = 1\n\n[arguments]\nrounds = 2\ntask = \"even,odd\"\nepochs = 2\n{arguments}\n{lines}"
    )
}

fn line(name: &str, arguments: &str) -> String {
    format!("\n[[lines]]\nname = \"{name}\"\nrule = \"itl\"\n{arguments}\n")
}

fn cells(folder: &Folder) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.path("results/cells")).into_iter().flatten().flatten();
    let mut cells: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    cells.sort();
    cells
}

/// Returns the accuracy of a line in the table of an experiment, round by round, in millionths.
fn of_line(csv: &str, name: &str) -> Vec<i64> {
    csv.lines().filter(|row| row.starts_with(&format!("{name},"))).map(|row| millionths(row, 5)).collect()
}

/// Returns the same for a run.
fn of_run(csv: &str) -> Vec<i64> {
    csv.lines().skip(1).map(|row| millionths(row, 4)).collect()
}

fn millionths(row: &str, column: usize) -> i64 {
    (row.split(',').nth(column).unwrap().parse::<f64>().unwrap() * 1e6).round() as i64
}

#[test]
fn lines_with_other_weights_have_cells_and_results_of_their_own() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    folder.write("swapped.csv", &table("odd").replace("even", "x").replace("odd", "even").replace(",x", ",odd"));
    let common = "--task even,odd --model mlp:4 --rounds 2 --against none --quiet";
    for (data, seed, file) in [("data.csv", 1, "one.safetensors"), ("swapped.csv", 2, "two.safetensors")] {
        folder.succeeds(&format!("finetune {data} {common} --picks-per-round 9 --seed {seed} --run net-{seed}"));
        fs::copy(folder.path(&format!("net-{seed}/itl-{seed}/model.safetensors")), folder.path(file)).unwrap();
        folder.succeeds(&format!("finetune data.csv {common} --epochs 2 --weights {file} --run direct-{seed}"));
    }
    let lines = line("One", "weights = \"one.safetensors\"") + &line("Two", "weights = \"two.safetensors\"");
    folder.write("mine.toml", &plan("model = \"mlp:4\"", &lines));
    folder.succeeds("experiment run mine.toml --quiet");
    assert_eq!(cells(&folder).len(), 2);
    let csv = fs::read_to_string(folder.path("results/mine.csv")).unwrap();
    for (name, seed) in [("One", 1), ("Two", 2)] {
        let direct = fs::read_to_string(folder.path(&format!("direct-{seed}/results.csv"))).unwrap();
        assert_eq!(of_line(&csv, name), of_run(&direct), "{name}");
    }
    assert!(of_line(&csv, "One")[0] > of_line(&csv, "Two")[0] + 500_000, "{csv}");
    // The same name now stands for other weights.
    fs::copy(folder.path("one.safetensors"), folder.path("two.safetensors")).unwrap();
    folder.succeeds("experiment run mine.toml --quiet");
    let csv = fs::read_to_string(folder.path("results/mine.csv")).unwrap();
    assert_eq!(of_line(&csv, "Two"), of_line(&csv, "One"));
    assert_eq!(cells(&folder).len(), 2, "the same weights, the same cell");
}

#[test]
fn a_run_goes_on_with_the_weights_that_it_began_with() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    let common = "finetune data.csv --task even,odd --model mlp:4 --rounds 2 --against none --quiet";
    for seed in [1, 2] {
        folder.succeeds(&format!("{common} --seed {seed} --run net-{seed}"));
    }
    fs::copy(folder.path("net-1/itl-1/model.safetensors"), folder.path("start.safetensors")).unwrap();
    folder.succeeds(&format!("{common} --weights start.safetensors --run run"));
    folder.succeeds("finetune --resume run --quiet");
    fs::copy(folder.path("net-2/itl-2/model.safetensors"), folder.path("start.safetensors")).unwrap();
    folder.refuses("finetune --resume run", &["or the weights have changed since the run started"]);
}

#[test]
fn an_edited_file_of_any_line_makes_a_new_cell_and_an_unedited_one_none() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    let targets = "x,y,label\n1.1,-0.2,even\n0.8,0.3,even\n";
    for name in ["near.csv", "far.csv"] {
        folder.write(name, targets);
    }
    let labels = |odd: &str| {
        let row = |i: usize| format!("r{i},{}\n", if i.is_multiple_of(2) { "even" } else { odd });
        format!("id,label\n{}", (0..60).map(row).collect::<String>())
    };
    folder.write("labels.csv", &labels("odd"));
    let lines = line("Plain", "")
        + &line("Near", "targets = \"near.csv\"")
        + &line("Far", "targets = \"far.csv\"")
        + &line("Filed", "labels = \"labels.csv\"");
    folder.write("mine.toml", &plan("", &lines));
    let run = |expected: usize, what: &str| {
        folder.succeeds("experiment run mine.toml --quiet");
        assert_eq!(cells(&folder).len(), expected, "{what}");
    };
    run(3, "near and far are the same targets");
    run(3, "nothing changed");
    folder.write("far.csv", &targets.replace("0.8", "-0.8"));
    run(4, "targets of a later line");
    folder.write("labels.csv", &labels("odd").replace("r7,odd", "r7,even"));
    run(5, "labels of a later line");
    folder.write("data.csv", &table("odd").replace("r3,", "r-3,"));
    folder.write("labels.csv", &labels("odd").replace("r3,", "r-3,"));
    run(9, "the name of a row");
    fs::create_dir(folder.path("elsewhere")).unwrap();
    for name in ["data.csv", "near.csv", "far.csv", "labels.csv"] {
        fs::rename(folder.path(name), folder.path(&format!("elsewhere/{name}"))).unwrap();
    }
    folder.succeeds("experiment run mine.toml --quiet --data elsewhere");
    assert_eq!(cells(&folder).len(), 9, "files count by what is in them, wherever they are");
}

#[test]
fn the_classes_of_the_data_count_by_their_names() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    folder.write("mine.toml", &plan("", &line("A", "")).replace("task = \"even,odd\"\n", "targets = \"t.csv\"\n"));
    folder.write("t.csv", "x,y\n1.1,-0.2\n");
    folder.succeeds("experiment run mine.toml --quiet");
    folder.write("data.csv", &table("odder"));
    folder.succeeds("experiment run mine.toml --quiet");
    assert_eq!(cells(&folder).len(), 2);
}

#[test]
fn a_file_that_changes_while_an_experiment_runs_is_noticed() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    folder.write("mine.toml", &plan("", &line("A", "")).replace("rounds = 2", "rounds = 400"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_homing"));
    command.current_dir(folder.path(".")).args([
        "experiment",
        "run",
        "mine.toml",
        "--quiet",
        "--seeds",
        "2",
        "--jobs",
        "1",
    ]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while !cells(&folder).iter().any(|cell| cell.join("plan.json").exists()) {
        thread::sleep(Duration::from_millis(5));
    }
    folder.write("data.csv", &table("odd").replace("r3,", "r-3,"));
    let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert!(
        said.contains("1 of 2 cells failed") && said.contains("have changed since the experiment started"),
        "{said}"
    );
}

/// The tests of the Python package run cells on a cluster. Here, Ray is missing.
#[cfg(unix)]
#[test]
fn a_cluster_that_cannot_run_cells_is_refused_before_anything_is_written() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    folder.write("mine.toml", &plan("", &line("A", "")));
    folder.refuses("experiment run gp-line --ray auto", &["gp-line has no cells", "leave --ray out"]);
    folder.refuses("experiment run defaults --ray auto", &["defaults has no cells", "leave --ray out"]);
    folder.refuses("experiment run mine.toml --ray auto --device cpu", &["--ray", "--device"]);
    for (python, words) in [
        ("/none/python", ["--ray needs Python, but /none/python cannot be started", "HOMING_PYTHON"]),
        ("/bin/true", ["the connection to the Ray cluster at auto has ended", "run the experiment again"]),
        ("/bin/echo", ["the program that speaks to Ray says \"-c", "HOMING_PYTHON"]),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_homing"));
        command.args(["experiment", "run", "mine.toml", "--ray", "auto"]).env("HOMING_PYTHON", python);
        let output = command.current_dir(folder.path(".")).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!output.status.success() && words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!folder.path("results").exists(), "{python}");
    }
}

#[test]
fn an_option_that_an_experiment_gives_itself_is_refused() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    for (option, remedy) in [
        ("against = \"random\"", "give each rule its own line"),
        ("seeds = 3", "at the top of the file"),
        ("seed = 3", "--seed"),
        ("run = \"x\"", "--out"),
        ("resume = \"x\"", "run the same experiment again"),
        ("quiet = true", "--quiet"),
        ("device = \"cpu\"", "--device"),
        ("cell = \"x\"", "leave it out"),
        ("help = true", "leave it out"),
    ] {
        let name = option.split(' ').next().unwrap();
        for text in [
            plan(option, &line("A", "")),
            plan("", &line("A", option)),
            plan("", &format!("[quick]\narguments = {{ {option} }}\n{}", line("A", ""))),
        ] {
            folder.write("mine.toml", &text);
            let said = ["mine.toml: ", &format!("\"{name}\""), "sets that option itself", remedy];
            folder.refuses("experiment run mine.toml", &said);
        }
    }
    // The name of one option cannot smuggle in another.
    for name in ["\"seeds=3\"", "\"\"", "\"-q\"", "\"rounds \"", "ROUNDS"] {
        folder.write("mine.toml", &plan("", &line("A", &format!("{name} = true"))));
        folder.refuses("experiment run mine.toml", &["mine.toml: ", "name an option of `homing finetune`"]);
    }
}

#[test]
fn an_experiment_with_a_billion_seeds_is_refused_and_does_not_abort() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    for seeds in ["1000000000", "9223372036854775807"] {
        folder.write("mine.toml", &plan("", &line("A", "")).replace("seeds = 1", &format!("seeds = {seeds}")));
        folder.refuses("experiment run mine.toml", &["mine.toml", &format!("seeds is {seeds}"), "from 1 to 10000"]);
    }
}

#[test]
fn what_is_out_of_range_or_there_twice_is_refused_under_the_name_of_the_file() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    let one = line("A", "");
    let text = plan("", &one);
    let claim = |rest: &str| format!("{text}\n[[claims]]\nsays = \"s\"\n{rest}\n");
    let two = plan("", &line("A", "noise-std = [1, 2]"));
    for (written, words) in [
        (text.replace("seeds = 1", "seeds = -1"), &["line 3", "-1"][..]),
        (text.replace("seeds = 1", "seeds = 1.5"), &["line 3"]),
        (
            text.replace("seeds = 1", "seeds = 6000") + &line("B", ""),
            &["6000 seeds of 2 series", "more than 10000 runs"],
        ),
        (text.replace("seeds = 1", "seeds = 1\nseeds = 2"), &["line 4", "duplicate key"]),
        (text.replace("rounds = 2", "rounds = -2"), &["rounds = -2", "from 1 to"]),
        (text.replace("rounds = 2", "rounds = \"2\""), &["rounds = 2", "from 1 to"]),
        (text.replace("rounds = 2", "rounds = 9000000000000"), &["from 1 to 1000000"]),
        (text.replace("rounds = 2", ""), &["rounds = NUMBER is missing"]),
        (plan("noise-std = nan", &one), &["finite"]),
        (plan("noise-std = [1, 2]", &one), &["only a line may have a list"]),
        (plan("noise-std = { a = 1 }", &one), &["a text, a number"]),
        (plan("noise-std = 1979-05-27", &one), &["a text, a number"]),
        (plan("ask = true", &one), &["nobody is asked"]),
        (plan("weights = \"none.safetensors\"", &one), &["\"none.safetensors\"", "--data"]),
        (plan("", &line("A", "noise-std = []")), &["at least one value"]),
        (plan("", &line("A", "noise-std = [1, 1]")), &["there are two series \"A, 1\""]),
        (plan("", &line("", "")), &["empty name"]),
        (plan("", &line("A\\u001b[31m", "")), &["control character"]),
        (plan("", &line("A", "paper = [[1, 2], [3, 4]]")), &["2 results of the paper for 1 series"]),
        (plan("", &line("A", "paper = [[nan, 2]]")), &["not finite"]),
        (claim("same = [\"A\", \"A\"]"), &["with itself"]),
        (claim("higher = \"A\"\nlower = [\"A\"]"), &["with itself"]),
        (format!("{two}\n[[claims]]\nsays = \"s\"\nsame = [\"A, 1\", \"A, 2\"]\nwithin = nan\n"), &["within"]),
        (format!("{text}\n[quick]\nseeds = 0\n"), &["seeds is 0"]),
        (plan("epochs = 3", &one), &["duplicate key"]),
        (plan("\"\\u001b[2J\" = 1", &one), &["is not the name of an argument"]),
        ("\u{feff}title".to_owned(), &["line 1"]),
        (format!("title = {}", "[".repeat(100_000)), &["line 1"]),
        ("#".repeat(2 << 20), &["mine.toml"]),
    ] {
        folder.write("mine.toml", &written);
        folder.refuses("experiment run mine.toml", &[&["mine.toml"], words].concat());
    }
    folder.write("mine.toml", &text);
    folder.refuses("experiment run mine.toml --seed 4294967295 --seeds 2", &["mine.toml", "exceed the largest seed"]);
    folder.refuses("experiment run mine.toml --seeds 18446744073709551615", &["--seeds"]);
    folder.refuses("experiment run mine.toml --rounds 18446744073709551615", &["--rounds"]);
    folder.refuses("experiment run mine.toml --jobs 100000", &["--jobs"]);
    fs::write(folder.path("mine.toml"), b"title = \"\xff\"").unwrap();
    folder.refuses("experiment run mine.toml", &["mine.toml: it is not UTF-8"]);
}

/// A line with a mistake that only its own process could find.
#[test]
fn every_line_is_checked_before_anything_is_run() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    folder.write("bad.csv", "x,label\n1,even\n");
    for (arguments, word) in [
        ("targets = \"bad.csv\"", "bad.csv"),
        ("target-count = 1000", "the number of targets, 1000"),
        ("picks-per-round = 0", "the number of picks per round is 0"),
        ("model = \"mlp:x\"", "mlp"),
        ("thin-pool = \"none:0.5\"", "none"),
    ] {
        folder.write("mine.toml", &plan("", &(line("A", "") + &line("B", arguments))));
        folder.refuses("experiment run mine.toml", &["mine.toml, B, seed 0", word]);
        assert!(!folder.path("results").exists(), "{arguments}");
    }
}

#[test]
fn results_are_not_written_over_what_they_are_made_from() {
    let folder = Folder::new();
    folder.write("mine.csv", &table("odd"));
    folder.write("mine.toml", &plan("", &line("A", "")).replace("data.csv", "mine.csv"));
    folder.refuses("experiment run mine.toml --out .", &["mine.csv is an input and would be overwritten"]);
    fs::create_dir(folder.path("train")).unwrap();
    folder.write("train/train.csv", &table("odd"));
    folder.write("mine.toml", &plan("", &line("A", "")).replace("data.csv", "train"));
    folder.refuses("experiment run mine.toml --out train/results", &["lies in"]);
    // A table that the experiment did not write is not replaced.
    fs::create_dir(folder.path("results")).unwrap();
    folder.write("results/mine.csv", "my,notes\n1,2\n");
    let said = String::from_utf8(folder.homing("experiment run mine.toml --quiet").stderr).unwrap();
    assert!(said.contains("results/mine.csv exists and is not a table of results"), "{said}");
    assert_eq!(fs::read_to_string(folder.path("results/mine.csv")).unwrap(), "my,notes\n1,2\n");
}

#[test]
fn a_table_that_no_experiment_has_written_is_refused() {
    let folder = Folder::new();
    folder.write("mine.toml", &plan("", &line("A", "")));
    fs::create_dir(folder.path("results")).unwrap();
    let head = "line,value,seed,round,picks,accuracy,task_share,choosing_seconds,learning_seconds\n";
    for (rows, word) in [
        ("A,,0,1,1,NaN,,,\n", "row 0 of results/mine.csv"),
        ("A,,0,1,1,0.5,,,\nA,,1,1,1,inf,,,\n", "row 1"),
        ("A,,0,1,1,0.5,-1,,\n", "between 0 and 1"),
        ("A,,0,0,1,0.5,,,\n", "round"),
        ("A,,0,18446744073709551615,1,0.5,,,\n", "round"),
        ("A,,0,1,1,0.5,,inf,\n", "seconds"),
        ("A,,0,1,1,0.5,,,\nA,,0,1,1,0.5,,,\n", "the same round"),
        ("A,,0,1,x,0.5,,,\n", "cannot be read as results"),
        ("A,,0,1\n", "cannot be read as results"),
    ] {
        folder.write("results/mine.csv", &format!("{head}{rows}"));
        for command in ["plot", "compare"] {
            folder.refuses(&format!("experiment {command} mine.toml"), &["results/mine.csv", word]);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_does_not_hang() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    let pipe = |path: &Path| {
        let _ = fs::remove_file(path);
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    pipe(&folder.path("pipe.toml"));
    folder.refuses("experiment run pipe.toml", &["pipe.toml is not a regular file"]);
    folder.write("mine.toml", &plan("", &line("A", "")));
    fs::create_dir(folder.path("results")).unwrap();
    pipe(&folder.path("results/mine.csv"));
    folder.refuses("experiment compare mine.toml", &["results/mine.csv"]);
    for option in ["weights", "targets", "labels"] {
        pipe(&folder.path("pipe.csv"));
        folder.write("other.toml", &plan("", &line("A", &format!("{option} = \"pipe.csv\""))));
        folder.refuses("experiment run other.toml", &["other.toml"]);
    }
}

#[cfg(unix)]
#[test]
fn an_experiment_writes_through_no_link_and_waits_for_no_pipe() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    folder.write("mine.toml", &plan("", &line("A", "")));
    folder.write("victim.txt", "precious");
    let cells_of = |folder: &Folder| folder.path("results/cells");
    let refused = |folder: &Folder, word: &str| {
        let output = folder.homing("experiment run mine.toml --quiet");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(word) && said.contains("remove it"), "{said}");
        assert_eq!(fs::read_to_string(folder.path("victim.txt")).unwrap(), "precious");
    };
    folder.succeeds("experiment run mine.toml --quiet");
    let lock = cells_of(&folder).join(".lock");
    fs::remove_file(&lock).unwrap();
    symlink(folder.path("victim.txt"), &lock).unwrap();
    refused(&folder, ".lock is not a regular file");
    fs::remove_file(&lock).unwrap();
    assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success());
    refused(&folder, ".lock is not a regular file");
    fs::remove_file(&lock).unwrap();
    let cell = cells(&folder).remove(0);
    fs::remove_dir_all(&cell).unwrap();
    symlink(folder.path("victim.txt"), cell.with_extension("log")).unwrap();
    refused(&folder, "is not a regular file");
    fs::remove_file(cell.with_extension("log")).unwrap();
    fs::create_dir(folder.path("other")).unwrap();
    symlink(folder.path("other"), &cell).unwrap();
    refused(&folder, "is not a regular file");
    assert_eq!(fs::read_dir(folder.path("other")).unwrap().count(), 0);
    fs::remove_file(&cell).unwrap();
    folder.succeeds("experiment run mine.toml --quiet");
    fs::remove_file(folder.path("results/mine.svg")).unwrap();
    symlink("../mine.toml", folder.path("results/mine.svg")).unwrap();
    folder.refuses("experiment plot mine.toml", &["is an input and would be overwritten"]);
}

#[test]
fn results_of_a_cell_that_no_run_has_written_are_refused() {
    let folder = Folder::new();
    folder.write("data.csv", &table("odd"));
    folder.write("mine.toml", &plan("", &line("A", "")));
    folder.succeeds("experiment run mine.toml --quiet");
    let results = cells(&folder).remove(0).join("results.csv");
    let text = fs::read_to_string(&results).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    let accuracy = rows[1].split(',').nth(4).unwrap();
    for changed in [
        text.replacen(&format!(",{accuracy},"), ",7,", 1),
        text.replacen(&format!(",{accuracy},"), ",NaN,", 1),
        [rows[0], rows[2]].join("\n"),
    ] {
        fs::write(&results, changed).unwrap();
        let output = folder.homing("experiment run mine.toml --quiet");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains("was not written by a run"), "{said}");
    }
}
