# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Another version of the library, built to stand beside the working tree. A script sources this from the repository root.
#
# old_tree REF|DIR PRESET [CMAKE-OPTION...]
#   REF is a commit, tag or branch of this repository; DIR is a folder with the sources (the working tree is one: "$PWD").
#   Afterwards build/old/NAME/tree has the sources (for DIR it is a link), build/old/NAME/PRESET the static library of a
#   Release build, libwarmpool.a, and the generated headers in include/. Sets
#     old_name    NAME: the commit, or the folder's name and a hash of its path
#     old_commit  the commit, with "-dirty" where files differ from it; empty where git does not know the folder
#     old_source  build/old/NAME/tree, absolute
#     old_build   build/old/NAME/PRESET, absolute
#     old_cflags  what a program is compiled with: -I and -D
#     old_libs    what it is linked with: the library and the runtime below it
#   A word of old_cflags and old_libs has no blank in it, so they stand unquoted. The preset hip-nvidia reads the variable
#   WARMPOOL_HIP_ROOT, as a file of presets cannot. On failure it prints one line on stderr, what to do next, and returns 2.

old_say() { printf '%s\n' "$*" >&2; }

old_tree() {
  old_what=$1 old_preset=$2
  shift 2
  case $PWD in *[[:space:]]*) old_say "the path has a blank: $PWD; move the repository to a path without" && return 2 ;; esac
  if [ -d "$old_what" ] && [ -e "$old_what/include/warmpool/warmpool.h" ]; then
    old_take_folder "$old_what" || return 2
  else
    old_take_ref "$old_what" || return 2
  fi
  old_build=$PWD/build/old/$old_name/$old_preset
  mkdir -p "$old_build"
  old_make "$@" || return 2
  # shellcheck disable=SC2034 # read by who sources this
  old_cflags="-I$old_source/include -I$old_build/include -DWARMPOOL_STATIC"
  # shellcheck disable=SC2034
  old_libs="$old_build/libwarmpool.a $(old_runtime)"
}

old_take_folder() {
  old_folder=$(cd "$1" && pwd -P) || return
  old_name=$(basename "$old_folder")-$(printf '%s' "$old_folder" | cksum | cut -d ' ' -f 1)
  old_commit=
  if [ "$(git -C "$old_folder" rev-parse --show-toplevel 2>/dev/null)" = "$old_folder" ]; then
    old_commit=$(git -C "$old_folder" rev-parse --verify --quiet HEAD) || old_commit=
    [ -z "$(git -C "$old_folder" status --porcelain 2>/dev/null)" ] || old_commit=$old_commit-dirty
  fi
  old_source=$PWD/build/old/$old_name/tree
  mkdir -p "build/old/$old_name" && ln -sfn "$old_folder" "$old_source"
}

# The sources of a commit never change: what was exported once is used again.
old_take_ref() {
  if ! git rev-parse --git-dir >/dev/null 2>&1; then
    old_say "$1 is no folder with warmpool's sources, and there is no git here to ask for a commit: give a folder that" \
      "\`git archive $1 | tar -x -C FOLDER\` has filled elsewhere"
    return 2
  fi
  if ! old_commit=$(git rev-parse --verify --quiet "$1^{commit}"); then
    old_say "$1 is neither a commit of this repository nor a folder with warmpool's sources; \`git log --oneline\` has commits"
    return 2
  fi
  old_name=$(printf '%.12s' "$old_commit")
  old_source=$PWD/build/old/$old_name/tree
  [ ! -e "$old_source" ] || return 0
  old_new=$PWD/build/old/$old_name/tree.$$
  rm -rf "$old_new" && mkdir -p "$old_new" && git archive --format=tar "$old_commit" >"$old_new.tar" &&
    tar -x -f "$old_new.tar" -C "$old_new" && rm -f "$old_new.tar" || return
  # Where another script was faster, its tree is as good.
  mv -T "$old_new" "$old_source" 2>/dev/null || rm -rf "$old_new"
}

# Two scripts may want the same build at once. Where there is no flock, they are on their own.
old_make() {
  exec 9>"$old_build.lock"
  ! command -v flock >/dev/null || flock 9
  old_status=0
  old_make_locked "$@" >"$old_build.log" 2>&1 9>&- || old_status=2
  exec 9>&-
  [ "$old_status" -ne 0 ] || return 0
  tail -n 20 "$old_build.log" >&2
  old_say "the library of $old_what does not build with the preset $old_preset; $old_build.log has all of it"
  return 2
}

old_make_locked() {
  cmake -S "$old_source" --preset "$old_preset" -B "$old_build" -DCMAKE_BUILD_TYPE=Release -DWARMPOOL_TESTS=OFF \
    -DWARMPOOL_EXAMPLES=OFF -DWARMPOOL_TOOLS=OFF ${WARMPOOL_HIP_ROOT:+"-DWARMPOOL_HIP_ROOT=$WARMPOOL_HIP_ROOT"} "$@" || return
  set -- warmpool_static
  # The stand-in for the CUDA runtime is a library of its own.
  ! grep -q '^WARMPOOL_CUDART:STRING=sim' "$old_build/CMakeCache.txt" || set -- "$@" cudart_sim
  cmake --build "$old_build" --target "$@"
}

# What is below the library, as its pkg-config file has it, which a build on a stand-in does not write. Where a shared
# library lies, programs look for it.
old_runtime() {
  if [ -e "$old_build/libcudart_sim.so" ]; then
    printf '%s' "-L$old_build -lcudart_sim -Wl,-rpath,$old_build -pthread"
  elif [ -e "$old_build/warmpool.pc" ]; then
    sed -n -e 's/-L\([^ ]*\)/-L\1 -Wl,-rpath,\1/g' -e 's/^Libs\.private: //p' "$old_build/warmpool.pc"
  else
    printf '%s' -pthread
  fi
}
