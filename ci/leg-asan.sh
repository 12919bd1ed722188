#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All tests under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
leg asan
need_compiler
need_criterion
build_preset asan-ubsan
run_tests asan-ubsan
finish
