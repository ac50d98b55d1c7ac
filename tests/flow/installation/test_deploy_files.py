"""The files of deploy/: each is checked by the tool that reads it, and names only what exists."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from foja.engine.settings import Settings
from foja.interfaces.cli.parser import build_parser

DEPLOY = Path(__file__).parents[3] / "deploy"
UNITS = sorted(DEPLOY.glob("systemd/*.service"))
FILES = {
    "Containerfile",
    "compose.yaml",
    "grafana/foja.json",
    "kubernetes/first-key.yaml",
    "kubernetes/foja.yaml",
    "nginx.conf",
    "prometheus/alerts.yml",
    "prometheus/alerts_test.yml",
    "prometheus/prometheus.yml",
    "systemd/foja-web.service",
    "systemd/foja-worker.service",
    "systemd/foja.service",
}


def read(name: str) -> str:
    return (DEPLOY / name).read_text()


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(read("compose.yaml"))
    return found


def manifests() -> list[dict[str, Any]]:
    texts = [path.read_text() for path in sorted(DEPLOY.glob("kubernetes/*.yaml"))]
    return [each for text in texts for each in yaml.safe_load_all(text)]


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def containers() -> list[dict[str, Any]]:
    found = [each["spec"]["template"]["spec"] for each in manifests() if "template" in each.get("spec", {})]
    return [container for pod in found for container in pod["containers"]]


def commands() -> list[str]:
    units = [
        re.findall(r"^ExecStart=/usr/bin/env foja (.+)$", unit.read_text(), re.MULTILINE) for unit in UNITS
    ]
    image = [
        json.loads(found)[1:] for found in re.findall(r"^CMD (.+)$", read("Containerfile"), re.MULTILINE)
    ]
    services = [each["command"][1:] for each in compose()["services"].values() if "command" in each]
    pods = [each["command"][1:] for each in containers()]
    return [words for unit in units for words in unit] + [
        shlex.join(each) for each in image + services + pods
    ]


def test_every_file_is_known_and_names_only_commands_and_settings_that_exist() -> None:
    found = {str(path.relative_to(DEPLOY)) for path in DEPLOY.rglob("*") if path.is_file()}
    assert found == FILES
    named = {name for file in found for name in re.findall(r"\bFOJA_([A-Z_]+)", read(file))}
    assert named <= {name.upper() for name in Settings.model_fields}
    assert len(commands()) == 3 + 1 + 3 + 4
    for words in commands():
        build_parser().parse_args(shlex.split(words))


def test_every_page_that_the_guide_names_and_every_file_is_in_the_guide() -> None:
    guide = (DEPLOY.parent / "docs" / "deployment.md").read_text()
    for file in FILES - {"prometheus/alerts_test.yml"}:
        assert f"deploy/{file}" in guide, file


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_valid_hardened_and_restarts(unit: Path) -> None:
    parsed = ConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment, method-assign]
    parsed.read_string(unit.read_text())
    service = parsed["Service"]
    assert (service["Restart"], service["KillMode"], service["NoNewPrivileges"]) == ("always", "mixed", "yes")
    assert service["SystemCallErrorNumber"] == "EPERM"  # a decoder that may not unshare goes on without
    assert int(service["TimeoutStopSec"]) >= 30
    if unit.stem == "foja":
        assert service["DynamicUser"] == "yes"
        assert int(service["TimeoutStopSec"]) >= 60
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze (apt install systemd)")
    checked = run("systemd-analyze", "verify", "--man=no", unit)
    assert unit.name not in checked.stderr, checked.stderr
    exposure = run("systemd-analyze", "security", "--offline=yes", "--no-pager", unit)
    level = re.findall(r"exposure level for \S+: ([\d.]+)", exposure.stdout)
    assert level, exposure.stderr
    assert float(level[0]) < 3  # 10 is a service without any protection


def test_the_compose_file_starts_services_after_the_migration() -> None:
    services = compose()["services"]
    for name in ("web", "worker"):
        needs = services[name]["depends_on"]
        assert needs["migrate"]["condition"] == "service_completed_successfully"
        assert services[name]["cap_drop"] == ["ALL"]
    published = {name: each["ports"] for name, each in services.items() if "ports" in each}
    assert published == {"web": ["127.0.0.1:8000:8000"]}
    targets = yaml.safe_load(read("prometheus/prometheus.yml"))["scrape_configs"][0]["static_configs"][0]
    assert targets["targets"] == [
        "web:8000",
        f"worker:{services['worker']['environment']['FOJA_METRICS_PORT']}",
    ]


def test_docker_compose_accepts_the_file() -> None:
    if not shutil.which("docker-compose"):
        pytest.skip("no docker-compose (apt install docker-compose)")
    checked = run("docker-compose", "-f", DEPLOY / "compose.yaml", "config", POSTGRES_PASSWORD="secret")
    assert checked.returncode == 0, checked.stderr
    assert "postgresql://foja:secret@postgres/foja" in checked.stdout
    without = {name: value for name, value in os.environ.items() if name != "POSTGRES_PASSWORD"}
    refused = subprocess.run(
        ["docker-compose", "-f", str(DEPLOY / "compose.yaml"), "config"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=without,
    )
    assert refused.returncode != 0
    assert "set POSTGRES_PASSWORD" in refused.stderr


def validate(*files: Path) -> subprocess.CompletedProcess[str]:
    return run(Path(sys.executable).with_name("kubernetes-validate"), "--strict", *files)


def test_the_manifests_are_valid_for_kubernetes(tmp_path: Path) -> None:
    checked = validate(*DEPLOY.glob("kubernetes/*.yaml"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{checked.stdout}{checked.stderr}".count("passed for resource") == len(manifests())
    broken = read("kubernetes/foja.yaml").replace("replicas: 2", "replicas: two", 1)
    (tmp_path / "broken.yaml").write_text(broken)
    assert validate(tmp_path / "broken.yaml").returncode != 0


def test_the_pods_run_without_rights_and_are_probed() -> None:
    for container in containers():
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        probe = container.get("readinessProbe", {"httpGet": {"path": None}})
        assert container["name"] in ("migrate", "first-key") or probe["httpGet"]["path"] == "/readyz"
    users = {
        each["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
        for each in manifests()
        if "template" in each.get("spec", {})
    }
    assert users == {10001}


def test_the_image_installs_the_tested_versions_and_does_not_run_as_root() -> None:
    image = read("Containerfile")
    assert "--constraint constraints.txt '.[server,images,otel]'" in image
    assert "--uid 10001" in image
    assert image.index("USER 10001") < image.index("CMD")
    for line in re.findall(r"^COPY (.+)$", image, re.MULTILINE):
        *sources, _ = line.split()
        assert all((DEPLOY.parent / source).exists() for source in sources)


def test_the_proxy_does_not_buffer_and_outwaits_a_heartbeat() -> None:
    proxy = read("nginx.conf")
    assert "proxy_buffering off;" in proxy
    assert "proxy_request_buffering off;" in proxy
    seconds = int(re.findall(r"proxy_read_timeout (\d+)s;", proxy)[0])
    assert seconds > Settings.model_fields["heartbeat_seconds"].default


def test_promtool_accepts_the_configuration() -> None:
    if not shutil.which("promtool"):
        pytest.skip("no promtool (apt install prometheus)")
    checked = run("promtool", "check", "config", DEPLOY / "prometheus" / "prometheus.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
