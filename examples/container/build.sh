#!/bin/sh
# build.sh - on a build machine, with NVRTC and without a GPU: an engine's kernels for a fleet of GPUs, in one file
# SPDX-License-Identifier: MIT
#
# usage: build.sh ENGINE FILE.pack
#
# ENGINE --specs prints the scans of the engine, a line each. ARCHS lists the architectures of the fleet.
set -eu
engine=$1 pack=$2
: "${ARCHS:=sm_80,sm_89,sm_90,sm_100}" # A100; L4 and RTX 4090; H100 and H200; B200

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$engine" --specs >"$work/specs.txt"

export ROWSCAN_CACHE_DIR="$work/cache" # for this pack alone
rowscan warm --quiet --arch "$ARCHS" "$work/specs.txt"
rowscan cache export --no-ptx --arch "$ARCHS" "$pack"
