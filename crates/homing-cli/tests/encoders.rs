//! Texts and images that the command embeds on its own.

mod folder;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use folder::Folder;

const SELECT: &str = "select pool.csv --targets wanted.txt -n 3";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write(
        "pool.csv",
        "id,text,stars\nt1,refund for a lost parcel,1\nt2,the parcel is lost and I want a refund,2\nt3,the parcel arrived broken,1\n\
         t4,change the delivery address of my parcel,4\nt5,reset my password,5\nt6,I forgot my password,5\n",
    );
    folder.write("wanted.txt", "my parcel did not arrive\ndelivery to another address\n");
    folder
}

/// A small sentence encoder with random weights.
fn model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../homing-encode/tests/reference/models/bert")
}

/// Writes photos of two classes: bright ones and dark ones.
fn write_photos(folder: &Folder, name: &str, count: u8) {
    for number in 0..count {
        let is_bright = number % 2 == 0;
        let place = folder.path(&format!("{name}/{}", if is_bright { "bright" } else { "dark" }));
        fs::create_dir_all(&place).unwrap();
        let value =
            |at: usize| if is_bright { 200 + (at as u8 % 40) } else { (at as u8 % 40).wrapping_mul(number % 5 + 1) };
        let pixels: Vec<u8> = (0..3 * 20 * 30).map(value).collect();
        let image = homing_data::Inputs::pixels([3, 20, 30], pixels);
        fs::write(place.join(format!("{number}.png")), image.thumbnail(0).unwrap()).unwrap();
    }
}

#[test]
fn texts_are_embedded_without_any_model_and_the_picks_carry_them() {
    let folder = folder();
    let output = folder.homing(&format!("{SELECT} --out picks.csv --report r"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Embedded 8 texts of the column 'text' with the built-in encoder of texts"), "{said}");
    assert!(said.contains("a model made for the purpose is better (--encoder FOLDER)"), "{said}");
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    assert!(picks.starts_with("rank,index,id,score,information,variance_left,text\n"), "{picks}");
    assert!(picks.lines().nth(1).unwrap().contains("parcel"), "{picks}");
    let page = fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains("my parcel did not arrive") && !page.contains("<span class=\"target\">target"), "{page}");
    let all = folder.succeeds(&format!("{SELECT} --columns all --out - -q"));
    assert!(all.starts_with("rank,index,id,score,information,variance_left,text,stars\n"), "{all}");
}

#[test]
fn lines_of_text_and_other_commands_work_alike() {
    let folder = folder();
    folder.write("pool.txt", "refund for a lost parcel\nthe parcel arrived broken\nreset my password\n");
    let table = folder.succeeds("select pool.txt --targets wanted.txt -n 2 -q");
    assert!(table.contains("parcel"), "{table}");
    folder.succeeds(&format!("{SELECT} --out picks.csv -q"));
    let shown = folder.succeeds("explain pool.csv --targets wanted.txt --picks picks.csv");
    assert!(shown.contains("\"my parcel did not arrive\"") && shown.contains("% t"), "{shown}");
    folder.succeeds("diagnose pool.csv --targets wanted.txt --picks picks.csv -q");
    let more = folder.succeeds(&format!("{SELECT} --observed picks.csv --out - -q"));
    let first = fs::read_to_string(folder.path("picks.csv")).unwrap();
    let ids =
        |picks: &str| picks.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().to_owned()).collect::<Vec<_>>();
    assert!(ids(&more).iter().all(|id| !ids(&first).contains(id)), "{more}");
}

#[test]
fn targets_and_pools_may_come_from_standard_input() {
    let folder = folder();
    let piped = |arguments: &str, input: &str| {
        let output = assert_cmd::Command::cargo_bin("homing")
            .unwrap()
            .current_dir(folder.path(""))
            .args(arguments.split_whitespace())
            .write_stdin(input)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let wanted = fs::read_to_string(folder.path("wanted.txt")).unwrap();
    let direct = folder.succeeds(&format!("{SELECT} --out - -q"));
    assert_eq!(piped("select pool.csv --targets - -n 3 --out - -q", &wanted), (true, direct.clone()));
    let pool = fs::read_to_string(folder.path("pool.csv")).unwrap();
    assert_eq!(piped("select - --targets wanted.txt -n 3 --out - -q", &pool), (true, direct));
    let (succeeded, said) = piped("select pool.csv --targets - -n 3", "");
    assert!(!succeeded && said.contains("standard input is empty"), "{said}");
    let (succeeded, said) = piped("select - --targets - -n 3", &pool);
    assert!(!succeeded && said.contains("cannot both come from standard input"), "{said}");
}

#[test]
fn embeddings_are_replaced_only_on_request_and_refusals_name_the_option() {
    let folder = folder();
    folder.write("numbers.csv", "text,x,y\nmy parcel,0.5,1\nmy password,2,3\n");
    folder.write("aims.csv", "x,y\n1,1\n");
    let output = folder.homing("select numbers.csv --targets aims.csv -n 1");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("'x', 'y'") && said.contains("to embed the texts in 'text' instead, add --encoder built-in"),
        "{said}"
    );
    folder.refuses(
        "select numbers.csv --targets wanted.txt -n 1",
        &["wanted.txt has no embeddings", "`--encoder built-in`"],
    );
    let table = folder.succeeds("select numbers.csv --targets wanted.txt -n 1 --encoder built-in -q");
    assert!(table.contains("my parcel"), "{table}");
    folder.write("none.csv", "who,where\nme,here\nyou,there\n");
    folder.refuses("select none.csv --targets wanted.txt -n 1", &["`--text-column NAME`", "who, where"]);
    folder.refuses(&format!("{SELECT} --encoder nowhere"), &["nowhere", "not a folder"]);
}

#[test]
fn texts_beside_stars_and_prices_are_embedded_and_not_the_numbers() {
    let folder = folder();
    let mut reviews = "id,text,stars,price,label\n".to_owned();
    for (row, line) in fs::read_to_string(folder.path("pool.csv")).unwrap().lines().skip(1).enumerate() {
        writeln!(reviews, "{line},{}.5,", 10 * row).unwrap();
    }
    folder.write("reviews.csv", &reviews);
    let said = |arguments: &str| {
        let output = folder.homing(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    };
    let embedded = said("select reviews.csv --targets wanted.txt -n 2");
    assert!(embedded.contains("Embedded 8 texts of the column 'text' with the built-in encoder"), "{embedded}");
    folder.write("numbers.csv", "text,stars,price\nparcel,1,3.5\n");
    let numbers = said("select reviews.csv --targets numbers.csv --encoder none -n 2");
    assert!(numbers.contains("'stars', 'price'") && numbers.contains("--encoder built-in"), "{numbers}");
    folder.write("kinds.txt", "my parcel did not arrive\n");
    let grouped = said("select pool.csv --targets kinds.txt -n 2 --group-column stars --quota 1");
    assert!(grouped.contains("Embedded 7 texts"), "targets need no groups: {grouped}");
}

#[test]
fn rows_without_a_label_do_not_count_as_observed() {
    let folder = folder();
    let chosen = |observed: &str| {
        folder.write("observed.csv", observed);
        let output = folder.homing(&format!("{SELECT} --observed observed.csv --out -"));
        let picks = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        (picks.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().to_owned()).collect::<Vec<_>>(), said)
    };
    let (partly, said) = chosen("id,label\nt1,refund\nt2,\nt3,\n");
    assert!(said.contains("2 of 3 rows have no label and do not count as observed"), "{said}");
    let (only, quiet) = chosen("id,label\nt1,refund\n");
    assert!(partly == only && !quiet.contains("no label"), "{quiet}");
    let (blank, _) = chosen("id,label\nt1,\nt2,\nt3,\n");
    assert!(blank.iter().all(|id| !["t1", "t2", "t3"].contains(&id.as_str())), "a list without labels: {blank:?}");
    folder.write("nameless.csv", "name,label\nx,refund\n");
    folder.refuses(&format!("{SELECT} --observed nameless.csv"), &["neither a column index or id, nor embeddings"]);
}

#[test]
fn a_report_shows_photos_of_picks_and_targets() {
    let folder = Folder::new();
    write_photos(&folder, "photos", 12);
    write_photos(&folder, "wanted", 2);
    folder.succeeds("select photos --targets wanted/bright -n 4 --out picks.csv --report r --label-column label -q");
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    assert!(picks.starts_with("rank,index,id,score,information,variance_left,path,label\n"), "{picks}");
    assert!(picks.lines().nth(1).unwrap().contains("bright/"), "{picks}");
    let page = fs::read_to_string(folder.path("r.html")).unwrap();
    let pictures = page.matches("src=\"data:image/jpeg;base64,").count();
    assert_eq!(pictures, 4, "one picture per pick");
    assert!(page.contains(".t0{background-image:url(data:image/jpeg;base64,"), "and one of the target");
    assert!(page.contains("thumb t0 photo") && page.len() < 200_000, "{}", page.len());
}

#[cfg(feature = "encoders")]
#[test]
fn a_model_embeds_pool_and_targets_and_its_work_is_kept() {
    let folder = folder();
    let model = model();
    let select = format!("{SELECT} --encoder {} --out - -q", model.display());
    let first = folder.succeeds(&select);
    assert_eq!(folder.succeeds(&select), first);
    let shown = folder.succeeds("cache show");
    assert!(shown.contains("2 files") && shown.contains("at most 2.0 GiB"), "{shown}");
    assert!(folder.succeeds("cache clear").contains("Removed 2 files"));
    assert!(folder.succeeds("cache show").contains("0 files"));
    assert_eq!(folder.succeeds(&select), first);
}

#[cfg(all(feature = "train", feature = "encoders"))]
#[test]
fn embeddings_are_written_with_ids_and_columns_and_give_the_same_picks() {
    let folder = folder();
    let direct = folder.succeeds(&format!("{SELECT} --encoder {} --out - -q", model().display()));
    for (from, to) in [("pool.csv", "pool.parquet"), ("wanted.txt", "wanted.parquet")] {
        let said = folder.succeeds(&format!("embed {from} --model {} --out {to} -q", model().display()));
        assert!(said.contains("texts by bert, 16 numbers each"), "{said}");
    }
    assert_eq!(folder.succeeds("select pool.parquet --targets wanted.parquet -n 3 --out - -q"), direct);
    folder.succeeds("embed pool.csv --out pool.npy -q");
    folder.succeeds("embed wanted.txt --learn-from pool.csv --out wanted.npy -q");
    let rows = |picks: &str| picks.lines().map(|line| line.split(',').take(2).collect::<String>()).collect::<Vec<_>>();
    let apart = folder.succeeds("select pool.npy --targets wanted.npy -n 3 --out - -q");
    assert_eq!(rows(&apart), rows(&folder.succeeds(&format!("{SELECT} --out - -q"))));
    folder.refuses("embed pool.csv --out pool.csv", &["pool.csv is an input"]);
    folder.refuses("embed pool.csv --out p.txt", &["use .parquet, or .npy"]);
    folder.refuses("embed pool.csv --model cnn --out p.npy", &["--weights FILE"]);
}
