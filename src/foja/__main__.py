"""`python -m foja` is the command `foja`."""

from __future__ import annotations

import sys

from foja.interfaces.cli import main

sys.exit(main())
