#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The hip backend for NVIDIA, without a GPU: over HIP's headers, fetched from a later Debian, and the stand-in for the CUDA
# runtime. Without those headers, or the CUDA toolkit's, which they include, the leg is skipped, and says so.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
work=build/hip-nvidia-refused

skip_all() {
  skipped=$((skipped + 1))
  say "$leg: SKIPPED: $*"
  exit 0
}

configures() { # NAME ROOT
  cmake --preset hip-nvidia-sim -B "$work/$1" -DWARMPOOL_HIP_ROOT="$2" -DCUDAToolkit_ROOT="$toolkit" -DWARMPOOL_TESTS=OFF
}

# says_why TEXT COMMAND...: the command fails, and names the reason.
says_why() {
  text=$1
  shift
  if "$@" >"$work/log" 2>&1; then return 1; fi
  cat "$work/log"
  grep -qF -e "$text" "$work/log"
}

# changed NAME FILE EDIT: a copy of the headers in which a file below include/hip was edited.
changed() {
  mkdir -p "$work/root-$1"
  cp -R "$root/include" "$work/root-$1/"
  sed "$3" "$root/include/hip/$2" >"$work/root-$1/include/hip/$2"
}

links_with_toolkit() {
  cmake --preset hip-nvidia -DWARMPOOL_HIP_ROOT="$root" -DCUDAToolkit_ROOT="$toolkit" -DWARMPOOL_TESTS=OFF &&
    cmake --build build/hip-nvidia --target warmpool_tool && refuses needs_driver
}
needs_driver() { ldd build/hip-nvidia/tools/warmpool | grep -F 'libcuda.so'; }

only_these() { "$@" -R '^(backend|facts|conformance)$'; }

leg hip-nvidia
need_compiler
need_criterion
toolkit=$(cuda_toolkit)
[ -n "$toolkit" ] || skip_all "there is no CUDA toolkit here"
root=$(hip_headers) || skip_all "HIP's headers for NVIDIA cannot be fetched: $(tail -n 1 "$logs/fetch-hip-headers.log")"
rm -rf "$work"
mkdir -p "$work"
changed header nvidia_detail/nvidia_hip_runtime_api.h 's/cudaMemPrefetchAsync(dev_ptr, count/cudaMemPrefetchAsync(dev_ptr,  count/'
changed version hip_version.h 's/\(define HIP_VERSION_MINOR\).*/\1 6/'
check "a header other than the known one is refused" says_why "cudaMemPrefetchAsync" configures header "$PWD/$work/root-header"
check "another version's headers are refused" says_why "5.6" configures version "$PWD/$work/root-version"
check "no headers are told" says_why "WARMPOOL_HIP_ROOT says" configures none "$PWD/$work"
check "it links with the toolkit's runtime, and not with the driver" links_with_toolkit
quiet configure cmake --preset hip-nvidia-sim -DWARMPOOL_HIP_ROOT="$root" -DCUDAToolkit_ROOT="$toolkit"
quiet build cmake --build --preset hip-nvidia-sim --target backend facts conformance -j 2
run_tests hip-nvidia-sim only_these
finish
