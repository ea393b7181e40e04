//! Runs `homing explain` as a process.

mod folder;

use folder::Folder;
use homing::{Linear, Posterior};
use homing_pool::{Pool, ReadOptions};
use serde_json::Value;

fn folder() -> Folder {
    let folder = Folder::new();
    let row = |i: u32| {
        let t = f64::from(i);
        format!("doc-{i},{},{},{}", (t * 0.7).sin(), (t * 1.3).cos(), (t * 2.1).sin())
    };
    let rows: Vec<String> = (0..40).map(row).collect();
    folder.write("pool.csv", &format!("id,x,y,z\n{}\n", rows.join("\n")));
    folder.write("targets.csv", "id,x,y,z\nfirst,0.9,0.1,0.2\nsecond,-0.1,0.8,0.3\n");
    folder.write("picks.txt", "3\n17\n20\n8\n31\n");
    folder
}

/// The rows are picks, and by the posterior's formula their labels leave the variance that is printed.
#[test]
fn the_rows_carry_what_they_are_said_to() {
    let folder = folder();
    let said = folder
        .succeeds("explain pool.csv --targets targets.csv --picks picks.txt --noise-std 0.3 --share 0.8 --format json");
    let json: Value = serde_json::from_str(&said).unwrap();
    let open = |name: &str| Pool::open(&folder.path(name), &ReadOptions::default()).unwrap();
    let (pool, targets) = (open("pool.csv"), open("targets.csv"));
    let left = |rows: &[usize], target: usize| {
        let points: Vec<f64> = rows.iter().flat_map(|&row| pool.embeddings().row(row)).collect();
        let view = homing::Embeddings::new(&points[..], 3).unwrap().into();
        let noise = vec![0.09; rows.len()];
        Posterior::new(&Linear, view, &vec![0.0; rows.len()], &noise).unwrap().var(&targets.embeddings().row(target))
    };
    let picks = [3, 8, 17, 20, 31];
    for (i, target) in json.as_array().unwrap().iter().enumerate() {
        assert_eq!(target["index"], i);
        assert_eq!(target["id"], ["first", "second"][i]);
        let all = target["posterior_var"].as_f64().unwrap();
        assert!((all - left(&picks, i)).abs() < 1e-9);
        let rows: Vec<usize> =
            target["rows"].as_array().unwrap().iter().map(|row| row["index"].as_u64().unwrap() as usize).collect();
        assert!(rows.iter().all(|row| picks.contains(row)) && !rows.is_empty());
        let prior = target["prior_var"].as_f64().unwrap();
        let removed: f64 =
            target["rows"].as_array().unwrap().iter().map(|row| row["variance_removed"].as_f64().unwrap()).sum();
        assert!((prior - removed - left(&rows, i)).abs() < 1e-9);
        assert!(removed >= 0.8 * (prior - all) - 1e-9, "the share asked for");
        for skipped in 0..rows.len() {
            let mut fewer = rows.clone();
            fewer.remove(skipped);
            let kept = if fewer.is_empty() { prior } else { left(&fewer, i) };
            assert!(prior - kept < 0.8 * (prior - all), "every row is needed");
        }
    }
}

#[test]
fn a_table_for_some_targets_and_for_the_whole_pool() {
    let folder = folder();
    let all = folder.succeeds("explain pool.csv --targets targets.csv");
    assert!(
        all.contains("first") && all.contains("second") && all.contains("doc-") && all.contains("Definition D.3"),
        "{all}"
    );
    for name in ["second", "1"] {
        let one = folder.succeeds(&format!("explain pool.csv --targets targets.csv --target {name} --picks picks.txt"));
        assert!(one.contains("second") && !one.contains("first"), "{one}");
    }
    folder.write("targets.csv", "x,y,z\n0,0,0\n");
    assert!(folder.succeeds("explain pool.csv --targets targets.csv").contains("nothing is known"));
}

#[test]
fn bad_input_gets_one_sentence() {
    let folder = folder();
    let refuses =
        |more: &str, words: &[&str]| folder.refuses(&format!("explain pool.csv --targets targets.csv {more}"), words);
    refuses("--share 0", &["--share", "above 0"]);
    refuses("--share nan", &["--share"]);
    refuses("--max-rows 0", &["--max-rows", "at least 1"]);
    refuses("--target third", &["third", "2 targets"]);
    refuses("--target 2", &["2 targets"]);
    folder.write("far.txt", "99\n");
    refuses("--picks far.txt", &["99", "40"]);
    folder.write("none.txt", "\n");
    refuses("--picks none.txt", &["no rows"]);
    refuses("--kernel cubic", &["cubic"]);
    refuses("--noise-std -1", &["noise"]);
    folder.refuses("explain pool.csv", &["--targets"]);
}
