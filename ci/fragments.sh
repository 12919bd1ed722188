#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the pieces of C in pages compile: each block that begins with a line ```c is the body of a function behind
# ci/fragments.h. A page without any, or with one that does not end, fails as well.
# usage: sh ci/fragments.sh FOLDER PAGE...: FOLDER has the generated headers
set -eu
cd "$(dirname "$0")/.."
generated=$1
shift
mkdir -p build/fragments
unit=build/fragments/unit.c
awk '
  function page_ends() {
    if (inside) print "a fragment of " page " does not end" >"/dev/stderr"
    if (page != "" && !fragments) print "no fragment in " page >"/dev/stderr"
    if (inside || (page != "" && !fragments)) failed = 1
  }
  BEGIN { print "#include \"ci/fragments.h\"" }
  FNR == 1 {
    page_ends()
    page = FILENAME
    inside = fragments = 0
  }
  inside && /^```$/ {
    print "}"
    inside = 0
    next
  }
  inside
  /^```c$/ {
    printf "void fragment_%d(void);\nvoid fragment_%d(void) {\n#line %d \"%s\"\n", ++number, number, FNR + 1, FILENAME
    inside = 1
    fragments++
  }
  END {
    page_ends()
    exit failed
  }' "$@" >"$unit"
cc -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only -I . -I include -I "$generated" "$unit"
