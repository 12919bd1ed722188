#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All tests on the host backend, in the build that users get.
set -eu
cd "$(dirname "$0")/.."
. ci/lib.sh
leg host
need_compiler
need_criterion
build_preset host
run_tests host
finish
