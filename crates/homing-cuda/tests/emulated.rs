//! The arithmetic of the kernels, on a machine without a GPU: a C++ compiler builds `kernels.cu` with `emulated/shim.h`, and
//! `emulated/laws.cpp` checks what each kernel must satisfy.

use std::path::Path;
use std::process::Command;

#[test]
fn kernels_obey_their_laws_when_threads_of_the_cpu_run_them() {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let is_recent = |compiler: &str| {
        // std::barrier came with C++20.
        let source = "#include <barrier>\nint main() { std::barrier<> all(1); all.arrive_and_wait(); }";
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let file = folder.join("recent.cpp");
        std::fs::write(&file, source).is_ok()
            && Command::new(compiler)
                .args(["-std=c++20", "-pthread", "-o"])
                .arg(folder.join("recent"))
                .arg(&file)
                .output()
                .is_ok_and(|output| output.status.success())
    };
    if !is_recent(&compiler) {
        println!("skipped: there is no compiler of C++20 (CXX names one)");
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for real in ["float", "double"] {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("laws-{real}"));
        let built = Command::new(&compiler)
            .args(["-std=c++20", "-O1", "-pthread", "-ffp-contract=off", &format!("-DREAL={real}"), "-I"])
            .arg(here.join("src"))
            .arg("-o")
            .arg(&program)
            .arg(here.join("tests/emulated/laws.cpp"))
            .output()
            .expect("the compiler was there a moment ago");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let run = Command::new(&program).output().expect("the program was built");
        assert!(run.status.success(), "in {real}: {}", String::from_utf8_lossy(&run.stderr));
    }
}
