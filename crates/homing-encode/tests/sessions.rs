//! Sessions read files of all kinds.

use std::path::{Path, PathBuf};

use homing_encode::{EncoderChoice, Error, Items, Opened, Progress, Result, Session};
use homing_pool::{ColumnChoice, ReadOptions};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn open(session: &mut Session, path: &Path) -> Result<Opened> {
    session.open(path, &ReadOptions::default(), &mut |_| ())
}

fn fresh() -> Session {
    Session::new(EncoderChoice::Automatic).unwrap()
}

/// Images that are embedded together may differ in the last digit from those that are embedded alone.
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    assert!(
        found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6),
        "{found:?} {expected:?}"
    );
}

/// A grey image of 2 × 2 pixels, as a PNG.
fn png(grey: u8) -> Vec<u8> {
    homing_data::Inputs::pixels([1, 2, 2], vec![grey, 0, 255, grey]).thumbnail(0).unwrap()
}

#[test]
fn the_same_texts_have_the_same_embeddings_in_every_format() {
    let folder = Folder::new();
    let texts = ["my parcel is lost", "reset my password", "a \"parcel\", broken"];
    let files = [
        folder.write("a.txt", texts.join("\n") + "\n\n"),
        folder.write(
            "a.csv",
            "id,text,stars\n1,my parcel is lost,5\n2,reset my password,1\n3,\"a \"\"parcel\"\", broken\",2\n",
        ),
        folder.write("a.tsv", "Question\nmy parcel is lost\nreset my password\n\"a \"\"parcel\"\", broken\"\n"),
        folder.write(
            "a.jsonl",
            texts.map(|text| serde_json::json!({"stars": 1.5, "prompt": text}).to_string()).join("\n"),
        ),
    ];
    let first = open(&mut fresh(), &files[0]).unwrap().pool;
    for file in &files[1..] {
        let mut session = fresh();
        let Opened { pool, items } = open(&mut session, file).unwrap();
        assert!(session.is_built_in());
        assert!(matches!(items, Some(Items::Texts(found)) if found == texts));
        for row in 0..3 {
            assert_eq!(pool.embeddings().row(row), first.embeddings().row(row), "{}", file.display());
        }
    }
}

#[test]
fn columns_ids_and_numbers_stay_with_the_rows() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "id,text,stars\nx,my parcel,5\ny,my password,1\n");
    let pool = open(&mut fresh(), &path).unwrap().pool;
    assert_eq!(pool.ids().unwrap(), ["x", "y"]);
    assert_eq!(pool.choose_columns(&ColumnChoice::All).unwrap(), ["text", "stars"]);
    let values = pool.values(&["stars".to_owned()], &[1]).unwrap();
    assert_eq!(values.text(0, 1).as_deref(), Some("1"));
}

#[test]
fn targets_are_embedded_by_what_was_learned_from_the_pool() {
    let folder = Folder::new();
    let pool = folder.write("pool.txt", "my parcel is lost\nreset my password\nthe parcel arrived\n");
    let targets = folder.write("targets.txt", "the parcel arrived\nmy parcel is lost\n");
    let mut session = fresh();
    let pool = open(&mut session, &pool).unwrap().pool;
    let targets = open(&mut session, &targets).unwrap().pool;
    assert_eq!(targets.embeddings().row(0), pool.embeddings().row(2));
    assert_eq!(targets.embeddings().row(1), pool.embeddings().row(0));
}

#[test]
fn embeddings_are_used_unless_an_encoder_is_chosen() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "text,x,y\nmy parcel,0.5,1\nmy password,2,3\n");
    let lines = folder.write("b.txt", "my parcel\n");
    let mut session = fresh();
    let opened = open(&mut session, &path).unwrap();
    assert!(opened.items.is_none() && opened.pool.dim() == 2 && session.encoder().is_none());
    let error = open(&mut session, &lines).unwrap_err();
    assert!(matches!(error, Error::Unembedded { .. }), "{error}");
    let mut session = Session::new(EncoderChoice::BuiltIn).unwrap();
    assert!(open(&mut session, &path).unwrap().items.is_some());
    open(&mut session, &lines).unwrap();
}

#[test]
fn images_come_from_folders_archives_tables_and_single_files() {
    let folder = Folder::new();
    for (name, grey) in [("cat/a.png", 10), ("cat/b.png", 60), ("dog/c.png", 200)] {
        folder.write(&format!("photos/{name}"), png(grey));
    }
    let table = folder.write("list.csv", "path,who\nphotos/dog/c.png,me\nphotos/cat/a.png,you\n");
    let mut session = fresh();
    let Opened { pool, items } = open(&mut session, &folder.0.path().join("photos")).unwrap();
    assert_eq!(pool.ids().unwrap(), ["cat/a.png", "cat/b.png", "dog/c.png"]);
    assert_eq!(pool.labels().unwrap(), ["cat", "cat", "dog"]);
    let values = pool.values(&pool.choose_columns(&ColumnChoice::Usual).unwrap(), &[2]).unwrap();
    assert_eq!(values.names(), ["path", "label"]);
    assert_eq!(values.text(0, 2).as_deref(), Some("dog/c.png"));
    assert!(matches!(items, Some(Items::Images(_))));
    let listed = open(&mut session, &table).unwrap();
    assert_close(&listed.pool.embeddings().row(0), &pool.embeddings().row(2));
    let single = open(&mut session, &folder.0.path().join("photos/cat/b.png")).unwrap();
    assert_close(&single.pool.embeddings().row(0), &pool.embeddings().row(1));
    let lines = folder.write("b.txt", "my parcel\n");
    let message = open(&mut session, &lines).unwrap_err().to_string();
    assert!(message.contains("holds texts, but the encoder is for images"), "{message}");
}

#[test]
fn what_cannot_be_embedded_is_refused_with_its_columns() {
    let folder = Folder::new();
    let message = |name: &str, text: &str| open(&mut fresh(), &folder.write(name, text)).unwrap_err().to_string();
    let found = message("a.csv", "id,who,where\n1,me,here\n2,you,there\n");
    assert!(found.contains("no column with a usual name of texts (it has who, where)"), "{found}");
    let found = message("b.csv", "path\na.png\n");
    assert!(found.contains("lists the image") && found.contains("does not exist"), "{found}");
    let found = message("c.txt", "\n\n");
    assert!(found.contains("has no rows"), "{found}");
    let missing = open(&mut fresh(), &folder.0.path().join("none.txt")).unwrap_err().to_string();
    assert!(missing.contains("does not exist"), "{missing}");
    let mut session = fresh();
    open(&mut session, &folder.write("pool.txt", "my parcel\nmy password\n")).unwrap();
    let numbers = open(&mut session, &folder.write("t.csv", "x,y\n1,2\n")).unwrap_err().to_string();
    assert!(numbers.contains("t.csv has no column that is recognised as texts (it has x, y)"), "{numbers}");
}

#[test]
fn progress_is_reported_up_to_the_last_item() {
    let folder = Folder::new();
    let lines = (0..2500).map(|i| format!("text number {i}")).collect::<Vec<_>>().join("\n");
    let mut seen = Vec::new();
    fresh()
        .open(&folder.write("a.txt", lines), &ReadOptions::default(), &mut |progress: Progress| {
            seen.push(progress.done);
        })
        .unwrap();
    assert!(seen.is_sorted() && seen.len() == 10 && seen[9] == 2500, "{seen:?}");
}
