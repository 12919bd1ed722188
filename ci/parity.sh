#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# src/hip is src/cuda with other names. Prints where it is not, and fails at a difference that gives no reason: the number
# of a fact (docs/facts.md), as in "H9", in a comment among its lines. Lines with one line between them are one difference.
set -eu
cd "$(dirname "$0")/.."
work=build/parity
mkdir -p "$work"

# What the two vendors name differently and mean the same, and the calls that src/cuda/entry.h puts to the driver itself.
rename() {
  sed -E -e 's/cuda_runtime_api/hip\/hip_runtime_api/; s/CUDART_VERSION/HIP_VERSION/g' \
    -e 's/ErrorCudartUnloading/ErrorDeinitialized/g; s/ErrorMemoryAllocation/ErrorOutOfMemory/g' \
    -e 's/cuda/hip/g; s/CUDA/HIP/g; s/(struct|enum) (hip[A-Z])/\2/g' -e '/#include "entry.h"/d; s/wp__hip_is_capturing\(/hipStreamIsCapturing(/' \
    -e 's/wp__hip_finish\(wp__hip_[a-z_]+\((.*)\), "(hip[A-Za-z]+)"\)/CALL(\2, \1)/' "$1"
}

# native() is explained once, where it stands.
plain() { sed -e 's/native(stream)/stream/g' "$1"; }

status=0
for file in backend.c call.c call.h; do
  rename "src/cuda/$file" >"$work/cuda-$file"
  plain "src/hip/$file" >"$work/hip-$file"
  diff -U 1 "$work/cuda-$file" "$work/hip-$file" >"$work/$file.diff" || true
  awk -v file="$file" '
    function judge() {
      if (hunk == "") return
      all++
      if (reason) return
      bad++
      print "src/hip/" file " differs from src/cuda and does not say why:"
      printf "%s", hunk
    }
    /^(---|[+][+][+]) / { next }
    /^@@/ { judge(); hunk = ""; reason = 0 }
    { hunk = hunk $0 "\n" }
    /^[+].*[\/][*].*H[0-9]+/ || /^[+] +[*].*H[0-9]+/ { reason = 1 }
    END {
      judge()
      print "src/hip/" file ": " all + 0 " differences, " bad + 0 " of them without a reason"
      exit bad > 0
    }' "$work/$file.diff" || status=1
done
exit "$status"
