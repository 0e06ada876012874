"""test_command.py - `python -m rowscan` is the command: exit statuses, pipes, signals, closed descriptors

SPDX-License-Identifier: MIT

The command's own suite, tests/system/cli.py of the tree, runs those of its tests that Python in the process could
break.
"""
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rowscan

SUITE = Path(__file__).parents[2] / "tests" / "system" / "cli.py"

# One that is started with SIGPIPE ignored can't know it: Python ignores that signal before anything of ours runs.
TRIED = ["SameBits.test_mask_of_ones", "Files.test_odd_names", "Pipes.test_both", "Pipes.test_streams_that_cannot_be",
         "Pipes.test_streams_that_do_not_block", "Output.test_file_too_large", "Output.test_full_disk",
         "Output.test_closed_streams", "Output.test_closed_streams_of_other_commands", "Interrupted.test_signals",
         "Interrupted.test_what_the_killed_leave", "Interrupted.test_ignored_signal",
         "Interrupted.test_input_becomes_shorter", "CommandLine.test_help",
         "CommandLine.test_names_do_not_control_the_terminal", "CommandLine.test_standard_output_full"]


def rowscan_command(*arguments, **kwargs):
    kwargs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **kwargs}
    return subprocess.run([sys.executable, "-m", "rowscan", *arguments], **kwargs)


def test_version():
    done = rowscan_command("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rowscan {rowscan.__version__}\n", "")


@pytest.mark.parametrize("arguments, status, told", [
    (["--help"], 0, "Usage: rowscan COMMAND"), (["help", "scan"], 0, "Usage: rowscan scan"),
    ([], 2, "rowscan: missing command"), (["frobnicate"], 2, "rowscan: unknown command 'frobnicate'"),
    (["scan", "/nowhere/in.npy", "out.npy"], 1, "rowscan: scan: /nowhere/in.npy: "),
    (["scan", b"/nowhere/\xff\n", "out.npy"], 1, "rowscan: scan: /nowhere/")])
def test_statuses(arguments, status, told):
    done = rowscan_command(*arguments)
    assert done.returncode == status
    assert told in (done.stderr if status else done.stdout)


def test_scans(tmp_path):
    """Array in, array out, through pipes."""
    np = pytest.importorskip("numpy")
    np.save(tmp_path / "in.npy", np.arange(6.0).reshape(2, 3))
    with open(tmp_path / "in.npy") as file, open(tmp_path / "out.npy", "w") as out:
        assert rowscan_command("scan", "--reverse", "--engine=host", "-", "-", stdin=file, stdout=out).returncode == 0
    assert np.load(tmp_path / "out.npy").tolist() == [[3, 3, 2], [12, 9, 5]]


def test_reader_that_goes():
    """As `| head -c 1`: the command dies of SIGPIPE, and says nothing."""
    read, write = os.pipe()
    os.close(read)
    done = rowscan_command("source", "--length", "1000", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")


def test_does_not_import_numpy():
    done = subprocess.run([sys.executable, "-X", "importtime", "-m", "rowscan", "--version"], stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, text=True, check=True)
    assert not re.search(r"\b(numpy|torch|jax|cupy)\b", done.stderr)


def test_own_suite(tmp_path):
    pytest.importorskip("numpy")
    if not SUITE.exists():
        pytest.skip(f"no {SUITE}")
    command = tmp_path / "rowscan"
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m rowscan \"$@\"\n")
    command.chmod(0o755)
    env = {**os.environ, "ROWSCAN": str(command), "RS_QUICK": "1",
           "PYTHONPATH": str(Path(rowscan.__file__).parents[1])}
    done = subprocess.run([sys.executable, SUITE, *TRIED], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    assert done.returncode == 0, done.stdout
    assert f"Ran {len(TRIED)} tests" in done.stdout
