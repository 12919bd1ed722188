#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The installed library, seen from outside: what is installed, what is exported, and whether programs can use it.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
work=$PWD/build/package
prefix=$work/moved # installed elsewhere and then moved here: nothing may depend on the place
tests=$PWD/tests/package
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'

same() { diff -u "$1" "$2"; }

installed_files() {
  (cd "$prefix" && find . ! -type d) | sed "s|^\./||; s|\.so\.[0-9.]*[0-9]\.[0-9]*$|.so.VERSION|" | sort >"$work/files"
  same "$tests/installed-files.txt" "$work/files"
}

exported_symbols() {
  nm -D --defined-only "$prefix/lib/libwarmpool.so" | awk '$2 != "A" { print $3 }' | sort >"$work/symbols"
  same "$tests/symbols.txt" "$work/symbols"
}

# The functions that public headers declare: the name before the first parenthesis behind WP_API.
declared_symbols() {
  cat "$prefix"/include/warmpool/*.h | grep -v '^#' | sed -n 's/^WP_API [^(]*[ *]\(wp_[a-z_]*\)(.*/\1/p' | sort >"$work/declared"
  sed 's/@.*//' "$work/symbols" >"$work/exported"
  same "$work/declared" "$work/exported"
}

header_alone() {
  printf '#include <warmpool/%s>\nint main(void) { return 0; }\n' "$1" >"$work/alone.c"
  # shellcheck disable=SC2086 # a list of words
  cc -std=c11 $warnings -I "$prefix/include" -fsyntax-only "$work/alone.c"
}

# runs PROGRAM: it prints what it should.
runs() {
  LD_LIBRARY_PATH=$prefix/lib "$1" >"$work/output"
  same "$tests/expected-output.txt" "$work/output"
}

uses_shared() { readelf -d "$1" | grep 'NEEDED.*libwarmpool\.so\.0'; }

with_cmake() { # NAME OPTION...
  name=$1
  shift
  cmake -G Ninja -S "$tests" -B "$work/$name" "$@" && cmake --build "$work/$name"
}

pc() { PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config "$@"; }

# shellcheck disable=SC2046,SC2086 # lists of words
pc_shared() { cc -std=c11 $warnings "$tests/consumer.c" -o "$work/pc-shared" $(pc --cflags --libs warmpool); }
# shellcheck disable=SC2046,SC2086
pc_static() {
  cc -std=c11 $warnings $(pc --static --cflags warmpool) "$tests/consumer.c" -o "$work/pc-static" \
    -Wl,-Bstatic $(pc --static --libs warmpool) -Wl,-Bdynamic
}
# shellcheck disable=SC2046,SC2086
pc_cxx() { c++ -std=c++17 $warnings "$tests/consumer.cpp" -o "$work/pc-cxx" $(pc --cflags --libs warmpool); }

# The cuda backend is built, installed and linked; running it takes a GPU.
cuda_installed() {
  cmake --preset cuda -B "$work/cuda-build" --install-prefix "$work/cuda" -DCMAKE_INSTALL_LIBDIR=lib \
    -DWARMPOOL_TESTS=OFF -DWARMPOOL_EXAMPLES=OFF && cmake --build "$work/cuda-build" &&
    cmake --install "$work/cuda-build" && [ ! -e "$work/cuda/include/warmpool/host.h" ]
}
# shellcheck disable=SC2046,SC2086
cuda_pc_static() {
  PKG_CONFIG_PATH=$work/cuda/lib/pkgconfig
  export PKG_CONFIG_PATH
  cc -std=c11 $warnings $(pkg-config --static --cflags warmpool) "$tests/consumer.c" -o "$work/cuda-static" \
    "$work/cuda/lib/libwarmpool.a" $(pkg-config --static --libs warmpool)
}

leg package
need_compiler
need c++:g++ pkg-config:pkg-config nm:binutils
rm -rf "$work"
quiet configure cmake --preset host -B "$work/build" --install-prefix "$work/prefix" -DCMAKE_INSTALL_LIBDIR=lib \
  -DWARMPOOL_TESTS=OFF -DWARMPOOL_EXAMPLES=OFF
quiet build cmake --build "$work/build"
quiet install cmake --install "$work/build"
mv "$work/prefix" "$prefix"

check "the installed files are those of installed-files.txt" installed_files
check "the exported symbols are those of symbols.txt" exported_symbols
check "what is exported is what the public headers declare" declared_symbols
for header in "$prefix"/include/warmpool/*.h; do
  check "${header##*/} compiles alone" header_alone "${header##*/}"
done

check "the installed tool runs" "$prefix/bin/warmpool" info
check "CMake: find_package and build" with_cmake cmake -DCMAKE_PREFIX_PATH="$prefix" -DWANT=0.1
for program in shared static cxx_shared cxx_static; do
  check "CMake: $program runs" runs "$work/cmake/consumer_$program"
done
check "CMake: shared uses the shared library" uses_shared "$work/cmake/consumer_shared"
check "CMake: static does not" refuses uses_shared "$work/cmake/consumer_static"
check "CMake: a thread outlives a plug-in with the static library" "$work/cmake/unloads" "$work/cmake/libplugin.so"
check "CMake: another version is refused" refuses with_cmake refused -DCMAKE_PREFIX_PATH="$prefix" -DWANT=99.0
check "CMake: as a subdirectory" with_cmake subdirectory -DWARMPOOL_SOURCE_DIR="$PWD"
check "CMake: as a subdirectory, shared runs" runs "$work/subdirectory/consumer_shared"
check "CMake: an unknown backend is refused" refuses cmake -G Ninja -S . -B "$work/unknown" -DWARMPOOL_BACKEND=none

check "pkg-config: shared" pc_shared
check "pkg-config: shared runs" runs "$work/pc-shared"
check "pkg-config: static" pc_static
check "pkg-config: static runs" runs "$work/pc-static"
check "pkg-config: static uses no shared library" refuses uses_shared "$work/pc-static"
check "pkg-config: C++" pc_cxx
check "pkg-config: C++ runs" runs "$work/pc-cxx"
check "pkg-config: another version is refused" refuses pc --exists 'warmpool >= 99'

check "CMake: an unknown CUDA runtime is refused" refuses cmake -G Ninja -S . -B "$work/unknown" -DWARMPOOL_CUDART=none
check "CMake: an unknown HIP platform is refused" refuses cmake -G Ninja -S . -B "$work/unknown" -DWARMPOOL_HIP_PLATFORM=none
if [ -n "$(cuda_toolkit)" ]; then
  check "cuda: is built and installed" cuda_installed
  check "cuda: CMake: find_package and build" with_cmake cuda-cmake -DCMAKE_PREFIX_PATH="$work/cuda" -DWANT=0.1
  check "cuda: pkg-config: static" cuda_pc_static
fi
finish
