//! Texts and other columns of the pool in what the command writes and prints.

mod folder;

use std::fs;

use folder::Folder;
use serde_json::Value;

const SELECT: &str = "select pool.csv --targets targets.csv -n 3";
const SELECT_ALL: &str = "select pool.csv --targets targets.csv -n 5";
const SELECT_ONE: &str = "select pool.csv --targets targets.csv -n 1";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write(
        "pool.csv",
        "id,text,source,x,y,z\n\
         t1,need new tires,web,0.93,0.30,0.05\n\
         t2,\"the tyre, it is \"\"flat\"\"\nplease help\",web,0.92,0.31,0.06\n\
         t3,\u{1b}[31mred <script>alert(1)</script>,chat,0.80,0.05,0.55\n\
         t4,,chat,0.35,0.90,0.10\n\
         t5,change my oil,books,0.75,0.60,0.05\n",
    );
    folder.write("targets.csv", "text,x,y,z\nmy tyre is flat,0.90,0.35,0.15\n<b>oil</b>,0.70,0.65,0.10\n");
    folder
}

#[test]
fn picks_carry_the_text_by_default_and_stay_the_same_picks() {
    let folder = folder();
    let with = folder.succeeds(&format!("{SELECT} --out - -q"));
    let without = folder.succeeds(&format!("{SELECT} --out - -q --columns none"));
    assert!(with.starts_with("rank,index,id,score,information,variance_left,text\n"), "{with}");
    assert!(without.starts_with("rank,index,id,score,information,variance_left\n"), "{without}");
    let own = |csv: &str| -> Vec<String> {
        let mut reader = csv_reader(csv);
        reader.drain(1..).map(|record| record[..6].join(",")).collect()
    };
    assert_eq!(own(&with), own(&without));
    assert!(with.contains("change my oil"));
}

/// Returns the records of a text table, of which texts in quotes may have several lines.
fn csv_reader(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c => field.push(c),
        }
    }
    records
}

#[test]
fn chosen_columns_go_to_every_format_and_come_back_as_observed() {
    let folder = folder();
    let mut next = Vec::new();
    for (columns, name) in [("none", "a.csv"), ("all", "b.csv"), ("all", "c.jsonl"), ("text,source", "d.parquet")] {
        folder.succeeds(&format!("{SELECT} --out {name} --columns {columns} -q"));
        next.push(folder.succeeds(&format!("{SELECT_ONE} --observed {name} --out - -q --columns none")));
    }
    assert!(next.iter().all(|picks| *picks == next[0]), "{next:?}");
    let lines = fs::read_to_string(folder.path("c.jsonl")).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(first["source"].is_string() && first["text"].is_string() && first.get("x").is_none(), "{first}");
}

#[test]
fn columns_that_cannot_be_carried_are_refused() {
    let folder = folder();
    folder.write("bare.csv", "0.5,1.5,2.5\n2.5,3.5,0.5\n");
    folder.write("aims.csv", "0.5,1.5,2.5\n");
    folder.refuses(&format!("{SELECT} --out p.csv --columns txt"), &["no column 'txt'", "did you mean 'text'?"]);
    folder.refuses(&format!("{SELECT} --columns text"), &["--columns", "--out FILE"]);
    folder.refuses(&format!("{SELECT} --out p.npy --columns all"), &["indices", "write .csv, .jsonl or .parquet"]);
    folder.refuses(&format!("{SELECT} --out p.csv --text-column z1"), &["no column 'z1'"]);
    folder.refuses(
        "select bare.csv --targets aims.csv -n 1 --out p.csv --columns all",
        &["has no named columns", ".parquet, .csv or .jsonl", "leave `--columns` out"],
    );
    folder.succeeds("select bare.csv --targets aims.csv -n 1 --out p.csv");
    folder.succeeds(&format!("{SELECT} --out p.npy"));
}

#[test]
fn the_table_shows_texts_in_one_line_without_control_characters() {
    let folder = folder();
    let table = folder.succeeds(SELECT_ALL);
    assert!(table.lines().next().unwrap().trim_end().ends_with("text"), "{table}");
    assert!(table.contains("need new tires") && table.contains("the tyre, it is \"flat\" please help"), "{table}");
    assert!(table.contains("\\u{1b}[31mred") && !table.contains('\u{1b}'), "{table}");
    assert_eq!(table.lines().count(), 6, "a blank text takes one line, too: {table}");
    let named = folder.succeeds(&format!("{SELECT} --text-column source"));
    assert!(named.contains("books") && !named.contains("change my oil"), "{named}");
}

#[test]
fn the_last_lines_say_where_every_output_is() {
    let folder = folder();
    let said = |arguments: &str| {
        let output = folder.homing(&format!("{SELECT} {arguments}"));
        String::from_utf8(output.stderr).unwrap().lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(said("--out p.csv --report r"), "The picks are in p.csv, and the report is in r.html.");
    assert!(folder.path("r.html").exists() && !folder.path("r").exists());
    assert_eq!(said("--out p.csv"), "The picks are in p.csv.");
    assert_eq!(said("--report page.htm"), "The report is in page.htm.");
    assert_eq!(said("--report r -q"), "");
    folder.refuses(&format!("{SELECT} --report /dev/null"), &["/dev/null cannot be written"]);
    folder.write("taken.html", "");
    folder.refuses(&format!("{SELECT} --out taken.html --report taken"), &["taken.html"]);
}

#[test]
fn the_report_names_targets_by_their_texts_and_escapes_them() {
    let folder = folder();
    folder.succeeds(&format!("{SELECT_ALL} --report r.html -q"));
    let page = fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains("my tyre is flat") && page.contains(">need new tires</b>"));
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>alert"));
    assert!(page.contains("&lt;b&gt;oil&lt;&#x2f;b&gt;") && !page.contains("<b>oil</b>"));
    assert!(!page.contains("<span class=\"target\">"), "no target is shown as a bare number");
    folder.succeeds(&format!("{SELECT} --out picks.csv -q"));
    folder.succeeds("diagnose pool.csv --targets targets.csv --picks picks.csv --report d -q");
    assert!(fs::read_to_string(folder.path("d.html")).unwrap().contains("my tyre is flat"));
}

#[test]
fn explain_and_diagnose_show_texts() {
    let folder = folder();
    folder.succeeds(&format!("{SELECT} --out picks.csv -q"));
    let shown = folder.succeeds("explain pool.csv --targets targets.csv --picks picks.csv");
    assert!(shown.contains("0 \"my tyre is flat\"") && shown.contains("t5 \"change my oil\""), "{shown}");
    let json = folder.succeeds("explain pool.csv --targets targets.csv --picks picks.csv --format json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["text"], "my tyre is flat");
    assert!(json[0]["rows"][0]["text"].is_string());
    let shown = folder.succeeds("diagnose pool.csv --targets targets.csv --picks picks.csv");
    assert!(shown.contains("1 \"<b>oil</b>\""), "{shown}");
    let json = folder.succeeds("diagnose pool.csv --targets targets.csv --format json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["targets"][0]["text"], "my tyre is flat");
}
