"""eth-account, an independent wallet.

Importing it raises Python's recursion limit, under which deeply nested input would end the process.
"""

from __future__ import annotations

import sys

_limit = sys.getrecursionlimit()

import eth_account  # noqa: E402
import py_ecc  # noqa: E402, F401  # it is what raises the limit

sys.setrecursionlimit(_limit)

Account = eth_account.Account
