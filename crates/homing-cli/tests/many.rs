//! Pools in several files: every command gives the same results as for one file with the same rows.

mod folder;
#[path = "../../homing-pool/tests/npy/mod.rs"]
mod npy;

use std::fmt::Write;
use std::fs;

use folder::{Folder, table};
use npy::npy;

/// Numbers of rows per file, among them files without rows and with one row. Of the first three, no file has all rows of a group.
const SPLITS: [&[usize]; 4] = [&[1, 39], &[17, 0, 23], &[5, 9, 1, 0, 8, 7, 9, 1], &[40]];

/// Writes the lines of a table to `name.csv`, and in parts to the folder `name`.
fn write_parts(folder: &Folder, name: &str, counts: &[usize], header: &str, line: impl Fn(usize) -> String) {
    let rows: usize = counts.iter().sum();
    folder.write(&format!("{name}.csv"), &format!("{header}{}", table(rows, &line)));
    let _ = fs::remove_dir_all(folder.path(name));
    fs::create_dir(folder.path(name)).unwrap();
    let mut start = 0;
    for (number, count) in counts.iter().enumerate() {
        let lines = table(*count, |row| line(start + row));
        folder.write(&format!("{name}/part-{number}.csv"), &format!("{header}{lines}"));
        start += count;
    }
}

/// Returns a folder with a pool of 40 rows in one table and in parts. Rows 20 apart have the same numbers.
fn tables(counts: &[usize]) -> Folder {
    let folder = Folder::new();
    write_parts(&folder, "many", counts, "id,text,source,cost,x,y,z\n", |i| {
        let t = (i % 20) as f64;
        let source = ["web", "books", "chat"][i % 3];
        let (x, y, z) = ((t * 0.7).sin(), (t * 1.3).cos(), (t * 2.1).sin());
        format!("doc-{i},about {i},{source},{},{x},{y},{z}\n", 1 + i % 4)
    });
    folder
}

#[test]
fn tables_in_files_give_the_same_bytes_as_one_table_with_every_option() {
    let roles = "--group-column source --cost-column cost";
    for counts in SPLITS {
        let folder = tables(counts);
        folder.write("known.txt", "id\ndoc-3\ndoc-21\n");
        folder.write("kept.txt", "index\n4\n39\n");
        let rules = homing::STRATEGIES.iter().map(|entry| entry.name.parse::<homing::Strategy>().unwrap());
        let rules = rules.filter(|rule| !rule.needs_probabilities()).map(|rule| format!("--rule {}", rule.name()));
        let options = [
            "--observed known.txt --forbid kept.txt",
            "--observed targets.csv",
            "--quota 2 --quota web=1",
            "--budget 9",
            "--columns all",
            "--center --normalize --kernel linear",
            "--greedy stochastic:0.5",
            "--greedy partitioned:3",
        ];
        for options in rules.chain(options.map(str::to_owned)) {
            let select = |pool: &str| {
                folder.succeeds(&format!("select {pool} --targets targets.csv -n 6 --out - --quiet {roles} {options}"))
            };
            let one = select("many.csv");
            assert!(one.lines().count() > 2, "{options}");
            for pool in ["many", "many/*.csv"] {
                assert_eq!(select(pool), one, "{pool} {counts:?} {options}");
            }
        }
        folder.succeeds(&format!("select many.csv --targets targets.csv -n 5 --out picks.csv --quiet {roles}"));
        folder.write("aim.csv", "cost,x,y,z\n1,0.9,0.1,0.2\n2,-0.1,0.8,0.3\n");
        for command in ["diagnose many", "explain many"] {
            let answer = |pool: &str| {
                let command = command.replace("many", pool);
                folder.succeeds(&format!(
                    "{command} --targets aim.csv --picks picks.csv --format json --label-column source"
                ))
            };
            assert_eq!(answer("many"), answer("many.csv"), "{command} {counts:?}");
        }
        // Labelled rows may be in several files, too.
        let known = |observed: &str| {
            folder.succeeds(&format!(
                "select pool.csv --targets targets.csv -n 3 --out - --quiet --cost-column cost --observed {observed}"
            ))
        };
        write_parts(&folder, "seen", &[2, 0, 1], "x,y,z\n", |i| format!("0.{i},1.5,0.25\n"));
        assert_eq!(known("seen/*.csv"), known("seen.csv"));
        folder.write("seen/index-0.txt", "index\n3\n");
        folder.write("seen/index-1.txt", "index\n9\n21\n");
        folder.write("indices.txt", "index\n3\n9\n21\n");
        assert_eq!(known("seen/index-*.txt"), known("indices.txt"));
    }
}

#[test]
fn arrays_in_files_give_the_same_bytes_mapped_and_read() {
    for counts in SPLITS {
        let folder = Folder::new();
        let dim = 8;
        let number = |i: usize| (((i % 160 * 2_654_435_761) % 1_000_003) as f32 / 500_001.5 - 1.0).to_le_bytes();
        let bytes =
            |rows: std::ops::Range<usize>| (rows.start * dim..rows.end * dim).flat_map(number).collect::<Vec<u8>>();
        let write = |name: &str, rows: std::ops::Range<usize>| {
            fs::write(folder.path(name), npy("<f4", false, &format!("({}, {dim})", rows.len()), &bytes(rows))).unwrap();
        };
        write("one.npy", 0..40);
        write("targets.npy", 41..44);
        fs::create_dir(folder.path("parts")).unwrap();
        let (mut start, mut list) = (0, String::new());
        for (number, count) in counts.iter().enumerate() {
            write(&format!("parts/{number}.npy"), start..start + count);
            writeln!(list, "parts/{number}.npy").unwrap();
            start += count;
        }
        folder.write("parts.list", &list);
        for options in
            ["", "--rule vtl --noise-std 0.5", "--rule ctl", "--rule k-means++", "--rule cosine", "--kernel laplace:1"]
        {
            let select = |pool: &str, access: &str| {
                folder.succeeds(&format!(
                    "select {pool} --targets targets.npy -n 7 --out - --quiet --pool-access {access} {options}"
                ))
            };
            let one = select("one.npy", "map");
            for (pool, access) in [("parts", "auto"), ("parts/*.npy", "map"), ("parts.list", "read")] {
                assert_eq!(select(pool, access), one, "{pool} {access} {counts:?} {options}");
            }
        }
    }
}

#[test]
fn what_was_read_is_said_and_rows_are_known_by_their_files() {
    let folder = tables(&[17, 0, 23]);
    folder.write("many/notes.md", "x");
    let output = folder.homing("select many --targets targets.csv -n 3 --cost-column cost --report page.html --columns file,row,text --out picks.csv");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("many: read 3 files with 40 rows; 'notes.md' lies there too and was not read."), "{said}");
    assert!(fs::read_to_string(folder.path("page.html")).unwrap().contains("many (number of files: 3)"));
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    for line in picks.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let index: usize = fields[1].parse().unwrap();
        let place = if index < 17 { ("many/part-0.csv", index) } else { ("many/part-2.csv", index - 17) };
        assert_eq!((fields[6], fields[7]), (place.0, &*place.1.to_string()), "{line}");
        assert_eq!(fields[8], format!("about {index}"));
    }
    // Without ids, rows are shown by file and number.
    for (name, rows) in [("a", "1,2.5\n3,4.5\n"), ("b", "5,6.5\n")] {
        folder.write(&format!("many/{name}.csv"), &format!("x,y\n{rows}"));
    }
    folder.write("aim.csv", "x,y\n5,6\n");
    let shown = folder.succeeds("select many/[ab].csv --targets aim.csv -n 3 --quiet");
    for place in ["a.csv:0", "a.csv:1", "b.csv:0"] {
        assert!(shown.contains(place), "{shown}");
    }
}

#[test]
fn files_that_are_no_pool_and_bad_rows_are_refused_by_name() {
    let folder = tables(&[17, 0, 23]);
    folder.write("bad.csv", "id,text,source,cost,x,y,z\nu,v,web,1,1,2,3\nw,v,web,1,1,nan,3\n");
    fs::copy(folder.path("bad.csv"), folder.path("many/part-3.csv")).unwrap();
    let rest = "--targets targets.csv --cost-column cost";
    let place = "row 1 of many/part-3.csv: row 41 of the pool holds a value that is not finite";
    folder.refuses(&format!("select many {rest} -n 3"), &[place]);
    folder.refuses(&format!("select many {rest} -n 3 --noise-std 1"), &[place]);
    folder.refuses("diagnose many --targets targets.csv --values cost", &[place]);
    folder.refuses(&format!("select many/*.npy {rest} -n 3"), &["no file matches many/*.npy; check the pattern"]);
    folder
        .refuses(&format!("select many/*.csv {rest} -n 3 --out many/part-9.csv"), &["many/part-9.csv", "is an input"]);
    folder.refuses(
        &format!("select many/*.csv {rest} -n 3 --out many/part-0.csv"),
        &["is an input and would be overwritten"],
    );
    folder.refuses(&format!("select many {rest} -n 3 --report many/page"), &["many/page.html lies in many"]);
    folder.refuses(
        &format!("select many/part-0.csv many/part-1.csv {rest} -n 3"),
        &["'many/part-1.csv'", "put the pattern in quotes"],
    );
    folder.write("many/part-4.npy", "x");
    folder.refuses(&format!("select many {rest} -n 3"), &["several formats (.csv, .npy)"]);
}

#[test]
fn lines_of_text_in_several_files_are_embedded_together() {
    let folder = Folder::new();
    let line =
        |i: usize| format!("{} number {i}\n", ["a parcel is lost", "reset my password", "the app crashes"][i % 3]);
    folder.write("one.txt", &table(12, line));
    fs::create_dir(folder.path("texts")).unwrap();
    folder.write("texts/a.txt", &table(5, line));
    folder.write("texts/b.txt", &table(7, |i| line(5 + i)));
    folder.write("texts.list", "texts/a.txt\ntexts/b.txt\n");
    folder.write("aim.txt", "my parcel is lost\n");
    let select = |pool: &str| folder.succeeds(&format!("select {pool} --targets aim.txt -n 4 --out - --quiet"));
    assert_eq!(select("texts/*.txt"), select("one.txt"));
    assert_eq!(select("texts.list"), select("one.txt"));
    write_parts(&folder, "rows", &[5, 0, 7], "id,text\n", |i| format!("{i},{}", line(i)));
    assert_eq!(select("rows"), select("rows.csv"));
}

#[test]
#[cfg(feature = "label")]
fn a_pool_in_files_is_labelled_in_the_same_order() {
    let folder = tables(&[17, 0, 23]);
    folder.write("aim.csv", "cost,x,y,z\n1,0.9,0.1,0.2\n2,-0.1,0.8,0.3\n");
    folder
        .write("answers.csv", &format!("id,label\n{}", table(40, |i| format!("doc-{i},{}\n", ["a", "b"][i % 20 % 2]))));
    let answers = |pool: &str, run: &str| {
        folder.succeeds(&format!("label {pool} --targets aim.csv --run {run} --simulate answers.csv -n 12"));
        let events = fs::read_to_string(folder.path(&format!("{run}/events.jsonl"))).unwrap();
        let field = |event: &serde_json::Value, name: &str| event[name].to_string();
        let events = events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        events.map(|event| (field(&event, "id"), field(&event, "row"), field(&event, "label"))).collect::<Vec<_>>()
    };
    let one = answers("many.csv", "one");
    assert_eq!(one.len(), 12);
    assert_eq!(answers("many", "folder"), one);
    assert_eq!(answers("many/*.csv", "pattern"), one);
}
