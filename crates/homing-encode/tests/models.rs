//! Models of each family against PyTorch (`tests/reference/models.py`), and a real sentence encoder if it is there.
#![cfg(feature = "models")]

use std::path::{Path, PathBuf};

use homing_encode::{Cache, EncoderChoice, Items, Session};
use homing_pool::ReadOptions;
use serde_json::Value;

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models")
}

fn golden() -> Value {
    serde_json::from_slice(&std::fs::read(reference().join("golden.json")).unwrap()).unwrap()
}

fn rows(value: &Value) -> Vec<Vec<f32>> {
    serde_json::from_value(value["embeddings"].clone()).unwrap()
}

fn assert_close(name: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < tolerance, "{name}: {found} is not {expected}");
    }
}

/// The texts of `models.py`.
const TEXTS: [&str; 7] = [
    "My parcel is lost!",
    "reset my password",
    "",
    "Wörter, größer: naïve café",
    "the tyre is flat and the engine makes a strange noise whenever I drive faster than thirty miles an hour",
    "a",
    "平 tyre",
];

#[test]
fn pytorch_computes_the_same_embeddings_of_texts() {
    let golden = golden();
    let items = Items::Texts(TEXTS.map(str::to_owned).to_vec());
    for family in ["bert", "bert-dense", "xlm-roberta", "roberta", "distilbert", "mpnet"] {
        let session = Session::new(EncoderChoice::Model(reference().join(family))).unwrap();
        let encoder = session.encoder().unwrap();
        assert_eq!(encoder.name(), family);
        let found = encoder.encode(&items, 0..TEXTS.len()).unwrap();
        let expected = rows(&golden[family]);
        assert_eq!(encoder.dim(), expected[0].len());
        for (found, expected) in found.chunks_exact(encoder.dim()).zip(&expected) {
            assert_close(family, found, expected, 2e-4);
        }
        let alone = encoder.encode(&items, 3..4).unwrap();
        assert_close(family, &alone, &expected[3], 2e-4);
    }
}

/// The images of `models.py`, channel by channel.
fn image(number: usize, width: usize, height: usize) -> Vec<u8> {
    let pixel = |channel: usize, y: usize, x: usize| {
        let wave = (x as f64 / 5.0 + number as f64).sin() + (y as f64 / 3.0 + channel as f64).cos();
        (127.5 + 60.0 * wave).floor() as u8
    };
    let plane = |channel| (0..height).flat_map(move |y| (0..width).map(move |x| pixel(channel, y, x)));
    (0..3).flat_map(plane).collect()
}

#[test]
fn pytorch_computes_the_same_embeddings_of_images() {
    let golden = golden();
    for family in ["vit", "dinov2", "clip", "siglip", "convnext", "resnet", "resnet-basic"] {
        let side = golden[family]["side"].as_u64().unwrap() as usize;
        let pixels: Vec<u8> = (0..3).flat_map(|number| image(number, side, side)).collect();
        let items = Items::Images(homing_data::Inputs::pixels([3, side, side], pixels));
        let session = Session::new(EncoderChoice::Model(reference().join(family))).unwrap();
        let encoder = session.encoder().unwrap();
        let found = encoder.encode(&items, 0..3).unwrap();
        for (found, expected) in found.chunks_exact(encoder.dim()).zip(&rows(&golden[family])) {
            assert_close(family, found, expected, 5e-4);
        }
    }
}

#[test]
fn interrupted_work_continues_in_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().join("cache"), 1 << 30);
    let lines = (0..600).map(|number| format!("parcel {number}")).collect::<Vec<_>>().join("\n");
    let path = folder.path().join("pool.txt");
    std::fs::write(&path, lines).unwrap();
    let open = |model: &str| {
        let mut session =
            Session::new(EncoderChoice::Model(reference().join(model))).unwrap().with_cache(Some(cache.clone()));
        let pool = session.open(&path, &ReadOptions::default(), &mut |_| ()).unwrap().pool;
        let row = pool.embeddings().row(300);
        (session.cached(), row)
    };
    let (cached, first) = open("bert");
    assert_eq!((cached, cache.size().unwrap().files), (0, 3));
    let files = std::fs::read_dir(cache.folder()).unwrap().map(|entry| entry.unwrap().path());
    std::fs::remove_file(files.min().unwrap()).unwrap();
    let (cached, second) = open("bert");
    assert!(cached > 300 && cached < 600, "the blocks that are there are not computed again: {cached}");
    assert_eq!(first, second);
    assert_eq!(open("bert").0, 600);
    assert_eq!(open("distilbert").0, 0, "another model has other embeddings");
    std::fs::write(&path, "parcel 0\n").unwrap();
    assert_eq!(open_one(&cache, &path), 0, "other texts have other embeddings");
}

fn open_one(cache: &Cache, path: &Path) -> usize {
    let mut session =
        Session::new(EncoderChoice::Model(reference().join("bert"))).unwrap().with_cache(Some(cache.clone()));
    session.open(path, &ReadOptions::default(), &mut |_| ()).unwrap();
    session.cached()
}

/// Whether ONNX Runtime is there.
#[cfg(feature = "onnxruntime")]
fn has_runtime() -> bool {
    let found = homing_onnx::find().is_some();
    if !found {
        println!("skipped: ONNX Runtime is not installed (pip install onnxruntime)");
    }
    found
}

#[cfg(feature = "onnxruntime")]
#[test]
fn onnx_runtime_computes_the_same_embeddings() {
    if !has_runtime() {
        return;
    }
    let golden = golden();
    let open = |family: &str| {
        let path = reference().join(family).join("onnx/model.onnx");
        Session::new(EncoderChoice::Model(path)).unwrap()
    };
    let texts = Items::Texts(TEXTS.map(str::to_owned).to_vec());
    for family in ["bert", "roberta"] {
        let session = open(family);
        let encoder = session.encoder().unwrap();
        assert_eq!(encoder.name(), format!("{family} (model.onnx)"));
        let expected = rows(&golden[family]);
        assert_eq!((encoder.kind(), encoder.dim()), (texts.kind(), expected[0].len()));
        let found = encoder.encode(&texts, 0..TEXTS.len()).unwrap();
        for (found, expected) in found.chunks_exact(encoder.dim()).zip(&expected) {
            assert_close(family, found, expected, 2e-4);
        }
        assert_close(family, &encoder.encode(&texts, 3..4).unwrap(), &expected[3], 2e-4);
        let native = Session::new(EncoderChoice::Model(reference().join(family))).unwrap();
        assert_ne!(encoder.fingerprint(), native.encoder().unwrap().fingerprint());
    }
    let side = golden["vit"]["side"].as_u64().unwrap() as usize;
    let pixels: Vec<u8> = (0..3).flat_map(|number| image(number, side, side)).collect();
    let images = Items::Images(homing_data::Inputs::pixels([3, side, side], pixels));
    let session = open("vit");
    let encoder = session.encoder().unwrap();
    let found = encoder.encode(&images, 0..3).unwrap();
    for (found, expected) in found.chunks_exact(encoder.dim()).zip(&rows(&golden["vit"])) {
        assert_close("vit", found, expected, 5e-4);
    }
}

#[cfg(feature = "onnxruntime")]
#[test]
fn broken_onnx_files_are_refused_with_the_reason() {
    if !has_runtime() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.onnx");
    let message = || Session::new(EncoderChoice::Model(path.clone())).err().expect("it is refused").to_string();
    std::fs::copy(reference().join("bert/onnx/model.onnx"), &path).unwrap();
    assert!(message().contains("it has no tokenizer.json"), "{}", message());
    std::fs::copy(reference().join("bert/tokenizer.json"), folder.path().join("tokenizer.json")).unwrap();
    let session = Session::new(EncoderChoice::Model(path.clone())).unwrap();
    assert_eq!(session.encoder().unwrap().name(), "mine");
    std::fs::write(&path, "no model").unwrap();
    assert!(message().contains("mine.onnx is not an encoder that can be used"), "{}", message());
}

/// The folder of all-MiniLM-L6-v2, which `HOMING_TEST_MINILM` names.
fn minilm() -> Option<PathBuf> {
    let folder = std::env::var_os("HOMING_TEST_MINILM").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: HOMING_TEST_MINILM does not name a folder with all-MiniLM-L6-v2");
    }
    folder
}

#[test]
fn minilm_finds_the_text_with_the_same_meaning() {
    let Some(folder) = minilm() else { return };
    let data = tempfile::tempdir().unwrap();
    let (pool, targets) = (data.path().join("pool.txt"), data.path().join("targets.txt"));
    std::fs::write(&pool, "I need new tires for my car\nwhat is the weather like\ntransfer money to my savings\n")
        .unwrap();
    std::fs::write(&targets, "my tyre is flat\nwill it rain tomorrow\n").unwrap();
    let mut session = Session::new(EncoderChoice::Model(folder)).unwrap();
    let pool = session.open(&pool, &ReadOptions::default(), &mut |_| ()).unwrap().pool;
    let targets = session.open(&targets, &ReadOptions::default(), &mut |_| ()).unwrap().pool;
    assert_eq!(pool.dim(), 384);
    let cosine = |row: usize, target: usize| -> f64 {
        pool.embeddings().row(row).iter().zip(targets.embeddings().row(target)).map(|(a, b)| a * b).sum()
    };
    assert!(cosine(0, 0) > cosine(1, 0) && cosine(0, 0) > cosine(2, 0));
    assert!(cosine(1, 1) > cosine(0, 1) && cosine(1, 1) > cosine(2, 1));
    assert!(MINILM.iter().zip(pool.embeddings().row(0)).all(|(expected, found)| (expected - found).abs() < 2e-3));
}

/// The first numbers of the embedding of "I need new tires for my car", computed with PyTorch.
const MINILM: [f64; 4] = [-0.096_620, -0.051_204, -0.025_343, -0.031_786];

#[test]
fn broken_models_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let message = |path: &Path| {
        let error = Session::new(EncoderChoice::Model(path.to_owned())).err().expect("it is refused");
        error.to_string()
    };
    assert!(message(&folder.path().join("none")).contains("it is not a folder"));
    assert!(message(folder.path()).contains("it has no config.json"));
    let copy = |name: &str| std::fs::copy(reference().join("bert").join(name), folder.path().join(name)).unwrap();
    std::fs::write(folder.path().join("config.json"), "{\"model_type\": \"gpt2\"}").unwrap();
    assert!(message(folder.path()).contains("its model_type is \"gpt2\", but only these can be read: bert, "));
    copy("config.json");
    assert!(message(folder.path()).contains("it has no model.safetensors"));
    copy("model.safetensors");
    assert!(message(folder.path()).contains("it has no tokenizer.json"));
    let config = std::fs::read_to_string(folder.path().join("config.json")).unwrap();
    let wide = config.replace("\"intermediate_size\": 32", "\"intermediate_size\": 48");
    assert_ne!(wide, config);
    std::fs::write(folder.path().join("config.json"), wide).unwrap();
    assert!(message(folder.path()).contains("but config.json implies [48, 16]"), "{}", message(folder.path()));
    let cut = std::fs::read(reference().join("bert/model.safetensors")).unwrap();
    std::fs::write(folder.path().join("model.safetensors"), &cut[..cut.len() / 2]).unwrap();
    assert!(message(folder.path()).contains("model.safetensors is not an encoder that can be used"));
}
