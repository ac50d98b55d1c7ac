"""What a process gives up before it reads a byte of a stranger: files, network, processes, time, memory.

As root it becomes an unprivileged user of its own and leaves the network. Everywhere it lowers its
limits, which cannot be raised again; on Linux a filter of system calls refuses the rest.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from dataclasses import dataclass

from foja.engine.sandbox import syscalls

OWN_USERS = 1_000_000_000  # plus the process id: a user that has no file and no other process
SHARED_USER = 65_534
MAX_TASKS = 64  # threads of that user
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4


@dataclass(frozen=True, slots=True)
class Guards:
    """What holds in a process. The limits hold everywhere."""

    user: bool  # another user than the parent's
    network: bool  # a network namespace without a way out
    calls: bool  # the filter of system calls

    @property
    def missing(self) -> list[str]:
        """Return what does not hold although the parent is root, or this is Linux."""
        names = {"user": self.user, "network": self.network} if os.geteuid() == 0 else {}
        return [name for name, holds in {**names, "calls": self.calls}.items() if not holds]


def leave_network() -> bool:
    """Enter a network namespace of its own, if this process may; before it has threads."""
    return sys.platform == "linux" and bool(ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0)


def enter(*, network: bool, memory: int, cpu: int) -> Guards:
    """Give up everything but memory, time and the open pipes; after all modules are loaded."""
    user = _drop_user()
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        resource.setrlimit(limit, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    calls = syscalls.install()
    # Linux counts the threads of a user, of which the decoder of WebP starts one. Without a user of its own,
    # the filter alone refuses new processes; where there is no filter, the limit refuses threads too.
    if user or not calls:
        most = MAX_TASKS if user else 0
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    return Guards(user=user, network=network, calls=calls)


def allow_seconds(seconds: int) -> None:
    """Let this process use so many more seconds of CPU time, within its hard limit."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = min(int(used.ru_utime + used.ru_stime) + seconds + 1, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _drop_user() -> bool:
    """Switch to a user without rights, if this is root; return whether it is one now."""
    if os.geteuid() != 0:
        return False
    for user in (OWN_USERS + os.getpid(), SHARED_USER):
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            return True
        except OSError:  # not one of the users that this container has
            continue
    return False
