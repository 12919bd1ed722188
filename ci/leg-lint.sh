#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What can be said about the sources without running them.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh

# sources PATTERN...: the project's files whose names match.
sources() {
  for pattern in "$@"; do
    find . \( -path ./.git -o -path ./build -o -path ./out -o -path ./.cache \) -prune -o -type f -name "$pattern" -print
  done
}

formatted() { sources '*.[ch]' '*.cpp' | xargs clang-format --dry-run -Werror; }

tidy() {
  tidy=0
  find src bench tools -name '*.c' ! -path 'src/cuda/*' ! -path 'src/hip/*' ! -name 'vendor_[ch][ui]*.c' -print0 |
    xargs -0 -n 1 -P 2 clang-tidy -p build/lint --quiet >"$logs/lint-tidy.log" 2>"$logs/lint-tidy.err" || tidy=1
  for vendor in cuda hip; do
    find "src/$vendor" "bench/vendor_$vendor.c" -name '*.c' -print0 |
      xargs -0 -n 1 -P 2 clang-tidy -p "build/lint-$vendor" --quiet >>"$logs/lint-tidy.log" 2>>"$logs/lint-tidy.err" || tidy=1
  done
  grep -v ' warnings\{0,1\} generated\.$' "$logs/lint-tidy.err" || true
  cat "$logs/lint-tidy.log"
  return "$tidy"
}

# clang-tidy's findings that are not errors (.clang-tidy says which) are shown and not counted.
show_warnings() { grep -h ' warning: ' "$logs/lint-tidy.log" | sort -u || true; }

cppchecked() {
  cppcheck --quiet -j 2 --enable=warning,performance,portability --std=c11 --error-exitcode=1 --inline-suppr \
    --suppress=missingIncludeSystem -I include -I build/lint/include -I src/common -I src/host -I bench src bench tools
}

spelled() { codespell -L hsa --skip './.git,./build,./out,./.cache,./LICENSE,./LICENSES' .; }

shell_parses() { sources '*.sh' | xargs -n 1 sh -n; }
shell_checked() { sources '*.sh' run | xargs shellcheck -x; }

# Above the vtable no driver and no vendor has a name.
neutral() {
  ! grep -rniE '(^|[^a-z])(cuda|hip|nvidia|amd)([^a-z]|$)' src/common include &&
    ! grep -rnE '(^|[^a-z])(cu|cuda|hip)[A-Z]' src/common include
}

short_files() {
  sources '*.[ch]' '*.cpp' '*.sh' '*.cmake' CMakeLists.txt | xargs wc -l |
    awk '$2 != "total" && $1 > 400 { print; long = 1 } END { exit long }'
}

leg lint
need_compiler
need clang-format:clang-format clang-tidy:clang-tidy cppcheck:cppcheck codespell:codespell reuse:reuse \
  shellcheck:shellcheck /usr/include/hip/hip_runtime_api.h:libamdhip64-dev
quiet configure cmake --preset host -B build/lint -DWARMPOOL_TESTS=OFF -DWARMPOOL_EXAMPLES=OFF
quiet configure-cuda cmake --preset cuda-sim -B build/lint-cuda -DWARMPOOL_TESTS=OFF -DWARMPOOL_EXAMPLES=OFF
quiet configure-hip cmake --preset hip -B build/lint-hip -DWARMPOOL_TESTS=OFF -DWARMPOOL_EXAMPLES=OFF
check "clang-format" formatted
check "clang-tidy" tidy
show_warnings
check "cppcheck" cppchecked
check "codespell" spelled
check "reuse" reuse lint
check "every script parses" shell_parses
check "shellcheck" shell_checked
check "no vendor is named in src/common and include" neutral
check "no file is longer than 400 lines" short_files
check "the pieces of C in README.md and docs/semantics.md compile" \
  sh ci/fragments.sh build/lint/include README.md docs/semantics.md
finish
