//! `homing label` as a process that may be killed.
#![cfg(feature = "label")]

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};

/// Writes a pool of texts with ids, and targets.
fn write_data(folder: &Path, rows: usize) {
    let mut seed = 3u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(seed >> 8) / f64::from(1 << 24) - 0.5
    };
    let mut table = |name: &str, rows: usize| {
        let mut text = "id,text,a,b,c,d\n".to_owned();
        for row in 0..rows {
            writeln!(text, "{name}{row},text {row},{},{},{},{}", next(), next(), next(), next()).unwrap();
        }
        fs::write(folder.join(format!("{name}.csv")), text).unwrap();
    };
    table("pool", rows);
    table("targets", 5);
}

/// A running `homing label`, which is killed when it is dropped.
struct Running {
    child: Child,
    authority: String,
    token: String,
}

impl Running {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(cargo_bin("homing"))
            .current_dir(folder)
            .args(["label", "pool.csv", "--targets", "targets.csv", "--classes", "a,b", "--run", "run"])
            .args(["--port", "0", "--no-open"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_suffix('\n').and_then(|line| line.strip_prefix("http://")).expect("an address");
        let (authority, token) = address.split_once("/?token=").unwrap();
        Self { authority: authority.to_owned(), token: token.to_owned(), child }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request. Returns `None` if the connection breaks before the response is complete.
fn request(authority: &str, token: &str, method: &str, target: &str, body: &Value) -> Option<(u16, Value)> {
    let mut connection = TcpStream::connect(authority).ok()?;
    connection.set_read_timeout(Some(Duration::from_mins(1))).ok()?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(head.as_bytes()).ok()?;
    let mut all = String::new();
    connection.read_to_string(&mut all).ok()?;
    let status = all.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(all.split_once("\r\n\r\n")?.1).ok()?))
}

/// Lets people label at once while the server is killed now and then, and checks that every answered label is there once, in the
/// order of the numbers that were answered.
fn load(people: usize, each: usize, kills: usize, rows: usize) {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), rows);
    let server = RwLock::new(Running::start(folder.path()));
    let answered: Mutex<Vec<(u64, String, String)>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for person in 0..people {
            let (server, answered) = (&server, &answered);
            scope.spawn(move || {
                let name = format!("person {person}");
                let mut waiting: Option<String> = None;
                let mut done = 0;
                while done < each {
                    let (authority, token) = {
                        let server = server.read().unwrap();
                        (server.authority.clone(), server.token.clone())
                    };
                    let Some(id) = waiting.clone() else {
                        let target = format!("/api/next?annotator=person%20{person}");
                        match request(&authority, &token, "GET", &target, &Value::Null) {
                            Some((200, next)) => waiting = next["items"][0]["id"].as_str().map(str::to_owned),
                            _ => thread::sleep(Duration::from_millis(20)),
                        }
                        continue;
                    };
                    let body = json!({"id": id, "label": "a", "annotator": name});
                    // After a broken connection the same label is sent again.
                    match request(&authority, &token, "POST", "/api/labels", &body) {
                        Some((200, saved)) => {
                            answered.lock().unwrap().push((saved["seq"].as_u64().unwrap(), id, name.clone()));
                            (waiting, done) = (None, done + 1);
                        }
                        Some((status, refusal)) => panic!("{status}: {refusal}"),
                        None => thread::sleep(Duration::from_millis(20)),
                    }
                }
            });
        }
        for kill in 1..=kills {
            while answered.lock().unwrap().len() < kill * people * each / (kills + 1) {
                thread::sleep(Duration::from_millis(2));
            }
            let mut server = server.write().unwrap();
            server.kill();
            *server = Running::start(folder.path());
        }
    });
    drop(server);
    let mut answered = answered.into_inner().unwrap();
    answered.sort();
    let lines = fs::read_to_string(folder.path().join("run/events.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let in_file: Vec<(u64, String, String)> = lines
        .iter()
        .filter(|line| line["event"] == "label")
        .map(|line| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (line["seq"].as_u64().unwrap(), text(&line["ids"][0]), text(&line["annotator"]))
        })
        .collect();
    assert_eq!(answered.len(), people * each);
    assert_eq!(in_file, answered, "no label is lost, none is there twice, and the order is kept");
    assert!(lines.iter().enumerate().all(|(at, line)| line["seq"] == at + 1));
    let different: HashSet<&String> = in_file.iter().map(|(_, id, _)| id).collect();
    assert!(different.len() >= in_file.len() - kills * people, "only a kill forgets who was asked for what");
}

#[test]
fn killed_servers_lose_no_answered_label() {
    load(20, 50, 5, 3000);
}

/// `cargo test --release -p homing-cli --test label -- --ignored`
#[test]
#[ignore = "it takes half a minute"]
fn twenty_people_and_ten_thousand_labels() {
    load(20, 500, 5, 12_000);
}

#[test]
fn a_run_is_locked_and_belongs_to_its_data() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 30);
    let running = Running::start(folder.path());
    let again = |pool: &str| {
        let output = Command::new(cargo_bin("homing"))
            .current_dir(folder.path())
            .args(["label", pool, "--classes", "a,b", "--run", "run", "--no-open"])
            .output()
            .unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(again("pool.csv").contains("another process has the run run open; end that process first"));
    drop(running);
    assert!(again("targets.csv").contains("name another folder with `--run FOLDER`"));
}

#[test]
fn answers_by_file_make_a_curve_and_a_run_for_other_commands() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), 60);
    let mut answers = "id,label\n".to_owned();
    for line in fs::read_to_string(folder.path().join("pool.csv")).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        writeln!(answers, "{},{}", fields[0], if fields[2].starts_with('-') { "low" } else { "high" }).unwrap();
    }
    fs::write(folder.path().join("answers.csv"), answers).unwrap();
    let output = Command::new(cargo_bin("homing"))
        .current_dir(folder.path())
        .args([
            "label",
            "pool.csv",
            "--targets",
            "targets.csv",
            "--run",
            "run",
            "--simulate",
            "answers.csv",
            "-n",
            "30",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let last = text.lines().find(|line| line.trim_start().starts_with("30")).expect("a line for 30 labels");
    let accuracy: f64 = last.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!(accuracy > 80.0, "{text}");
    let labels: HashSet<String> = fs::read_to_string(folder.path().join("run/events.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["label"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(labels, HashSet::from(["low".to_owned(), "high".to_owned()]));
    let select = |observed: &str| {
        let arguments =
            ["select", "pool.csv", "--targets", "targets.csv", "-n", "30", "-q", "--out", "-", "--observed", observed];
        let output = Command::new(cargo_bin("homing")).current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let table = folder.path().join("observed.csv");
    let ids = fs::read_to_string(folder.path().join("run/events.jsonl")).unwrap();
    let ids =
        ids.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["ids"][0].as_str().unwrap().to_owned());
    fs::write(table, format!("id\n{}\n", ids.collect::<Vec<_>>().join("\n"))).unwrap();
    assert_eq!(select("run"), select("observed.csv"), "the run's folder names the rows that it has labelled");
}
