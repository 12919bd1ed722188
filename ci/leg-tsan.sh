#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The stress programs under ThreadSanitizer.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
leg tsan
need_compiler
build_preset tsan
# Older sanitizers cannot cope with much randomness in the address space, so it is switched off where that is allowed.
if setarch -R true 2>/dev/null; then
  run_tests tsan setarch -R
else
  run_tests tsan
fi
finish
