#!/bin/sh
# fuzz.sh - any bytes as an entry, a pack, an .npy file, a spec and an operator, for a while
# SPDX-License-Identifier: MIT
#
# usage: fuzz.sh BUILD [SECONDS [TARGET...]]: builds in BUILD/fuzz, and runs each target (entry, pack, npy, spec, op;
# default all of them, for 60 seconds each), JOBS of them (default 2) at a time, from the corpus in tests/fuzz/corpus,
# unpacked to BUILD/fuzz/corpus. What they find is kept in BUILD/fuzz/TARGET, and the next run goes on from there; what
# ends one is printed, and named BUILD/fuzz/TARGET.crash-*: `BUILD/fuzz/fuzz_TARGET FILE` runs it again.
# tests/fuzz/README.md has the rest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
[ $# -ge 1 ] || {
  sed -n '5,9s/^# //p' "$0" >&2
  exit 2
}
mkdir -p "$1/fuzz"
cd "$1/fuzz"
shift
seconds=${1:-60}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- entry pack npy spec op
jobs=${JOBS:-2}
clang=${CLANG:-clang}
# The Python that configure found to have NumPy.
[ -n "${PYTHON:-}" ] || PYTHON=$(sed -n 's/^PYTHON = //p' ../Makefile 2>/dev/null) || true
python=${PYTHON:-python3}

# What is tested in each.
sources_of() {
  types="src/base/must_return.c src/base/plain.c src/base/sized.c src/base/status.c src/base/text.c"
  types="$types src/spec/created_ops.c src/spec/types.c"
  case $1 in
  entry) echo "cache/entry.c" ;;
  pack) echo "cache/entry.c cache/file.c cache/pack.c src/base/descriptor.c" ;;
  npy) echo "src/cli/npy.c $types" ;;
  spec) echo "src/spec/spec.c src/spec/spec_fields.c $types" ;;
  op) echo "$types" ;;
  *)
    echo "fuzz.sh: there is no target $1; there are entry, pack, npy, spec, op" >&2
    return 2
    ;;
  esac
}

compile() {
  sources=$(sources_of "$1") || exit 2
  files="$here/$1.c"
  for source in $sources; do
    files="$files $top/$source"
  done
  # shellcheck disable=SC2086
  "$clang" -std=gnu11 -D_GNU_SOURCE= -g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=all -Wall -Wextra -Werror -I"$top/src" -I"$top" -I"$top/cache" $files -o "fuzz_$1"
}

echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return !d && n; }' >probe.c
if ! "$clang" -fsanitize=fuzzer,address,undefined probe.c -o probe 2>probe.log; then
  sed 1q probe.log >&2
  echo "fuzz.sh: $clang does not build fuzzers; it takes clang and its run-time libraries (Debian: apt-get install" \
    "clang libclang-rt-dev)" >&2
  exit 1
fi

# One target: its output is in TARGET.log.
fuzz() {
  mkdir -p "$1"
  "$here/corpus.sh" unpack "$1" "corpus/$1"
  set -- "$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096 -print_final_stats=1 \
    -artifact_prefix="$1."
  [ ! -e "$here/$1.dict" ] || set -- "$@" -dict="$here/$1.dict"
  target=$1
  shift
  "./fuzz_$target" "$@" "$target" "corpus/$target" >"$target.log" 2>&1
}

# Executions, edges that were reached of those that there are, and inputs that were kept.
sum_up() {
  awk -v target="$1" -v kept="$(find "$1" -type f | wc -l)" '
    /inline 8-bit counters/ { edges = $0; sub(/.*\(/, "", edges); sub(/ .*/, "", edges) }
    / cov: / { reached = $0; sub(/.* cov: /, "", reached); sub(/ .*/, "", reached) }
    /^Done / { seconds = $5 }
    /^stat::number_of_executed_units/ { runs = $2 }
    END { printf "%s: %d executions in %d s, %d of %d edges reached, %d inputs kept\n", target, runs, seconds, reached,
          edges, kept }' "$1.log"
}

for target; do
  compile "$target"
done
status=0
running=
# wait_for_all: and tells of each.
wait_for_all() {
  for one in $running; do
    if wait "${one#*:}"; then
      sum_up "${one%:*}"
    else
      status=1
      echo "FAIL ${one%:*}:"
      grep -v '^#[0-9]*[[:space:]]' "${one%:*}.log" | tail -n 60
    fi
  done
  running=
}
count=0
for target; do
  fuzz "$target" &
  running="$running $target:$!"
  count=$((count + 1))
  [ $((count % jobs)) != 0 ] || wait_for_all
done
wait_for_all

# What NumPy says of the same headers.
case " $* " in
*" npy "*)
  cc=${CC:-cc}
  $cc -shared -fPIC -std=gnu11 -D_GNU_SOURCE= -O1 -I"$top/src" "$top/src/cli/npy.c" -o npy.so
  "$python" "$here/npy_check.py" ./npy.so npy corpus/npy || status=1
  ;;
esac
exit $status
