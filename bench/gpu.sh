#!/usr/bin/env bash
# Checks and measures choosing on a GPU, in less than eight minutes: `bench/gpu.sh` on a machine with an NVIDIA GPU.
#
# `bench/gpu.sh build` makes target/gpu beforehand, on a machine with a Rust toolchain, and target/gpu.tar.xz, which can be
# carried to a machine without one. Results are printed as they come, the most important first, and written to
# target/gpu/results, or to $OUT if it is set. PyTorch is optional.
set -uo pipefail
cd "$(dirname "$0")/.."
built=target/gpu

build() {
  set -e
  rm -rf "$built"
  mkdir -p "$built/homing"
  cargo build --release -p homing-cli
  cp target/release/homing "$built/command"
  # As maturin does: an extension that is linked to one version of Python cannot be imported by others.
  PYO3_BUILD_EXTENSION_MODULE=1 cargo build --release -p homing-py
  if readelf -d target/release/lib_homing.so | grep -q 'NEEDED.*libpython'; then
    echo "the Python extension needs one version of libpython" >&2
    exit 1
  fi
  cp crates/homing-py/python/homing/*.py "$built/homing/"
  cp target/release/lib_homing.so "$built/homing/_homing.abi3.so"
  program() {
    cargo "${@:2}" --message-format=json |
      sed -n 's/.*"target":{[^}]*"name":"'"$1"'".*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
  }
  cp "$(program device build --release -p homing-cuda --bench device)" "$built/device"
  cp "$(program homing_cuda test --release -p homing-cuda --lib --no-run)" "$built/unit"
  strip "$built/command" "$built/device" "$built/unit" "$built/homing/_homing.abi3.so"
  tar -C target -cJf "$built.tar.xz" gpu
  du -sh "$built" "$built.tar.xz"
}

if [ "${1-}" = build ]; then
  build
  exit
fi
if [ ! -x "$built/device" ] && [ -e "$built.tar.xz" ]; then
  tar -C target -xJf "$built.tar.xz"
fi
if [ ! -x "$built/device" ]; then
  echo "$built is missing; run \`bench/gpu.sh build\` first" >&2
  exit 1
fi
out=${OUT:-$built/results}
mkdir -p "$out"
log=$out/gpu.log
: > "$log"
failed=0

# Runs a step within a number of seconds.
step() {
  local title=$1 seconds=$2 start=$SECONDS
  shift 2
  echo "== $title" | tee -a "$log"
  timeout -k 2 "$seconds" "$@" 2>&1 | tee -a "$log"
  local code=${PIPESTATUS[0]}
  if [ "$code" = 124 ] || [ "$code" = 137 ]; then
    echo "   (cut after $seconds s)" | tee -a "$log"
  elif [ "$code" != 0 ]; then
    failed=1
    echo "FAILED with $code: $title" | tee -a "$log"
  fi
  echo "   ($((SECONDS - start)) s)" | tee -a "$log"
}

python=${PYTHON:-python3}
export PYTHONPATH=$built${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
if ! ldconfig -p | grep -q libcublas && [ -d /usr/local/cuda/lib64 ]; then
  export LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

step "machine" 20 sh -c 'nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; nproc; date -u'
step "products stay within their bounds" 60 "$built/unit" products --nocapture
if [ -x "$built/command" ] && [ -e "$built/homing/_homing.abi3.so" ]; then
  step "the command and Python" 70 "$python" bench/gpu.py "$built/command"
else
  echo "skipped: the command and Python, which are not in $built" | tee -a "$log"
fi
step "1M and 10M random rows" 60 "$built/device" 1m random
step "one pass per pick in PyTorch, and a scan" 60 "$python" crates/homing-cuda/benches/torch_loop.py 1m 10m 50m
step "picks equal those of the CPU" 100 "$built/device" check
step "50M rows in bf16" 60 "$built/device" 50m
step "10M clustered rows" 50 "$built/device" 10m
step "upload, and rows in the memory of the machine" 30 "$built/device" upload
[ "$failed" = 0 ] && echo "all steps passed" | tee -a "$log"
exit "$failed"
