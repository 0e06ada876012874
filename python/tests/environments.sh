#!/bin/sh
# environments.sh - the package's tests, with the wheel as users install it, beside old and new NumPy, torch and JAX
# SPDX-License-Identifier: MIT
#
# usage: environments.sh BUILD [NAME...]: BUILD is a build of rowscan in which `make wheel` was run. Each environment is
# a virtual environment in BUILD/package/environments, and pytest runs python/tests in it; a summary in the style of
# automake's ends the output. NAME (default: all but own):
#
#   own           what PYTHON has, and nothing is fetched but pytest and hypothesis, if it has none
#   bare          the wheel alone
#   numpy1        NumPy 1.26, on the oldest Python at hand
#   numpy2        NumPy 2, with pandas and SciPy
#   torch_oldest  the oldest torch that is served, with NumPy 1.26
#   torch_newest  the newest torch, with NumPy 2
#   jax           the newest JAX
#
# Pip fetches what they need, and they are kept for the next run, which makes those alone whose description has changed;
# the wheel is installed anew each time. torch's builds for CUDA get stand-ins for CUDA's libraries (stand_ins.py).
# NAME:LOTS:SEED sets RS_LOT and RS_SEED for one.
# Environment: PYTHONS: the Pythons at hand (default: PYTHON and all python3.x in PATH). OWN: pytest's -k for own. JOBS:
# how many environments at a time (default 2). LIMIT: the most seconds that the tests of one may take (default 900).
# PYTEST_ADDOPTS is pytest's, RS_LOT, RS_SEED and RS_TOUCHED are conftest.py's.
set -eu
tests=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || {
  sed -n '5,25s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- torch_newest jax numpy2 torch_oldest numpy1 bare
python=${PYTHON:-python3}
jobs=${JOBS:-2}
limit=${LIMIT:-900}
work=$build/package/environments
mkdir -p "$work"

# Versions are bounded, so that a release elsewhere breaks no run here; pip takes the newest that the Python has.
pytest='pytest<=9.2.0 hypothesis<=6.170.17'
checkers='mypy<=2.4.1'
numpy1='numpy==1.26.4'
numpy2='numpy>=2,<=2.5.5'
jax='jax[cpu]<=0.12.0.1'
libraries='array-api-strict<=2.6.1 ml_dtypes<=0.6.0 pandas<=3.1.1 scipy<=1.17.1'
torch_oldest='torch==2.6.0'
torch_newest='torch<=2.15.0'
# What torch imports, but for NVIDIA's libraries and Triton, for it is installed without what it asks for.
torch_imports='filelock typing-extensions>=4.10.0 sympy networkx jinja2 fsspec setuptools'

# The Pythons at hand, oldest first: minor version, path.
# shellcheck disable=SC2086
pythons=$(for candidate in ${PYTHONS:-"$python" python3 python3.10 python3.11 python3.12 python3.13 python3.14}; do
  "$candidate" -c '
import sys, sysconfig, venv
if sys.version_info >= (3, 10) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print(sys.version_info[1], sys.executable)' 2>/dev/null || true
done | sort -n -u)

# Prints the oldest or the newest of them that are no newer than 3.$2 (default: any).
python_of() {
  echo "$pythons" | awk -v age="$1" -v most="${2:-99}" '
    $1 != "" && $1 <= most && (age == "newest" || !found) { minor = $1 " "; found = $0 }
    END { print substr(found, length(minor) + 1) }'
}

# describe NAME: sets base (the Python), plain (what is installed with all that it asks for), alone (what without), and
# chosen (pytest's -k: the tests that have to do with what is special here; others run in numpy2).
describe() {
  plain=$pytest alone='' chosen=''
  case $1 in
  own) base=$python plain='' chosen=${OWN:-} ;;
  bare) base=$(python_of newest) ;;
  numpy1) base=$(python_of oldest 12) plain="$pytest $numpy1" chosen='not test_command' ;;
  numpy2) base=$(python_of newest) plain="$pytest $numpy2 $checkers $libraries" ;;
  torch_oldest) base=$(python_of oldest 12) plain="$pytest $numpy1 $torch_imports" alone=$torch_oldest ;;
  torch_newest) base=$(python_of newest) plain="$pytest $numpy2 $checkers $torch_imports" alone=$torch_newest ;;
  jax) base=$(python_of newest) plain="$pytest $numpy2 $checkers $jax flatbuffers" ;;
  *)
    echo "environments.sh: there is no environment $1" >&2
    exit 2
    ;;
  esac
  case $1 in torch* | jax) chosen="${1%_*} or test_docs or test_recipes or test_tour or test_types" ;; esac
}

# Installs into the environment here, with the pip of any Python.
pip_install() {
  for pip in "$base" "$python" python3 /usr/bin/python3; do
    if "$pip" -m pip --version >/dev/null 2>&1; then
      "$pip" -m pip --python "$here/venv/bin/python" --disable-pip-version-check install --quiet --no-compile \
        --root-user-action=ignore "$@"
      return
    fi
  done
  echo "no Python here has pip (Debian: apt-get install python3-pip)" >&2
  return 1
}

# Prints where the environment has its packages.
packages() {
  "$here/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
}

# Makes the environment, unless it is there as it is described.
make_environment() {
  description="$("$base" -c 'import sys; print(sys.version, sys.executable)') $plain $alone"
  if [ "$(cat "$here/description" 2>/dev/null)" != "$description" ]; then
    rm -rf "$here"
    mkdir -p "$here"
    "$base" -m venv --without-pip "$here/venv"
    # shellcheck disable=SC2086
    [ -z "$plain" ] || pip_install $plain
    [ -z "$alone" ] || pip_install --no-deps "$alone"
    if [ "$name" = own ]; then
      "$base" -c 'import site; print(*site.getsitepackages(), site.getusersitepackages(), sep="\n")' \
        >"$(packages)/own.pth"
      # shellcheck disable=SC2086
      "$here/venv/bin/python" -c 'import hypothesis, pytest' 2>/dev/null || pip_install $pytest
    fi
    echo "$description" >"$here/description"
  fi
  if [ -n "$alone" ] && ! cmp -s "$tests/stand_ins.py" "$here/stand_ins/made_by.py"; then
    rm -rf "$here/stand_ins"
    "$here/venv/bin/python" "$tests/stand_ins.py" "$(packages)" "$here/stand_ins" >/dev/null
    cp "$tests/stand_ins.py" "$here/stand_ins/made_by.py"
  fi
  pip_install --force-reinstall --no-deps "$build"/dist/rowscan-*.whl
}

# Whatever Python and torch keep between runs lies here, and nothing beside the sources of the tests.
run_tests() {
  cd "$here"
  unset PYTHONDONTWRITEBYTECODE PYTHONPATH || true
  PYTHONPYCACHEPREFIX=$here/bytecode
  ROWSCAN_CACHE_DIR=$here/cache
  MYPY_CACHE_DIR=$here/mypy
  TORCHINDUCTOR_CACHE_DIR=$here/inductor
  export PYTHONPYCACHEPREFIX ROWSCAN_CACHE_DIR MYPY_CACHE_DIR TORCHINDUCTOR_CACHE_DIR
  if [ -d stand_ins ]; then
    LD_LIBRARY_PATH=$here/stand_ins${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
  fi
  timeout -k 10 "$limit" venv/bin/python -m pytest -q -rfE -p no:cacheprovider --tb=short \
    --junitxml="$here/results.xml" -k "$chosen" "$tests"
}

# name_of NAME[:LOTS:SEED]
name_of() {
  echo "${1%%:*}"
}

# count PASS FAIL SKIP ERROR: what the summary adds up.
count() {
  echo "$@" >"$work/$name.counts"
}

environment() {
  name=$(name_of "$1")
  here=$work/$name
  describe "$name"
  case $1 in
  *:*:*)
    RS_LOT=${1#*:} RS_SEED=${1##*:}
    RS_LOT=${RS_LOT%:*}
    export RS_LOT RS_SEED
    ;;
  esac
  rm -f "$here/results.xml"
  if [ -z "$base" ]; then
    echo "SKIP: no Python here is as old as $name needs it (PYTHONS names others)"
    count 0 0 1 0
    return
  fi
  # Not as a condition, within which a failure would not end it.
  set +e
  (
    set -e
    make_environment
  )
  status=$?
  set -e
  if [ $status != 0 ]; then
    rm -f "$here/description"
    if [ "$name" = own ]; then
      echo "SKIP: $python has no pytest and hypothesis, and pip can't fetch them"
      count 0 0 1 0
    else
      echo "ERROR: the environment $name can't be made"
      count 0 0 0 1
    fi
    return
  fi
  "$here/venv/bin/python" -c '
import platform, importlib.metadata as metadata
def version(name):
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return f"no {name}"
print("Python", platform.python_version(), *map(version, ("rowscan", "numpy", "torch", "jax", "cupy")), sep=", ")'
  (run_tests) || status=$?
  # Tests that ended without a result, as by a crash, are one error.
  # shellcheck disable=SC2046
  count $(python3 - "$here/results.xml" "$status" <<'PYTHON'
import os
import sys
import xml.etree.ElementTree as xml

path, status = sys.argv[1], int(sys.argv[2])
counts = dict.fromkeys(("tests", "failures", "skipped", "errors"), 0)
for suite in xml.parse(path).getroot().iter("testsuite") if os.path.exists(path) else ():
    for key in counts:
        counts[key] += int(suite.get(key))
tests, failures, skipped, errors = counts.values()
if status and not failures + errors:
    errors += 1
    tests += 1
print(tests - failures - skipped - errors, failures, skipped, errors)
PYTHON
)
}

for one; do
  name=$(name_of "$one")
  describe "$name"
  rm -f "$work/$name.counts" "$work/$name.log"
done
[ -n "$(ls "$build"/dist/rowscan-*.whl 2>/dev/null)" ] || {
  echo "environments.sh: there is no wheel in $build/dist: run make wheel" >&2
  exit 1
}

# Each of so many workers takes one of so many names: the default order gives two of them as much to do.
worker=0
while [ "$worker" -lt "$jobs" ]; do
  (
    turn=0
    for one; do
      [ $((turn % jobs)) != "$worker" ] || (environment "$one" >"$work/$(name_of "$one").log" 2>&1)
      turn=$((turn + 1))
    done
  ) &
  worker=$((worker + 1))
done
wait

for one; do
  name=$(name_of "$one")
  printf '== %s\n' "$name"
  cat "$work/$name.log"
  echo # a log that was cut off ends within a line
  cat "$work/$name.counts" 2>/dev/null || echo 0 0 0 1
done | awk '
  /^[0-9]+ [0-9]+ [0-9]+ [0-9]+$/ { pass += $1; fail += $2; skip += $3; error += $4; next }
  { print }
  END {
    print "Testsuite summary for the Python package"
    printf "# TOTAL: %d\n# PASS:  %d\n# SKIP:  %d\n", pass + fail + skip + error, pass, skip
    printf "# XFAIL: 0\n# FAIL:  %d\n# XPASS: 0\n# ERROR: %d\n", fail, error
    exit fail + error > 0
  }'
