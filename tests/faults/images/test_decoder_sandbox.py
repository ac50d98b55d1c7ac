"""What a decoder cannot do, tried from inside: each attempt runs in a process that gave up the rest."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from foja.domains.images.decoder.process import Bounds, Process
from foja.engine.sandbox import syscalls

linux = pytest.mark.skipif(sys.platform != "linux", reason="the filter of system calls is of Linux")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
MEMORY = 512 << 20
PLAIN = "os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534); network = False"
NUMBERS = {"x86_64": (234, 302), "aarch64": (131, 261)}.get(platform.machine(), (0, 0))
RESULT = "def result(answer): return answer, ctypes.get_errno() if answer else 0"
SIGNAL = f"result(libc.syscall({NUMBERS[0]}, {{0}}, {{0}}, {{1}}))"
LIMIT = f"result(libc.syscall({NUMBERS[1]}, {{0}}, 7, (ctypes.c_long * 2)({{1}}, {{1}}), None))"  # open files
ENTER = f"""
import ctypes, mmap, os, resource, signal, socket, subprocess, sys, threading
from foja.engine.sandbox import guards as sandbox
libc = ctypes.CDLL(None, use_errno=True)
network = sandbox.leave_network()
BEFORE
guards = sandbox.enter(network=network, memory={MEMORY}, cpu=2)
def attempt(act):
    try:
        os.write(1, b"DONE " + repr(act()).encode())
    except BaseException as error:
        os.write(1, b"REFUSED " + repr(error).encode())
"""


def attempt(act: str, *, before: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run an expression in a sandbox; `before` runs first."""
    code = ENTER.replace("BEFORE", before)
    return subprocess.run(
        [sys.executable, "-I", "-c", f"{code}\nattempt(lambda: {act})"],
        env={},
        cwd="/",
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "act",
    [
        "open('/etc/hosts').read()",
        "os.open('/dev/null', os.O_RDONLY)",
        "open('/tmp/foja-escaped', 'w')",
        "os.stat('/etc/passwd')",
        "os.listdir('/')",
        "os.mkdir('/tmp/foja-escaped')",
        "socket.socket()",
        "socket.socketpair()",
        "socket.create_connection(('127.0.0.1', 80))",
        "os.fork()",
        "subprocess.run(['/bin/true'])",
        "os.execv('/bin/true', ['true'])",
        "os.memfd_create('x')",
        "os.pipe()",
        "os.kill(os.getppid(), signal.SIGTERM)",
        "os.setuid(0)",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))",
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))",
        f"len(bytearray({MEMORY}))",
        f"mmap.mmap(-1, {MEMORY})",
    ],
)
@linux
def test_an_attempt_is_refused(act: str) -> None:
    done = attempt(act)
    assert done.stdout.startswith(b"REFUSED"), (done.returncode, done.stdout, done.stderr)


@linux
def test_a_process_cannot_be_read_by_another() -> None:
    done = attempt("libc.ptrace(16, os.getppid(), 0, 0)")
    assert done.stdout == b"DONE -1"


@linux
def test_a_loop_is_ended_by_the_limit_of_the_processor() -> None:
    done = attempt("sum(iter(int, 1))")
    assert done.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    assert done.stdout == b""


@linux
def test_threads_and_memory_work() -> None:
    done = attempt("(threading.Thread(target=list).start(), len(bytearray(1 << 24)))[1]")
    assert done.stdout == b"DONE 16777216"


@linux
@as_root
def test_root_becomes_another_user_without_groups_and_network() -> None:
    done = attempt("(os.getpid(), guards.user, guards.network, guards.calls, guards.missing)")
    assert b"True, True, True, []" in done.stdout
    read, write = os.pipe()
    with subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-c",
            ENTER.replace("BEFORE", "") + "\nos.write(1, b'x'); sys.stdin.read()",
        ],
        stdin=read,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.read(1) == b"x"
        status = dict(
            line.split(":\t", 1)
            for line in Path(f"/proc/{child.pid}/status").read_text().splitlines()
            if ":\t" in line
        )
        os.close(write)
    assert "0" not in status["Uid"].split()
    assert status["Groups"].split() == []
    assert int(status["CapEff"], 16) == 0
    assert status["Seccomp"] == "2"
    assert status["NoNewPrivs"] == "1"


@linux
@as_root
@pytest.mark.parametrize("act", ["open('/etc/hosts')", "socket.socket()", "os.fork()", "os.stat('/')"])
def test_everything_but_the_user_holds_without_root(act: str) -> None:
    done = attempt(act, before=PLAIN)
    assert done.stdout.startswith(b"REFUSED"), (done.stdout, done.stderr)


@linux
@pytest.mark.parametrize(
    ("call", "own"), [(SIGNAL, ("os.getpid()", 0)), (LIMIT, (0, 0))], ids=["tgkill", "prlimit64"]
)
def test_a_decoder_without_root_touches_no_other_process_of_its_owner(
    call: str, own: tuple[str | int, int]
) -> None:
    """A decoder that ran as its owner's user killed its parent with `tgkill`, and could lower its limits."""
    before, user = (PLAIN, 65534) if os.geteuid() == 0 else ("", None)
    groups: list[int] | None = [] if user else None
    with subprocess.Popen(["sleep", "60"], user=user, group=user, extra_groups=groups) as other:
        try:
            refused = attempt(call.format(other.pid, signal.SIGKILL), before=f"{before}\n{RESULT}")
            assert refused.stdout == b"DONE (-1, 1)", refused.stderr
            limits = Path(f"/proc/{other.pid}/limits").read_text().splitlines()
            assert [int(line.split()[3]) > signal.SIGKILL for line in limits if "open files" in line] == [
                True
            ]
            assert attempt(call.format(*own), before=RESULT).stdout == b"DONE (0, 0)"
            assert other.poll() is None
        finally:
            other.kill()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_has_whole_instructions_and_short_jumps(machine: str) -> None:
    code = syscalls.build(machine, os.getpid())
    assert len(code) % 8 == 0
    assert len(code) // 8 < 4096
    columns = list(zip(*syscalls.ALLOWED.values(), strict=True))
    assert all(len({*column}) == len(column) for column in columns)


@linux
async def test_a_decoder_has_only_its_pipes_and_no_environment() -> None:
    process = await Process.start(Bounds())
    try:
        folder = Path("/proc") / str(process.pid)
        assert sorted(each.name for each in (folder / "fd").iterdir()) == ["0", "1", "2"]
        assert (folder / "fd" / "2").readlink() == Path("/dev/null")
        assert (folder / "environ").read_bytes() == b""
        limits = (folder / "limits").read_text()
        assert "Max open files            0 " in limits
        assert "Max file size             0 " in limits
        assert "Max core file size        0 " in limits
        assert f"Max address space         {1 << 30} " in limits
        assert "calls" not in process.guards.missing
    finally:
        await process.kill()


@linux
async def test_a_decoder_ends_with_its_parent() -> None:
    code = """
import asyncio, os
from foja.domains.images.decoder.process import Bounds, Process
async def main():
    process = await Process.start(Bounds())
    os.kill(process.pid, 19)  # stopped: it does not see the end of its pipe
    print(process.pid, flush=True)
    os._exit(0)
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    pid = int(done.stdout)
    for _ in range(600):
        if not Path(f"/proc/{pid}").exists():
            return
        await asyncio.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the decoder outlived its parent")
