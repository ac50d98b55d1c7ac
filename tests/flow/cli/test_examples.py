"""The examples run unchanged, with an empty database and without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# The output that each example must contain.
EXPECTED = {
    "ag_ui_server.py": [
        "RUN_STARTED",
        "TEXT_MESSAGE_CONTENT",
        "TOOL_CALL_START",
        "RUN_FINISHED",
        "joined again",
    ],
    "anthropic_stream.py": [
        "message_chunk",
        "tool_use_completed",
        "['tool_result', 'tool_result']",
        "turn_paused",
    ],
    "langgraph_agent.py": ["may I send it?", "sent", "the thread holds", "after pruning"],
    "own_domain.py": ["invoice.issued", "invoice.sent", "TOTAL_PASSED"],
    "sql_worker.py": ["run_tsa: done", "awaiting_tsa", "protected"],
    "openai_agents.py": ["Oslo → It looks like this.", "the session holds 8 items", "body.erased"],
}
# A proxy that does not exist: any use of the network fails at once.
NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")


def test_every_example_has_expected_output() -> None:
    assert {path.name for path in EXAMPLES} == set(EXPECTED)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example: Path, database_url: str, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("FOJA_")}
    env |= {"FOJA_HOME": str(tmp_path), "FOJA_DATABASE_URL": database_url, **NOWHERE}
    ran = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", str(example)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for text in EXPECTED[example.name]:
        assert text in ran.stdout
