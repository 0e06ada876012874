"""__main__.py - the rowscan command: `python -m rowscan`, and what `rowscan` of an installed wheel starts

SPDX-License-Identifier: MIT
"""
import os
import sys

from . import _core


def main():
    """Runs the command with the arguments of this process, and exits with its status. See `rowscan --help`."""
    sys.exit(_core.command([os.fsencode(argument) for argument in sys.argv[1:]]))


if __name__ == "__main__":
    main()
