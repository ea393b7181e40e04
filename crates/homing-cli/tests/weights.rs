//! Weights for `homing finetune` and `homing embed`.
#![cfg(feature = "train")]

mod bars;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bars::{bars, ended, finetune, homing, refused, said};
use half::{bf16, f16};
use safetensors::tensor::{TensorView, serialize};
use safetensors::{Dtype, SafeTensors};

/// Converts a number to another type.
type Number<'a> = &'a dyn Fn(f32) -> Vec<u8>;

/// Data, the weights of a run over them, and a folder for more.
struct World {
    folder: tempfile::TempDir,
    data: PathBuf,
    weights: PathBuf,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = bars(folder.path(), 4);
        let run = folder.path().join("run");
        let output = finetune(&data, &run, &["--against", "none", "--rounds", "1", "--quiet"]).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        Self { folder, data, weights: run.join("itl-3/model.safetensors") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the weights in another type.
    fn retyped(&self, dtype: Dtype, number: impl Fn(f32) -> Vec<u8>) -> PathBuf {
        let bytes = fs::read(&self.weights).unwrap();
        let convert = |data: &[u8]| -> Vec<u8> {
            data.as_chunks().0.iter().flat_map(|&bytes| number(f32::from_le_bytes(bytes))).collect()
        };
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensors: Vec<_> =
            file.iter().map(|(name, view)| (name, view.shape().to_vec(), convert(view.data()))).collect();
        let views =
            tensors.iter().map(|(name, shape, data)| (name, TensorView::new(dtype, shape.clone(), data).unwrap()));
        let path = self.path(&format!("{dtype}.safetensors"));
        fs::write(&path, serialize(views, None).unwrap()).unwrap();
        path
    }

    fn embed(&self, weights: &Path, out: &Path) -> Command {
        let mut command = homing();
        command.arg("embed").arg(&self.data).arg("--weights").arg(weights).arg("--out").arg(out).arg("--quiet");
        command
    }

    fn finetune(&self, weights: &Path) -> Output {
        let run = self.path("again");
        let more = ["--rounds", "1", "--against", "none", "--quiet", "--weights", weights.to_str().unwrap()];
        let output = ended(&mut finetune(&self.data, &run, &more));
        let _ = fs::remove_dir_all(run);
        output
    }
}

#[test]
fn weights_in_half_and_double_precision_serve_and_integers_are_refused() {
    let world = World::new();
    let types: [(Dtype, Number<'_>); 3] = [
        (Dtype::F16, &|number| f16::from_f32(number).to_le_bytes().to_vec()),
        (Dtype::BF16, &|number| bf16::from_f32(number).to_le_bytes().to_vec()),
        (Dtype::F64, &|number| f64::from(number).to_le_bytes().to_vec()),
    ];
    for (dtype, number) in types {
        let weights = world.retyped(dtype, number);
        let output = world.finetune(&weights);
        assert!(output.status.success(), "{dtype}: {}", said(&output));
        let output = world.embed(&weights, &world.path("pool.npy")).output().unwrap();
        assert!(output.status.success(), "{dtype}: {}", said(&output));
    }
    let integers = world.retyped(Dtype::I32, |number| (number as i32).to_le_bytes().to_vec());
    refused(&world.finetune(&integers), &["holds I32, not floats; save the weights as float32"]);
    let out = world.path("none.npy");
    refused(&world.embed(&integers, &out).output().unwrap(), &["holds I32, not floats"]);
    let beyond = world.retyped(Dtype::F64, |_| 1e300f64.to_le_bytes().to_vec());
    refused(&world.finetune(&beyond), &["is not finite; save the weights again"]);
    refused(&world.embed(&beyond, &out).output().unwrap(), &["is not finite"]);
    assert!(!out.exists());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_refused() {
    let world = World::new();
    let pipe = world.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&world.finetune(&pipe), &["pipe is not a regular file"]);
    let out = world.path("pool.npy");
    refused(&ended(&mut world.embed(&pipe, &out)), &["pipe is not a regular file"]);
    let lite = ["--model", "efficientnet-lite0"];
    refused(&ended(world.embed(&pipe, &out).args(lite)), &["pipe is not a regular file"]);
    let run = world.path("pipes");
    for option in ["--labels", "--targets"] {
        let output = ended(&mut finetune(&world.data, &run, &[option, pipe.to_str().unwrap()]));
        assert_eq!(output.status.code(), Some(2), "{option}: {}", said(&output));
        assert!(!run.exists());
    }
    // A pipe in the folder of a run.
    let good = world.path("run");
    for name in ["plan.json", "lock", "itl-3/rounds/0001.json", "itl-3/model.safetensors", "itl-3/pending.json"] {
        let (place, aside) = (good.join(name), world.path("aside"));
        let there = place.exists();
        if there {
            fs::rename(&place, &aside).unwrap();
        }
        assert!(Command::new("mkfifo").arg(&place).status().unwrap().success());
        let output = ended(homing().arg("finetune").arg("--resume").arg(&good).arg("--quiet"));
        refused(&output, &["regular file"]);
        fs::remove_file(&place).unwrap();
        if there {
            fs::rename(&aside, &place).unwrap();
        }
    }
}

#[test]
fn what_is_embedded_is_not_written_over() {
    let world = World::new();
    let before = fs::read(&world.weights).unwrap();
    refused(&world.embed(&world.weights, &world.weights).output().unwrap(), &["is an input and would be overwritten"]);
    assert_eq!(fs::read(&world.weights).unwrap(), before);
    let inside = world.data.join("pool.npy");
    refused(&world.embed(&world.weights, &inside).output().unwrap(), &["lies in", "which is an input"]);
    let output = finetune(&world.data, &world.data.join("run"), &[]).output().unwrap();
    refused(&output, &["lies in", "which is an input"]);
    assert_eq!(fs::read_dir(&world.data).unwrap().count(), 4);
}
