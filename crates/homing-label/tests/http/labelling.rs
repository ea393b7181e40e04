//! A person, or several, at work.

use std::collections::HashSet;
use std::io::{Read, Write};

use homing_label::{Event, Session, read_events};
use serde_json::{Value, json};

use crate::client::{Served, classes, images, table, texts};

fn label(served: &Served, id: &str, label: &str) -> Value {
    let response = served.post("/api/labels", &json!({"id": id, "label": label, "annotator": "ada"}));
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

#[test]
fn items_say_what_they_are_and_why() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(60));
    let next = served.get("/api/next?count=5").json();
    let items = next["items"].as_array().unwrap();
    assert_eq!(items.len(), 5);
    for (place, item) in items.iter().enumerate() {
        assert_eq!(item["rank"], place + 1);
        assert!(item["information"].as_f64().unwrap() > 0.0);
        assert!(item["why"]["sentence"].as_str().unwrap().contains("variance"));
        assert!(item["text"].as_str().unwrap().starts_with("text "));
        let shares: f64 =
            item["why"]["serves"].as_array().unwrap().iter().map(|one| one["share"].as_f64().unwrap()).sum();
        assert!(shares > 0.999 && shares < 1.001, "three targets share the whole effect");
    }
    let gains: Vec<f64> = items.iter().map(|item| item["information"].as_f64().unwrap()).collect();
    assert!(gains[0] > gains[4], "{gains:?}");
}

#[test]
fn a_label_leads_to_the_second_pick_and_undo_back_to_the_first() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(60));
    let items = served.get("/api/next?count=2").json();
    let [first, second] = [0, 1].map(|at| items["items"][at]["id"].as_str().unwrap().to_owned());
    let saved = label(&served, &first, "a");
    assert_eq!((&saved["seq"], &saved["repeated"]), (&json!(1), &json!(false)));
    assert_eq!(label(&served, &first, "a")["repeated"], true);
    assert_eq!(served.next_id(), second);
    let undo = json!({"annotator": "ada"});
    assert_eq!(served.post("/api/undo", &undo).status, 200);
    assert_eq!(served.next_id(), first);
    assert_eq!(served.post("/api/redo", &undo).status, 200);
    assert_eq!(served.next_id(), second);
    let skipped = served.post("/api/skip", &json!({"id": second, "next": 1})).json();
    assert_ne!(skipped["next"]["items"][0]["id"], json!(second));
    assert_eq!(served.post("/api/exclude", &json!({"id": "row-7"})).status, 200);
    assert_eq!(served.post("/api/unsure", &json!({"id": "row-8"})).status, 200);
    let state = served.get("/api/state?annotator=ada").json();
    let counts = json!({"labelled": 1, "excluded": 1, "unsure": 1, "skipped": 1, "disputed": 0});
    assert_eq!(state["counts"], counts);
    assert_eq!(state["classes"], json!([{"name": "a", "count": 1}, {"name": "b", "count": 0}]));
    assert_eq!(state["history"].as_array().unwrap().len(), 4);
}

#[test]
fn the_picks_are_those_of_select_and_survive_a_restart() {
    let run = tempfile::tempdir().unwrap();
    let data = texts(60);
    let task = data.task().unwrap();
    let plan = homing::Plan::default().count(8);
    let expected: Vec<String> =
        homing::select(&task, &plan).unwrap().rows().iter().map(|row| format!("row-{row}")).collect();
    for part in expected.chunks(3) {
        let served = Served::start(run.path(), texts(60));
        for id in part {
            assert_eq!(served.next_id(), *id);
            label(&served, id, "b");
        }
        let refused = Session::open(run.path(), texts(60), &classes(), &"itl".parse().unwrap());
        assert!(refused.err().unwrap().to_string().contains("another process"));
    }
    let other = Session::open(run.path(), texts(61), &classes(), &"itl".parse().unwrap());
    assert!(other.err().unwrap().to_string().contains("was started with"), "a run belongs to its pool");
}

#[test]
fn twenty_annotators_at_once_lose_nothing() {
    const EACH: usize = 10;
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(400));
    std::thread::scope(|scope| {
        for person in 0..20 {
            let served = &served;
            scope.spawn(move || {
                let name = format!("person-{person}");
                let mut id = None;
                for _ in 0..EACH {
                    let item = match id.take() {
                        Some(id) => id,
                        None => served.get(&format!("/api/next?annotator={name}")).json()["items"][0]["id"].clone(),
                    };
                    let body = json!({"id": item, "label": "a", "annotator": name, "next": 1});
                    let response = served.post("/api/labels", &body);
                    assert_eq!(response.status, 200);
                    id = response.json()["next"]["items"].get(0).map(|item| item["id"].clone());
                }
            });
        }
    });
    let state = served.get("/api/state").json();
    assert_eq!(state["counts"]["labelled"], 20 * EACH);
    assert_eq!(state["counts"]["disputed"], 0);
    drop(served);
    let events = read_events(run.path()).unwrap();
    let labelled: Vec<&String> = events
        .iter()
        .filter_map(|record| match &record.event {
            Event::Label { ids, .. } => ids.first(),
            _ => None,
        })
        .collect();
    assert_eq!(labelled.len(), 20 * EACH);
    assert_eq!(labelled.iter().collect::<HashSet<_>>().len(), 20 * EACH, "nobody was asked for the same example");
}

#[test]
fn exports_hold_every_answer_and_label_studio_reads_back() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(60));
    label(&served, "row-3", "a");
    label(&served, "row-5", "b");
    served.post("/api/labels", &json!({"id": "row-5", "label": "a", "annotator": "bob"}));
    served.post("/api/exclude", &json!({"id": "row-9"}));
    let csv = served.get("/api/export?format=csv").text();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with("rank,row,id,label,answer,annotators,agreement"));
    assert!(lines[2].starts_with("2,5,row-5,b,label,ada;bob,0.5"), "{}", lines[2]);
    assert!(lines[3].starts_with("3,9,row-9,,exclude,me,1"));
    let jsonl = served.get("/api/export?format=jsonl").text();
    let first: Value = serde_json::from_str(jsonl.lines().next().unwrap()).unwrap();
    assert_eq!((&first["id"], &first["label"]), (&json!("row-3"), &json!("a")));
    let parquet = run.path().join("labels.parquet");
    std::fs::write(&parquet, served.get("/api/export?format=parquet").body).unwrap();
    assert_eq!(homing_pool::read_column(&parquet, Some("id")).unwrap(), ["row-3", "row-5", "row-9"]);
    let report = served.get("/api/report").text();
    assert!(
        report.contains("<td>row-5</td><td>b</td><td>ada: b, bob: a</td>") && !report.contains("<script"),
        "{report}"
    );
    let tasks = served.get("/api/export?format=label-studio").text();
    assert_eq!(served.get("/api/state").json()["counts"]["disputed"], 1);

    let other = tempfile::tempdir().unwrap();
    let second = Served::start(other.path(), texts(60));
    let imported = second.send("POST", "/api/import", &tasks);
    assert_eq!(imported.json()["added"], 3, "{}", imported.text());
    let state = second.get("/api/state").json();
    assert_eq!((&state["counts"]["labelled"], &state["counts"]["disputed"]), (&json!(2), &json!(1)));
}

#[test]
fn accuracy_suggestions_and_the_map_follow_the_labels() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(60));
    let map = served.get("/api/map");
    assert_eq!(map.body.len(), 4 * 63);
    assert!(map.head.contains("x-targets: 3"));
    assert_eq!(served.get("/api/map/prediction").status, 409, "there are no labels yet");
    for row in 0..12 {
        label(&served, &format!("row-{row}"), if row % 2 == 0 { "a" } else { "b" });
    }
    let colours = served.get("/api/map/label").body;
    assert_eq!((colours[0], colours[1], colours[20]), (0, 1, 255));
    assert_eq!(served.get("/api/map/information").body.len(), 60);
    let mut state = served.get("/api/state").json();
    for _ in 0..200 {
        if state["accuracy"].as_array().unwrap().last().is_some_and(|point| point["labels"] == 12) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        state = served.get("/api/state").json();
    }
    let labels: Vec<u64> =
        state["accuracy"].as_array().unwrap().iter().map(|point| point["labels"].as_u64().unwrap()).collect();
    assert_eq!(labels, [5, 10, 12]);
    assert!(served.get("/api/next").json()["items"][0]["suggestion"]["label"].is_string());
    assert_eq!(served.get("/api/map/prediction").body.len(), 60);
    assert!(state["progress"]["variance_left"].as_f64().unwrap() < 1.0);
    assert!(state["progress"]["stop"]["next_ten"].as_f64().is_some());
}

#[test]
fn columns_of_the_pool_colour_the_map() {
    let place = tempfile::tempdir().unwrap();
    let served = Served::start(&place.path().join("run"), table(place.path()));
    assert_eq!(served.get("/api/state").json()["columns"], json!(["source", "length"]));
    let source = served.get("/api/columns?name=source");
    assert_eq!(source.body, [0, 1, 0, 255, 0]);
    assert!(source.head.contains(r#"x-legend: {"kind":"categories","names":["web","b\u00fccher"],"others":false}"#));
    assert_eq!(served.get("/api/columns?name=length").body.len(), 5);
    for hidden in ["label", "text", "id", "none", "../etc"] {
        assert_eq!(served.get(&format!("/api/columns?name={hidden}")).status, 404, "{hidden}");
    }
}

#[test]
fn labelled_examples_are_exported_in_a_folder_for_each_class() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("photos");
    std::fs::create_dir_all(root.join("b")).unwrap();
    let png = |last: u8| [&b"\x89PNG\r\n\x1a\n"[..], &[last; 40]].concat();
    for (name, last) in [("one.png", 1), ("b/one.png", 2), ("two.png", 3), ("gone.png", 4)] {
        std::fs::write(root.join(name), png(last)).unwrap();
    }
    let names = ["one.png", "b/one.png", "two.png", "gone.png"];
    let served = Served::start(&place.path().join("run"), images(&root, &names));
    std::fs::remove_file(root.join("gone.png")).unwrap();
    assert_eq!(served.post("/api/classes", &json!({"name": "../c"})).status, 200);
    for (row, class) in ["a", "a", "../c", "a"].into_iter().enumerate() {
        assert_eq!(served.post("/api/labels", &json!({"rows": [row], "label": class})).status, 200);
    }
    let archive = served.get("/api/export?format=folders");
    assert!(archive.head.contains("labels.zip"));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive.body)).unwrap();
    let mut found: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    found.sort();
    assert_eq!(found, ["_c/image-2.png", "a/image-0.png", "a/image-1.png", "not-readable.txt"]);
    let mut second = Vec::new();
    archive.by_name("a/image-1.png").unwrap().read_to_end(&mut second).unwrap();
    assert_eq!(second, png(2));
    assert_eq!(served.post("/api/labels", &json!({"rows": [9], "label": "a"})).status, 422);
}

#[test]
fn targets_name_the_answers_that_told_most_about_them() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(60));
    let asked = served.next_id();
    label(&served, &asked, "a");
    let mut served_by = json!([]);
    for _ in 0..200 {
        let state = served.get("/api/state").json();
        served_by = state["progress"]["targets"][0]["served_by"].clone();
        if served_by[0].is_object() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(format!("row-{}", served_by[0]["row"]), asked);
    assert!(served_by[0]["share"].as_f64().unwrap() > 0.0);
}

#[test]
fn changes_are_streamed() {
    let run = tempfile::tempdir().unwrap();
    let served = Served::start(run.path(), texts(60));
    served.next_id();
    let mut stream = served.connect();
    let head = format!(
        "GET /api/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        served.authority, served.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut seen = String::new();
    let mut buffer = [0; 4096];
    let mut labelled = false;
    while !seen.contains("\"labelled\":1") {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        if seen.contains("event: change") && !labelled {
            labelled = true;
            label(&served, "row-4", "a");
        }
    }
}
