//! `homing select --device` where there is no GPU, and names that are wrong anywhere.

mod folder;

use folder::Folder;

const SELECT: &str = "select pool.csv --targets targets.csv --cost-column cost -n 5 --out -";

#[test]
fn wrong_names_are_refused_with_the_names_that_are_right() {
    let folder = Folder::new();
    for name in ["gpu", "cuda:x", "cuda:0,0", "cuda:-1", "0"] {
        let problem = format!("\"{name}\" is not a device");
        let remedy = "write `--device cuda:0` (`cuda:0,1` for several), `--device auto` or `--device cpu`";
        folder.refuses(&format!("{SELECT} --device={name}"), &[&problem, remedy]);
    }
}

#[test]
fn without_a_gpu_there_is_one_sentence_with_a_remedy() {
    if homing_cuda::Device::count() > 0 {
        println!("skipped: there is a GPU");
        return;
    }
    let folder = Folder::new();
    folder.refuses(&format!("{SELECT} --device cuda:0"), &["there is no NVIDIA", "leave `--device` out"]);
}

#[test]
fn auto_chooses_from_a_small_pool_on_the_cpu() {
    let folder = Folder::new();
    assert_eq!(folder.succeeds(&format!("{SELECT} --device auto")), folder.succeeds(SELECT));
}
