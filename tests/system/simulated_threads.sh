#!/bin/sh
# simulated_threads.sh - the thread that compiles, on the simulated GPU: what `make check-threads` runs besides
# SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/system/on_simulated.sh
. "$(dirname "$0")/on_simulated.sh"
exec tests/system/test_tiers
