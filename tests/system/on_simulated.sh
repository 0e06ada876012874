#!/bin/sh
# on_simulated.sh - sourced by scripts that run on the GPU simulated on the CPU: what programs are told to find it
# SPDX-License-Identifier: MIT
[ -e "$RS_SIMT/libcuda.so.1" ] || {
  echo "skipped: the simulated GPU is not built (it needs Check, shared libraries and __builtin_longjmp)"
  exit 77
}
LD_LIBRARY_PATH=$RS_SIMT${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ROWSCAN_NVRTC=$RS_SIMT/libnvrtc.so.13
ROWSCAN_CACHE=off
RS_QUICK=1
export LD_LIBRARY_PATH ROWSCAN_NVRTC ROWSCAN_CACHE RS_QUICK
