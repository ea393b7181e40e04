//! Comparison of the EfficientNets with torchvision and timm (`reference/efficientnet.py`); their weights files and their
//! cache.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::tensor::Device;
use homing_train::models::LastBlock;
use homing_train::models::efficientnet::{Design, EfficientNet, MAPS, Padding, SIDE, Trunk, feature_maps};
use homing_train::{
    Draw, Examples, Inputs, LabelledExamples, Learner, Lesson, LessonEnd, Network, Result, accuracy, device,
};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors, serialize};
use serde_json::Value;

/// Tensors of a weights file: shapes and numbers by name.
type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

fn cpu() -> Device {
    device("cpu").unwrap()
}

/// FNV-1a hash, 64 bits.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The function `noise` of the reference.
fn noise(name: &str, count: usize) -> Vec<f64> {
    let seed = fnv(name) as u32;
    let mix = |at: usize| {
        let mut x = seed.wrapping_add((at as u32).wrapping_mul(2_654_435_761));
        x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
        f64::from(x ^ (x >> 16)) / f64::from(1u32 << 31) - 1.0
    };
    (0..count).map(mix).collect()
}

/// The function `weights` of the reference, for one tensor.
fn random(name: &str, shape: &[usize]) -> Vec<f32> {
    let inputs: usize = shape[1..].iter().product();
    let value = |u: f64| match shape.len() {
        1 if name.ends_with("running_var") => 1.0 + 0.5 * u,
        1 if name.ends_with("weight") => 1.0 + 0.1 * u,
        1 => 0.1 * u,
        _ => (6.0 / inputs as f64).sqrt() * u,
    };
    noise(name, shape.iter().product()).into_iter().map(|u| value(u) as f32).collect()
}

/// The function `image` of the reference.
fn image() -> Vec<u8> {
    let grain = noise("image", 3 * SIDE * SIDE);
    let pixel = |at: usize| {
        let (c, y, x) = ((at / SIDE / SIDE) as f64, (at / SIDE % SIDE) as f64, (at % SIDE) as f64);
        let waves = (0.05 * (c + 1.0) * x).sin() + (0.03 * (c + 2.0) * y).cos();
        (127.5 + 50.0 * waves + 20.0 * grain[at]).floor() as u8
    };
    (0..3 * SIDE * SIDE).map(pixel).collect()
}

fn golden() -> Value {
    serde_json::from_str(include_str!("reference/efficientnet.json")).unwrap()
}

/// Names of the layers in one library.
struct Naming {
    stem: [&'static str; 2],
    /// Prefix of a block, from the number of its stage and its number in the stage, both counted from 0.
    block: fn(usize, usize) -> String,
    /// Layers of a block with expansion: expand, depthwise, project, each with its norm; squeeze, excite.
    expanded: [&'static str; 8],
    /// Layers of a block without expansion.
    plain: [&'static str; 8],
    last: [&'static str; 2],
    head: &'static str,
}

const TORCHVISION: Naming = Naming {
    stem: ["features.0.0", "features.0.1"],
    block: |stage, repeat| format!("features.{}.{repeat}.block", stage + 1),
    expanded: ["0.0", "0.1", "1.0", "1.1", "3.0", "3.1", "2.fc1", "2.fc2"],
    plain: ["", "", "0.0", "0.1", "2.0", "2.1", "1.fc1", "1.fc2"],
    last: ["features.8.0", "features.8.1"],
    head: "classifier.1",
};

const TIMM: Naming = Naming {
    stem: ["conv_stem", "bn1"],
    block: |stage, repeat| format!("blocks.{stage}.{repeat}"),
    expanded: ["conv_pw", "bn1", "conv_dw", "bn2", "conv_pwl", "bn3", "se.conv_reduce", "se.conv_expand"],
    plain: ["", "", "conv_dw", "bn1", "conv_pw", "bn2", "se.conv_reduce", "se.conv_expand"],
    last: ["conv_head", "bn2"],
    head: "classifier",
};

const NVIDIA: Naming = Naming {
    stem: ["stem.conv", "stem.bn"],
    block: |stage, repeat| format!("layers.{stage}.block{repeat}"),
    expanded: [
        "expand.conv",
        "expand.bn",
        "depsep.conv",
        "depsep.bn",
        "proj.conv",
        "proj.bn",
        "se.squeeze",
        "se.expand",
    ],
    plain: ["", "", "depsep.conv", "depsep.bn", "proj.conv", "proj.bn", "se.squeeze", "se.expand"],
    last: ["features.conv", "features.bn"],
    head: "classifier.fc",
};

/// Names and shapes of the tensors of a library, in the same order for every library.
fn shapes(naming: &Naming, squeeze_excite: bool, classes: usize) -> Vec<(String, Vec<usize>)> {
    let mut shapes: Vec<(String, Vec<usize>)> = Vec::new();
    let mut conv = |name: &str, norm: &str, shape: [usize; 4]| {
        shapes.push((format!("{name}.weight"), shape.to_vec()));
        let parts = ["weight", "bias", "running_mean", "running_var"];
        shapes.extend(parts.map(|part| (format!("{norm}.{part}"), vec![shape[0]])));
    };
    conv(naming.stem[0], naming.stem[1], [32, 3, 3, 3]);
    conv(naming.last[0], naming.last[1], [1280, 320, 1, 1]);
    let mut excite = Vec::new();
    let mut inputs = 32;
    let stages =
        [(1, 16, 1, 3), (6, 24, 2, 3), (6, 40, 2, 5), (6, 80, 3, 3), (6, 112, 3, 5), (6, 192, 4, 5), (6, 320, 1, 3)];
    for (stage, (expansion, outputs, repeats, kernel)) in stages.into_iter().enumerate() {
        for repeat in 0..repeats {
            let names = if expansion == 1 { naming.plain } else { naming.expanded };
            let names = names.map(|name| format!("{}.{name}", (naming.block)(stage, repeat)));
            let inner = inputs * expansion;
            if expansion > 1 {
                conv(&names[0], &names[1], [inner, inputs, 1, 1]);
            }
            conv(&names[2], &names[3], [inner, 1, kernel, kernel]);
            conv(&names[4], &names[5], [outputs, inner, 1, 1]);
            excite.push((names[6].clone(), [inputs / 4, inner]));
            excite.push((names[7].clone(), [inner, inputs / 4]));
            inputs = outputs;
        }
    }
    for (name, [to, from]) in excite.into_iter().filter(|_| squeeze_excite) {
        shapes.push((format!("{name}.weight"), vec![to, from, 1, 1]));
        shapes.push((format!("{name}.bias"), vec![to]));
    }
    shapes.push((format!("{}.weight", naming.head), vec![classes, 1280]));
    shapes.push((format!("{}.bias", naming.head), vec![classes]));
    shapes
}

/// Random weights with the names of a library.
fn tensors(naming: &Naming, squeeze_excite: bool, classes: usize) -> Tensors {
    let with_values = |(name, shape): (String, Vec<usize>)| {
        let values = random(&name, &shape);
        (name, (shape, values))
    };
    shapes(naming, squeeze_excite, classes).into_iter().map(with_values).collect()
}

fn file(tensors: &Tensors) -> Vec<u8> {
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let stored: Vec<_> = tensors.iter().map(|(name, (shape, values))| (name, shape, bytes(values))).collect();
    let views =
        stored.iter().map(|(name, shape, data)| (name, TensorView::new(Dtype::F32, (*shape).clone(), data).unwrap()));
    serialize(views, None).unwrap()
}

/// Lite0 with random weights and three classes.
fn small() -> EfficientNet {
    EfficientNet::from_bytes(&file(&tensors(&TIMM, false, 3)), Design::LITE0).unwrap()
}

#[track_caller]
fn assert_close(found: f32, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((f64::from(found) - expected).abs() < 1e-4, "{what}: {found} is not {expected}");
}

/// Asserts that the feature maps and logits of the reference image are the golden ones.
#[track_caller]
fn assert_golden(net: &EfficientNet, golden: &Value) {
    let pixels: Vec<f32> = image().into_iter().map(f32::from).collect();
    let maps = net.trunk(&cpu()).maps(pixels);
    assert_eq!(maps.len(), MAPS.iter().product::<usize>());
    for (at, expected) in golden["features"].as_array().unwrap().iter().enumerate() {
        assert_close(maps[1601 * at], expected, "feature");
    }
    let head = Network::new(net.pretrained(&cpu()).unwrap(), &cpu(), (0.0, 1.0));
    let inputs = Inputs::rows(maps.len(), maps);
    let logits = head.predict(Examples { inputs: &inputs, rows: &[0] }).unwrap().outputs;
    for (at, expected) in golden["logits"].as_array().unwrap().iter().enumerate() {
        assert_close(logits[97 * at], expected, "logit");
    }
    for pair in golden["top"].as_array().unwrap() {
        assert_close(logits[pair[0].as_u64().unwrap() as usize], &pair[1], "top logit");
    }
    let top = golden["top"][0][0].as_u64().unwrap() as usize;
    assert!(logits.iter().all(|&logit| logit <= logits[top]));
}

#[test]
fn the_image_is_that_of_the_reference() {
    for (at, expected) in golden()["image"].as_array().unwrap().iter().enumerate() {
        assert_eq!(f64::from(image()[15013 * at]), expected.as_f64().unwrap());
    }
}

/// Returns `$HOMING_DATA`, or the folder of the project's data.
fn data() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("HOMING_DATA").map_or(default, PathBuf::from)
}

#[test]
fn lite0_has_the_logits_of_timm() {
    let path = data().join("efficientnet_lite0.safetensors");
    if !path.exists() {
        eprintln!("skipped: {} does not exist; set HOMING_DATA to its folder", path.display());
        return;
    }
    assert_golden(&EfficientNet::open(&path, Design::LITE0).unwrap(), &golden()["lite0"]);
}

#[test]
fn b0_has_the_logits_of_torchvision_and_timm() {
    let same = Design { padding: Padding::Same, norm_eps: 1e-3, ..Design::B0 };
    let cases =
        [("b0 torchvision", TORCHVISION, Design::B0), ("b0 timm", TIMM, Design::B0), ("b0 timm tf", TIMM, same)];
    for (name, naming, design) in cases {
        let golden = &golden()[name];
        let tensors = tensors(&naming, true, 1000);
        let extents = |shape: &[usize]| shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        let lines: Vec<_> = tensors.iter().map(|(name, (shape, _))| format!("{name} {}\n", extents(shape))).collect();
        assert_eq!(format!("{:016x}", fnv(&lines.concat())), golden["names"].as_str().unwrap(), "{name}: names");
        assert_golden(&EfficientNet::from_bytes(&file(&tensors), design).unwrap(), golden);
    }
}

/// NVIDIA's network is B0 with an ε of 10⁻³ under other names, so the same numbers under both names are the same network, and the
/// scale of its pixels is the design's.
#[test]
fn b0_of_nvidia_is_that_of_torchvision_with_another_epsilon() {
    let ours = tensors(&TORCHVISION, true, 10);
    let pairs = shapes(&NVIDIA, true, 10).into_iter().zip(shapes(&TORCHVISION, true, 10));
    let renamed: Tensors = pairs.map(|((theirs, _), (name, _))| (theirs, ours[&name].clone())).collect();
    assert_eq!(renamed.len(), ours.len());
    let outputs = |tensors: &Tensors, design: Design| {
        let net = EfficientNet::from_bytes(&file(tensors), design).unwrap();
        let maps = net.trunk(&cpu()).maps(image().into_iter().map(f32::from).collect());
        maps.iter().map(|map| map.to_bits()).collect::<Vec<u32>>()
    };
    let nvidia = outputs(&renamed, Design::B0);
    assert!(nvidia == outputs(&ours, Design { norm_eps: 1e-3, ..Design::B0 }));
    assert!(nvidia != outputs(&ours, Design::B0));
    let half = Design { norm_eps: 1e-3, shift: [127.5; 3], scale: [127.5; 3], ..Design::B0 };
    assert!(outputs(&renamed, Design::B0_HALF) == outputs(&ours, half));
}

#[track_caller]
fn refusal(tensors: &Tensors, design: Design) -> String {
    EfficientNet::from_bytes(&file(tensors), design).unwrap_err().to_string()
}

#[test]
fn every_tensor_that_does_not_fit_is_named() {
    let mut wrong = tensors(&TORCHVISION, true, 10);
    wrong.remove("features.0.0.weight");
    wrong.remove("features.3.1.block.2.fc1.bias");
    wrong.insert("extra".into(), (vec![1], vec![0.0]));
    wrong.insert("features.8.1.bias".into(), (vec![640], vec![0.0; 640]));
    assert_eq!(
        refusal(&wrong, Design::B0),
        "the weights do not fit the network: 2 tensors are missing (features.0.0.weight, features.3.1.block.2.fc1.bias); \
         1 tensor is unexpected (extra); 1 tensor is of another shape or type (features.8.1.bias is [640], not [1280]); \
         give the weights of efficientnet-b0 as torchvision names them"
    );
}

#[test]
fn many_tensors_are_counted() {
    let message = refusal(&tensors(&TIMM, false, 10), Design::B0);
    assert!(message.contains("64 tensors are missing (") && message.contains(" and 60 more)"), "{message}");
    let message = refusal(&tensors(&TIMM, true, 10), Design::LITE0);
    assert!(message.contains("64 tensors are unexpected (") && message.contains("as timm names them"), "{message}");
}

#[test]
fn files_of_something_else_are_refused() {
    let other = Tensors::from([("model.embed.weight".into(), (vec![2], vec![0.0; 2]))]);
    let message = refusal(&other, Design::B0);
    assert!(message.contains("none of the tensor names of") && message.contains("model.embed.weight"), "{message}");
    let message = EfficientNet::from_bytes(b"<html>", Design::B0).unwrap_err().to_string();
    assert!(message.contains("not a safetensors file"), "{message}");
}

/// Runs only if ORT_DYLIB_PATH names the library of ONNX Runtime.
#[cfg(feature = "onnxruntime")]
#[test]
fn onnx_runtime_computes_the_same_maps() {
    let Some(library) = std::env::var_os("ORT_DYLIB_PATH") else {
        println!("skipped: ORT_DYLIB_PATH does not name ONNX Runtime's library");
        return;
    };
    let two: Vec<f32> = image().into_iter().chain(image().into_iter().rev()).map(f32::from).collect();
    for (design, excite) in [(Design::LITE0, false), (Design::B0, true)] {
        let net = EfficientNet::from_bytes(&file(&tensors(&TIMM, excite, 3)), design).unwrap();
        let (ours, theirs) = (net.trunk(&cpu()), net.trunk_in_onnx(Path::new(&library)).unwrap());
        let (ours, theirs) = (ours.maps(two.clone()), theirs.maps(two.clone()));
        let largest = ours.iter().fold(0.0f32, |most, value| most.max(value.abs()));
        let difference = ours.iter().zip(&theirs).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
        assert_eq!(ours.len(), theirs.len());
        assert!(largest > 0.1 && difference < 1e-4 * largest, "{difference} of {largest}");
    }
}

#[test]
fn a_file_may_lack_the_classifier_and_count_batches() {
    let mut bare = tensors(&TIMM, false, 10);
    bare.remove("classifier.weight");
    bare.remove("classifier.bias");
    bare.insert("bn1.num_batches_tracked".into(), (vec![1], vec![0.0]));
    let net = EfficientNet::from_bytes(&file(&bare), Design::LITE0).unwrap();
    assert!(net.pretrained(&cpu()).unwrap_err().to_string().contains("no classifier"));
    net.last_block(5, &mut Draw::new(0, 0, &cpu()));
}

/// Noisy grey images of 4 × 4 pixels.
fn images(name: &str, count: usize) -> Inputs {
    Inputs::pixels(
        [1, 4, 4],
        noise(name, 16 * count).into_iter().map(|u| (127.5 + 127.0 * u) as u8).collect::<Vec<u8>>(),
    )
}

/// Returns the feature maps of all images.
fn maps_of(
    trunk: &Trunk,
    images: &Inputs,
    folder: &Path,
    progress: impl FnMut(usize) -> ControlFlow<()>,
) -> Result<Option<Inputs>> {
    let rows: Vec<usize> = (0..images.len()).collect();
    feature_maps(trunk, Examples { inputs: images, rows: &rows }, folder, progress)
}

/// Returns the feature maps of all images, without progress.
fn complete_maps(trunk: &Trunk, images: &Inputs, folder: &Path) -> Inputs {
    maps_of(trunk, images, folder, |_| ControlFlow::Continue(())).unwrap().unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn feature_maps_are_computed_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = &folder.path().join("new/folder");
    let (trunk, few) = (small().trunk(&cpu()), images("few", 3));
    let first = complete_maps(&trunk, &few, folder);
    assert_eq!((first.len(), first.size()), (3, 15_680));
    let path = &files(folder)[0];
    let bytes = fs::read(path).unwrap();
    // The maps come from the file, so there is no progress.
    let again = maps_of(&trunk, &few, folder, |_| panic!("the maps were computed again")).unwrap().unwrap();
    assert_eq!(again.read(&[0, 1, 2]).unwrap(), first.read(&[0, 1, 2]).unwrap());
    assert!(fs::read(path).unwrap() == bytes);
    // The numbers are those of the trunk, in half precision.
    let exact = trunk.maps(few.resized_rgb(&[1], SIDE).unwrap());
    for (kept, exact) in first.read(&[1]).unwrap().into_iter().zip(exact) {
        assert!((kept - exact).abs() <= exact.abs() / 2048.0 + 1e-7, "{kept} is not {exact}");
    }
    // Other images have another file. The maps of an image do not depend on the other images.
    let some = Examples { inputs: &few, rows: &[2, 1] };
    let some = feature_maps(&trunk, some, folder, |_| ControlFlow::Continue(())).unwrap().unwrap();
    assert_eq!(some.read(&[1, 0]).unwrap(), first.read(&[1, 2]).unwrap());
    assert_eq!(files(folder).len(), 2);
    // Other weights have another file.
    let mut changed = tensors(&TIMM, false, 3);
    changed.get_mut("blocks.4.1.conv_dw.weight").unwrap().1[7] += 0.5;
    let changed = EfficientNet::from_bytes(&file(&changed), Design::LITE0).unwrap().trunk(&cpu());
    assert_ne!(complete_maps(&changed, &few, folder).read(&[0]).unwrap(), first.read(&[0]).unwrap());
    assert_eq!(files(folder).len(), 3);
    assert!(fs::read(path).unwrap() == bytes);
}

#[test]
fn a_truncated_cache_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (trunk, few) = (small().trunk(&cpu()), images("few", 2));
    complete_maps(&trunk, &few, folder.path());
    let path = &files(folder.path())[0];
    let bytes = fs::read(path).unwrap();
    for length in [bytes.len() - 1, bytes.len() - 31_360, 100, 3, 0] {
        fs::write(path, &bytes[..length]).unwrap();
        complete_maps(&trunk, &few, folder.path());
        assert!(fs::read(path).unwrap() == bytes, "cut off at {length}");
    }
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn only_one_of_several_threads_computes_the_maps() {
    let folder = tempfile::tempdir().unwrap();
    let (trunk, few, calls) = (small().trunk(&cpu()), images("few", 2), AtomicUsize::new(0));
    let count = |_| {
        calls.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let all: Vec<Vec<f32>> = std::thread::scope(|scope| {
        let make = || maps_of(&trunk, &few, folder.path(), count).unwrap().unwrap().read(&[0, 1]).unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.iter().all(|maps| *maps == all[0]));
    assert_eq!((calls.into_inner(), files(folder.path()).len()), (1, 1));
}

#[test]
fn stopped_work_continues() {
    let folder = tempfile::tempdir().unwrap();
    let (trunk, few) = (small().trunk(&cpu()), images("few", 2));
    let stopped = maps_of(&trunk, &few, folder.path(), |_| ControlFlow::Break(())).unwrap();
    assert!(stopped.is_none());
    assert_eq!(complete_maps(&trunk, &few, folder.path()).len(), 2);
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn rows_that_are_not_images_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rows = Inputs::rows(3, vec![0.0; 3]);
    let refused = maps_of(&small().trunk(&cpu()), &rows, folder.path(), |_| ControlFlow::Continue(()));
    assert!(refused.unwrap_err().to_string().contains("images"));
}

fn learner(net: &EfficientNet, classes: usize) -> Network<LastBlock> {
    Network::new(net.last_block(classes, &mut Draw::new(0, 0, &cpu())), &cpu(), (0.0, 1.0))
}

/// Returns `count` feature maps of noise.
fn maps(count: usize) -> Inputs {
    Inputs::rows(15_680, noise("maps", count * 15_680).into_iter().map(|u| u as f32).collect())
}

#[test]
fn the_last_block_learns_and_returns_to_where_it_started() {
    let mut learner = learner(&small(), 2);
    let (inputs, rows, labels) = (maps(8), [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 0, 1, 1, 0, 1, 0]);
    let examples = Examples { inputs: &inputs, rows: &rows };
    let train = LabelledExamples { examples, labels: &labels };
    learner.restart(3);
    let before = learner.predict(examples).unwrap();
    let lesson = Lesson { minibatch_size: 4, seed: 1, ..Lesson::new(train, LessonEnd::Epochs(20), 1e-3) };
    let curve = learner.fit(&lesson).unwrap();
    assert!(curve.epochs[19].loss < 0.5 * curve.epochs[0].loss, "{curve:?}");
    assert_eq!(accuracy(&learner, train).unwrap(), 1.0);
    let trained = learner.predict(examples).unwrap();
    assert_ne!(trained.hidden, before.hidden);
    let saved = learner.save().unwrap();
    learner.restart(4);
    let other_head = learner.predict(examples).unwrap();
    assert_eq!(other_head.hidden, before.hidden);
    assert_ne!(other_head.outputs, before.outputs);
    learner.restart(3);
    assert_eq!(learner.predict(examples).unwrap().outputs, before.outputs);
    learner.load(saved).unwrap();
    assert_eq!(learner.predict(examples).unwrap().outputs, trained.outputs);
}

/// The gradient with respect to each kind of weight equals the finite difference of the outputs.
#[test]
fn gradients_are_finite_differences() {
    let net = EfficientNet::from_bytes(&file(&tensors(&TIMM, true, 3)), Design::B0).unwrap();
    let mut learner = learner(&net, 2);
    let inputs = maps(1);
    let example = Examples { inputs: &inputs, rows: &[0] };
    let gradients = learner.gradients(example, 0).unwrap();
    let saved = learner.save().unwrap();
    let sizes = [("conv", 320 * 1280), ("gain", 1280), ("bias", 1280), ("last.weight", 1280 * 2), ("last.bias", 2)];
    assert_eq!(gradients.len(), 2 * sizes.iter().map(|(_, size)| size).sum::<usize>());
    let mut start = 0;
    for (name, size) in sizes {
        for at in [0, size / 3, size - 1] {
            let mut moved = |by: f32| {
                learner.load(nudged(&saved, name, at, by)).unwrap();
                learner.predict(example).unwrap().outputs
            };
            let (up, down) = (moved(0.05), moved(-0.05));
            for class in 0..2 {
                let found = gradients[class * gradients.len() / 2 + start + at];
                let expected = (up[class] - down[class]) / 0.1;
                assert!(
                    (found - expected).abs() < 2e-5 + 1e-2 * expected.abs(),
                    "{name}[{at}]: {found} is not {expected}"
                );
            }
        }
        start += size;
    }
}

/// Returns a weights file with one number changed.
fn nudged(saved: &[u8], name: &str, at: usize, by: f32) -> Vec<u8> {
    let read = SafeTensors::deserialize(saved).unwrap();
    let mut tensors: Tensors = Tensors::new();
    for (name, view) in read.tensors() {
        let values = view.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        tensors.insert(name, (view.shape().to_vec(), values));
    }
    tensors.get_mut(name).unwrap().1[at] += by;
    file(&tensors)
}
