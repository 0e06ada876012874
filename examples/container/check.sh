#!/bin/sh
# check.sh - in CI of an image: whether it has every kernel of the engine in it, for every GPU of the fleet
# SPDX-License-Identifier: MIT
#
# usage: check.sh RUN...
#
# RUN... is what runs a command in the image, as in production: without a GPU here, but with a read-only root and a user
# that the image does not know. With Docker:
#
#     ./check.sh docker run --rm --read-only --user 54321:54321 IMAGE
#
# Prints each kernel that is missing, with the fields in which the nearest kernel differs, and fails if there is one.
set -eu
: "${ARCHS:=sm_80,sm_89,sm_90,sm_100}" # as in build.sh

specs=$("$@" top_p --specs)
missing=0
while IFS= read -r spec; do
  why=$("$@" rowscan cache why --arch "$ARCHS" "$spec" </dev/null)
  if echo "$why" | grep '^sm_' | grep -v ': hit: ' >/dev/null; then
    printf 'missing of %s\n%s\n' "$spec" "$why"
    missing=1
  fi
done <<TEXT
$specs
TEXT
exit $missing
