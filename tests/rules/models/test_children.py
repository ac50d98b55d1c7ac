"""Programs that tests start get Ctrl-C, however the tests themselves were started."""

from __future__ import annotations

import signal
import subprocess
import sys

SHOW = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
THIS = f"{__file__}::test_a_child_has_the_default_handler"
IGNORING = (
    "import os, sys; from signal import *; signal(SIGINT, SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
)


def test_a_child_has_the_default_handler() -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    assert shown.stdout == "True\n"


def test_a_child_has_it_where_the_tests_run_with_it_ignored() -> None:
    """Some scripts and CI runners start `make test` with SIGINT ignored."""
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", THIS]
    ran = subprocess.run(
        [sys.executable, "-c", IGNORING, *tests], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
