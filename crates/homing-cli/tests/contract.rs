//! The contract of the command line, tested on random command lines, valid and invalid: exit code 0 with complete files, or exit
//! code 2 with one sentence and no file changed; no panic, no signal, bounded memory and time.
//!
//! `HOMING_CONTRACT=20000 cargo test --release --workspace --test contract` runs 20,000 lines; `HOMING_CONTRACT_SEED` sets the
//! first seed, and a failure names the seed that repeats it.
#![cfg(all(unix, feature = "train"))]

mod folder;
#[path = "../../homing-pool/tests/samples/mod.rs"]
mod samples;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use folder::{Folder, table};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Address space, in KiB, and time that a command may use.
const MEMORY: usize = 6_000_000;
const TIME: Duration = Duration::from_secs(40);

/// Numbers that nobody should type.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "nan",
    "inf",
    "1e308",
    "1e-320",
    "18446744073709551615",
    "18446744073709551616",
    "1e12",
    "",
    "x",
    "0.5",
    "3,5",
    "٣",
];

struct World {
    folder: Folder,
    before: BTreeMap<String, Vec<u8>>,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        for (name, _, bytes) in samples::every() {
            fs::write(folder.path(name), &bytes).unwrap();
            fs::write(folder.path(&format!("half-{name}")), &bytes[..bytes.len() / 2]).unwrap();
        }
        let labelled = table(30, |i| format!("r{i},{},{},{}\n", (i as f64).sin(), i * i % 7, ["a", "b", "s"][i % 3]));
        folder.write("labelled.csv", &format!("id,x,y,label\n{labelled}"));
        folder.write("aim.csv", "x,y\n0.1,2\n0.9,3\n");
        folder.write("rows.txt", "3\n5\n");
        folder.write("ids.txt", "doc-3\ndoc-5\n");
        folder.write("far.txt", "3\n4000000000\n");
        folder.write("huge.csv", "x,y,z\n1e200,1e-200,3\n-1e154,2,1\n1,1,1\n");
        folder.write("nan.csv", "x,y,z\n1,nan,3\n1,2,3\n");
        folder.write("p.csv", &table(40, |i| format!("{},{}\n", i as f64 / 40.0, 1.0 - i as f64 / 40.0)));
        folder.write("weights.csv", "x,y,z,w\n1,0,0,1\n0,1,0,2\n");
        folder.write("plan.toml", "title = \"t\"\n[arguments]\nrounds = 1\n");
        folder.write("empty.npy", "");
        folder.write("text.html", "not a table");
        folder.write("old.csv", "an output of before");
        folder.write("read-only.csv", "mine");
        fs::set_permissions(folder.path("read-only.csv"), PermissionsExt::from_mode(0o444)).unwrap();
        fs::create_dir(folder.path("empty")).unwrap();
        symlink("loop.csv", folder.path("loop.csv")).unwrap();
        assert!(Command::new("mkfifo").arg(folder.path("pipe.csv")).status().unwrap().success());
        let before = files(&folder.path("."));
        Self { folder, before }
    }

    /// Undoes what a command has written.
    fn restore(&self) {
        for entry in fs::read_dir(self.folder.path(".")).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let known = self.before.contains_key(&name) || ["loop.csv", "pipe.csv"].contains(&&*name);
            match (known, entry.file_type().unwrap().is_dir()) {
                (true, _) => {}
                (false, true) => fs::remove_dir_all(entry.path()).unwrap(),
                (false, false) => fs::remove_file(entry.path()).unwrap(),
            }
        }
        fs::create_dir(self.folder.path("empty")).unwrap();
        if !self.folder.path("loop.csv").is_symlink() {
            fs::remove_file(self.folder.path("loop.csv")).unwrap();
            symlink("loop.csv", self.folder.path("loop.csv")).unwrap();
        }
        for (name, bytes) in &self.before {
            let path = self.folder.path(name);
            if fs::read(&path).ok().as_ref() != Some(bytes) {
                fs::write(&path, bytes).unwrap();
            }
        }
    }
}

/// Returns every regular file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else if kind.is_file() {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// A command line and the outputs that it names.
struct Line {
    arguments: Vec<OsString>,
    outputs: Vec<String>,
}

struct Maker {
    random: ChaCha8Rng,
    line: Line,
    /// How often a value makes sense: always, nearly always, or often.
    care: f64,
}

impl Maker {
    fn chance(&mut self, share: f64) -> bool {
        self.random.random_bool(share)
    }

    fn one<'a>(&mut self, values: &[&'a str]) -> &'a str {
        values[self.random.random_range(0..values.len())]
    }

    fn push(&mut self, argument: impl AsRef<OsStr>) {
        self.line.arguments.push(argument.as_ref().to_owned());
    }

    /// Returns a file: often one that fits, sometimes any file.
    fn file(&mut self, good: &[&str]) -> OsString {
        if self.chance(self.care) {
            return self.one(good).into();
        }
        let samples = samples::every();
        let sample = samples[self.random.random_range(0..samples.len())].0;
        let any = [
            "pool.csv",
            "aim.csv",
            "rows.txt",
            "huge.csv",
            "nan.csv",
            "empty.npy",
            "text.html",
            "missing.npy",
            "empty",
            "loop.csv",
            "pipe.csv",
            "/dev/null",
            "/dev/zero",
            ".",
            "/proc/self/mem",
            "",
            "-",
            "plan.toml",
            "pool.csv/x",
            "\u{1b}[31m.csv",
        ];
        match self.random.random_range(0..4) {
            0 => sample.into(),
            1 => format!("half-{sample}").into(),
            2 if self.chance(0.1) => OsStr::from_bytes(b"\xff\xfe.npy").to_owned(),
            _ => self.one(&any).into(),
        }
    }

    fn input(&mut self, option: &str, share: f64, good: &[&str]) {
        if self.chance(share) {
            let file = self.file(good);
            self.push(option);
            self.push(file);
        }
    }

    /// Adds an option with a value that is mostly valid.
    fn value(&mut self, option: &str, share: f64, good: &[&str]) {
        if self.chance(share) {
            let value = if self.chance(self.care) { self.one(good) } else { self.one(&NUMBERS) };
            let joined = format!("{option}={value}");
            if option.starts_with("--") && self.chance(0.5) {
                self.push(joined);
            } else {
                self.push(option);
                self.push(value);
            }
        }
    }

    fn flag(&mut self, option: &str, share: f64) {
        if self.chance(share) {
            self.push(option);
        }
    }

    fn output(&mut self, option: &str, share: f64, good: &[&str]) {
        if self.chance(share) {
            let bad = [
                "missing/o.csv",
                "pool.csv",
                "empty",
                "read-only.csv",
                "loop.csv",
                "/dev/full",
                "",
                "o.xyz",
                "pipe.csv",
                "./p.csv",
            ];
            let output = if self.chance(self.care) { self.one(good) } else { self.one(&bad) };
            self.push(option);
            self.push(output);
            self.line.outputs.push(output.into());
        }
    }

    fn model(&mut self) {
        self.value("--noise-std", 0.3, &["0.1", "1", "10"]);
        self.value("--kernel", 0.3, &["linear", "gaussian:1", "laplace:0.5", "matern:1.5:1", "matern:2.2:3"]);
        self.value("--threads", 0.15, &["1", "2", "3"]);
        self.flag("--center", 0.1);
        if self.chance(1.0 - self.care) {
            self.value(
                "--kernel",
                0.5,
                &["loss-gradient", "gaussian:1e-300", "gaussian:1e300", "matern:49:1e200", "matern:51:1"],
            );
            self.value("--embedding-column", 0.2, &["embedding", "x", "nothing"]);
            self.value("--id-column", 0.2, &["id", "source", "nothing"]);
            self.value("--label-column", 0.2, &["label", "source", "nothing"]);
            self.input("--probabilities", 0.3, &["p.csv"]);
        }
    }

    /// Adds a pool and targets that fit together, with the options that they need.
    fn pool_and_targets(&mut self, targets: f64) {
        let worlds: [(&str, &str, &[&str]); 4] = [
            ("pool.csv", "targets.csv", &["--cost-column=cost", "--group-column=source"]),
            ("labelled.csv", "aim.csv", &["--label-column=label"]),
            ("plain.npy", "targets.csv", &[]),
            ("weights.csv", "weights.csv", &[]),
        ];
        let (pool, aim, options) = worlds[self.random.random_range(0..worlds.len())];
        let pool = self.file(&[pool]);
        self.push(pool);
        self.input("--targets", targets, &[aim]);
        let select = self.line.arguments[0] == "select";
        for option in options.iter().filter(|option| select || option.starts_with("--label")) {
            self.flag(option, self.care);
        }
        if !select && options.len() == 2 && self.line.arguments[0] == "diagnose" {
            // Without this option, the costs would be part of the embedding.
            self.value("--values", self.care, &["cost"]);
        }
    }

    fn select(&mut self) {
        self.push("select");
        let rules: Vec<&str> = homing::STRATEGIES.iter().map(|entry| entry.name).collect();
        self.pool_and_targets(0.95);
        let world = self.line.arguments[1].to_string_lossy().into_owned();
        self.value("-n", self.care.max(0.9), &["1", "2", "3", "12", "40"]);
        self.value("--rule", 0.5, &rules);
        match &*world {
            "pool.csv" => {
                self.input("--observed", 0.2, &["rows.txt", "ids.txt"]);
                self.input("--forbid", 0.15, &["rows.txt", "ids.txt"]);
                self.value("--quota", 0.15, &["web=2", "3", "chat=0"]);
                self.value("--budget", 0.1, &["5", "100", "1e300"]);
                self.flag("--probabilities=p.csv", 0.4);
            }
            "weights.csv" => self.value("--target-weight-column", 0.3, &["w", "x"]),
            _ => {}
        }
        self.output("--out", 0.7, &["o.csv", "o.jsonl", "o.parquet", "o.npy", "-", "old.csv"]);
        self.output("--report", 0.2, &["page.html", "page2.html"]);
        self.model();
        self.value("--target-sample", 0.1, &["0.5", "1", "max-det:1", "max-dist:2"]);
        self.value("--picks-per-round", 0.1, &["1", "2", "5"]);
        self.value("--min-gain", 0.1, &["0.01", "1e-9"]);
        self.value("--stop-variance", 0.1, &["0.5", "0.99"]);
        self.value("--beta", 0.05, &["1", "2"]);
        self.value("--greedy", 0.15, &["exact", "stochastic:0.1", "partitioned:3"]);
        self.value("--pool-access", 0.1, &["auto", "map"]);
        self.value("--seed", 0.1, &["1", "18446744073709551615"]);
        if self.chance(1.0 - self.care) {
            self.value("--greedy", 0.3, &["partitioned:1000000000", "stochastic:1e-300"]);
            self.value("--pool-access", 0.3, &["read"]);
            self.input("--forbid", 0.3, &["far.txt", "empty.npy"]);
            self.input("--observed", 0.3, &["targets.csv", "far.txt"]);
            self.value("--group-column", 0.3, &["source", "id"]);
            self.value("--cost-column", 0.3, &["x", "id"]);
            self.flag("huge.csv", 0.1);
        }
        for (flag, share) in [("--repeat", 0.1), ("--csv-safe", 0.1), ("-q", 0.3), ("-v", 0.1)] {
            self.flag(flag, share);
        }
    }

    fn diagnose(&mut self) {
        self.push("diagnose");
        self.pool_and_targets(0.97);
        self.input("--picks", 0.4, &["rows.txt"]);
        self.input("--observed", 0.2, &["rows.txt"]);
        self.value("-n", 0.3, &["1", "3", "12"]);
        self.value("--format", 0.3, &["table", "json"]);
        self.output("--report", 0.3, &["page.html"]);
        self.model();
        self.flag("-q", 0.3);
    }

    fn explain(&mut self) {
        self.push("explain");
        self.pool_and_targets(0.97);
        self.input("--picks", 0.4, &["rows.txt"]);
        self.value("--target", 0.3, &["0", "1"]);
        self.value("--share", 0.3, &["0.5", "1"]);
        self.value("--max-rows", 0.3, &["1", "5"]);
        self.value("--format", 0.3, &["table", "json"]);
        self.model();
    }

    fn finetune(&mut self) {
        self.push("finetune");
        let data = self.file(&["labelled.csv"]);
        self.push(data);
        self.value("--task", 0.9, &["a,b", "a,b,s"]);
        self.input("--targets", 1.0 - self.care, &["aim.csv", "labelled.csv"]);
        self.value("--rounds", 1.0, &["1", "2"]);
        self.value("--epochs", 1.0, &["1", "2"]);
        self.value("--picks-per-round", 0.3, &["1", "3"]);
        self.value("--candidates", 0.3, &["all", "sample:5", "nearest:4"]);
        self.value("--model", 0.4, &["linear", "mlp:4"]);
        if self.chance(1.0 - self.care) {
            self.value("--model", 0.5, &["mlp:1000000000", "cnn", "efficientnet-lite0"]);
            self.input("--weights", 0.3, &["plain.safetensors"]);
            self.value("--candidates", 0.3, &["sample:0", "sample:18446744073709551615"]);
        }
        self.value(
            "--embedding",
            0.3,
            &["last-layer", "loss-gradient", "output-gradient", "network-gradient:4", "outputs"],
        );
        self.value("--sigma", 0.3, &["identity", "laplace-diagonal", "laplace-kronecker", "laplace-full"]);
        self.value("--noise-std", 0.3, &["0.1", "1"]);
        self.value("--seeds", 0.2, &["1", "2"]);
        self.value("--seed", 0.2, &["1", "4294967295"]);
        self.value("--pool-count", 0.2, &["10", "20"]);
        self.value("--target-count", 0.2, &["2", "4"]);
        self.value("--learning-rate", 0.2, &["0.01"]);
        self.value("--minibatch-size", 0.2, &["4"]);
        self.input("--labels", 0.2, &["labelled.csv"]);
        self.flag("--ask", 0.05);
        self.value("--label-column", 0.2, &["label"]);
        self.output("--run", 0.95, &["run", "run2"]);
    }

    fn embed(&mut self) {
        self.push("embed");
        let data = self.file(&["labelled.csv", "digits"]);
        self.push(data);
        self.value("--model", 0.7, &["linear", "mlp:4", "cnn"]);
        self.input("--weights", 0.95, &["pool.csv"]);
        self.value("--embedding", 0.5, &["last-layer", "outputs", "network-gradient:8"]);
        self.output("--out", 0.95, &["o.safetensors", "o.npy"]);
    }

    fn other(&mut self) {
        let words = [
            "rules",
            "completions",
            "bash",
            "experiment",
            "list",
            "run",
            "plot",
            "compare",
            "plan.toml",
            "gp-rounds",
            "data",
            "fetch",
            "mnist",
            "demo",
            "--help",
            "--version",
            "help",
            "selct",
            "--out",
            "-n",
            "\u{7}",
            "pipe.csv",
            "missing.toml",
        ];
        for _ in 0..self.random.random_range(0..4) {
            let word = self.one(&words);
            // The demo takes half a minute, and downloads need a network.
            if !["demo", "mnist"].contains(&word) {
                self.push(word);
            }
        }
    }

    fn line(seed: u64) -> Line {
        let line = Line { arguments: Vec::new(), outputs: Vec::new() };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let care = [1.0, 0.97, 0.8][random.random_range(0..3)];
        let mut maker = Self { random, line, care };
        match maker.random.random_range(0..100) {
            0..62 => maker.select(),
            62..76 => maker.diagnose(),
            76..85 => maker.explain(),
            85..90 => maker.finetune(),
            90..94 => maker.embed(),
            _ => maker.other(),
        }
        // A word is lost or doubled.
        let length = maker.line.arguments.len();
        if length > 1 && maker.chance(0.2 * (1.0 - maker.care)) {
            let at = maker.random.random_range(1..length);
            let word = maker.line.arguments.remove(at);
            if maker.chance(0.5) {
                maker.line.arguments.extend([word.clone(), word]);
            }
        }
        maker.line
    }
}

/// Runs the command line with limits on memory and time.
fn run(world: &World, line: &Line) -> Output {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_homing"))
        .args(&line.arguments);
    // A backtrace would hide the message of a panic, and the cache of this machine belongs to its user.
    command
        .current_dir(world.folder.path("."))
        .env("RUST_BACKTRACE", "0")
        .env("XDG_CACHE_HOME", world.folder.path("cache"));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    let (out, err) = (reader(child.stdout.take().unwrap()), reader(child.stderr.take().unwrap()));
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > TIME {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() }
}

fn reader(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// Returns how an outcome breaks the contract, if it does.
fn breach(world: &World, line: &Line, output: &Output) -> Option<String> {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("panicked") {
        return Some("it panicked".into());
    }
    if let Some(signal) = output.status.signal() {
        return Some(format!("signal {signal}, after {TIME:?} if that is 9"));
    }
    let now = files(&world.folder.path("."));
    let changed = |name: &String| now.get(name) != world.before.get(name);
    let all = now.keys().chain(world.before.keys());
    match output.status.code() {
        Some(0) => {
            let named = |name: &str| {
                line.outputs
                    .iter()
                    .any(|output| name == output.trim_start_matches("./") || name.starts_with(&format!("{output}/")))
            };
            // Pages of the theory's pictures and feature maps have their own names.
            let own = |name: &str| name.ends_with("gp-rounds.html") || name.starts_with("cache/");
            if let Some(name) = all.into_iter().find(|name| changed(name) && !named(name) && !own(name)) {
                return Some(format!("it wrote {name}, which nobody asked for"));
            }
            for name in line.outputs.iter().filter(|name| *name != "-") {
                let page = Path::new(name).extension().is_some_and(|extension| extension == "html");
                // A selection that stops at once has no picks.
                let lines = Path::new(name).extension().is_some_and(|extension| extension == "jsonl");
                let empty = |bytes: &[u8]| bytes.is_empty() && !lines;
                match now.get(name.trim_start_matches("./")) {
                    Some(bytes) if empty(bytes) || (page && !bytes.trim_ascii_end().ends_with(b"</html>")) => {
                        return Some(format!("{name} is not whole"));
                    }
                    Some(_) => {}
                    None if now.keys().any(|file| file.starts_with(&format!("{name}/results.csv"))) => {}
                    None => return Some(format!("{name} was not written")),
                }
            }
            None
        }
        Some(2) => {
            let help = said.contains("Usage: homing");
            let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
            let last = said.trim_end().lines().last().unwrap_or_default();
            if !help && (errors != 1 || !last.starts_with("error: ") || last.len() > 2500) {
                return Some("it did not say one sentence".into());
            }
            if said.chars().any(|c| c.is_control() && c != '\n') {
                return Some("control characters reached the terminal".into());
            }
            all.into_iter().find(|name| changed(name)).map(|name| format!("it refused, but touched {name}"))
        }
        code => Some(format!("exit code {code:?}")),
    }
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn every_command_line_ends_with_whole_files_or_with_one_sentence() {
    let (count, seed) = (variable("HOMING_CONTRACT", 400), variable("HOMING_CONTRACT_SEED", 0));
    let breaches = std::sync::Mutex::new(Vec::new());
    let outcomes = std::sync::Mutex::new(BTreeMap::<Option<i32>, usize>::new());
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (breaches, outcomes) = (&breaches, &outcomes);
            scope.spawn(move || {
                let world = World::new();
                for seed in (seed..seed + count).filter(|seed| seed % 2 == worker) {
                    let line = Maker::line(seed);
                    let output = run(&world, &line);
                    *outcomes.lock().unwrap().entry(output.status.code()).or_default() += 1;
                    if let Some(breach) = breach(&world, &line, &output) {
                        let said = String::from_utf8_lossy(&output.stderr).into_owned();
                        breaches
                            .lock()
                            .unwrap()
                            .push(format!("seed {seed}: {breach}\n  {:?}\n  {said}", line.arguments));
                    }
                    world.restore();
                }
            });
        }
    });
    let (breaches, outcomes) = (breaches.into_inner().unwrap(), outcomes.into_inner().unwrap());
    println!("{count} command lines, exit codes {outcomes:?}, {} breaches", breaches.len());
    assert!(breaches.is_empty(), "{} breaches:\n{}", breaches.len(), breaches.join("\n"));
    // Neither kind of line may be rare, or the test would say little.
    for code in [0, 2] {
        assert!(outcomes.get(&Some(code)).is_some_and(|seen| *seen as u64 * 10 > count), "{outcomes:?}");
    }
}
