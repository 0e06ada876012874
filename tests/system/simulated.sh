#!/bin/sh
# simulated.sh - the whole GPU engine on a GPU simulated on the CPU, bit for bit against the host engine
# SPDX-License-Identifier: MIT
#
# The suites that need a GPU, on the driver and the NVRTC of tests/simt: the very kernels, compiled by g++, a fibre a
# thread. simulated_calls.sh has what is left.
set -eu
# shellcheck source=tests/system/on_simulated.sh
. "$(dirname "$0")/on_simulated.sh"

status=0
for suite in tests/gpu/test_gpu tests/gpu/test_stage_gpu tests/gpu/test_faults tests/gpu/test_short \
  tests/gpu/test_columns; do
  echo "== $suite"
  "$suite" || status=1
done
exit $status
