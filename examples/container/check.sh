#!/bin/sh
# check.sh - in CI of an image: whether it has every kernel of the engine in it, for every GPU of the fleet
# SPDX-License-Identifier: MIT
#
# usage: check.sh RUN...
#
# RUN... is what runs a command in the image, as in production: without a GPU here, but with a read-only root and a user
# that the image does not know. With Docker:
#
#     ./check.sh docker run --rm -i --read-only --user 54321:54321 IMAGE
#
# The image sets ROWSCAN_CACHE=off,only, with which `rowscan warm` compiles nothing: it names each scan and architecture
# that lacks a kernel, and fails if there is one. `rowscan cache why` says what the nearest kernel was compiled for.
set -eu
: "${ARCHS:=sm_80,sm_89,sm_90,sm_100}" # as in build.sh

"$@" top_p --specs | "$@" rowscan warm --quiet --arch "$ARCHS" -
