"""The system calls that a process may make, as a filter of the kernel (seccomp); all others fail.

Reading and writing what is open, memory, threads, signals to itself, clocks: no file, no socket, no
other process. Two calls that name a process may name this one only.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from typing import Final

# Name: number on x86_64, number on aarch64.
ALLOWED: Final[dict[str, tuple[int, int]]] = {
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "close": (3, 57),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "brk": (12, 214),
    "madvise": (28, 233),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "membarrier": (324, 283),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "gettimeofday": (96, 169),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
# These name a process by their first argument.
_ABORT: Final = (234, 131)  # tgkill: how a process aborts itself
_LIMIT: Final = (302, 261)  # prlimit64, whose 0 is the process itself; the hard limits can only be lowered
_MACHINES: Final = {"x86_64": (0, 0xC000003E, 56, 317), "aarch64": (1, 0xC00000B7, 220, 277)}
_CLONE3: Final = 435  # its flags are in memory, where a filter cannot look: libc then uses clone
_CLONE_THREAD: Final = 0x00010000
_EPERM, _ENOSYS = 1, 38
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _GREATER_EQUAL, _AND_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT = (
    0,
    4,
    16,
)  # in struct seccomp_data, little-endian: of an argument, the low half
_X32: Final = 0x40000000
_NO_NEW_PRIVILEGES, _SET_FILTER, _ALL_THREADS = 38, 1, 1


def install() -> bool:
    """Let every thread of this process make only these calls; return False where that is unknown."""
    machine = _MACHINES.get(platform.machine())
    if machine is None or platform.system() != "Linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    code = build(platform.machine(), os.getpid())
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return bool(libc.syscall(machine[3], _SET_FILTER, _ALL_THREADS, program) == 0)


def build(machine: str, pid: int) -> bytes:
    """Return the filter of a process on a machine: a program of eight bytes per instruction."""
    column, architecture, clone, _ = _MACHINES[machine]
    numbers = sorted(numbers[column] for numbers in ALLOWED.values())
    refuse = _ERRNO | _EPERM
    steps = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_GREATER_EQUAL, 0, 1, _X32),
        (_RETURN, 0, 0, refuse),
        (_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
    ]
    for number in numbers:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for number, own in ((_ABORT[column], pid), (_LIMIT[column], 0)):
        steps += [
            (_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_EQUAL, 0, 1, own),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, refuse),
        ]
    steps += [
        (_EQUAL, 1, 0, clone),
        (_RETURN, 0, 0, refuse),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_AND_SET, 0, 1, _CLONE_THREAD),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, refuse),
    ]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)
