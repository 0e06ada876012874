#!/bin/sh
# simulated_calls.sh - calls as programs make them, on the simulated GPU: at once, of any length, and embedded
# SPDX-License-Identifier: MIT
#
# SIMULATED: which of these suites (default: all).
set -eu
# shellcheck source=tests/system/on_simulated.sh
. "$(dirname "$0")/on_simulated.sh"

status=0
for suite in ${SIMULATED:-tests/system/test_one_call tests/system/test_tiers tests/gpu/test_embed}; do
  echo "== $suite"
  "$suite" || status=1
done
exit $status
