"""compose.yaml and its explanation agree, and no service has more than it needs."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = (ROOT / "compose.yaml").read_text("utf-8")
EXPLAINED = (ROOT / ".env.example").read_text("utf-8")

USED = re.compile(r"\$\{([A-Z_]+)(?::-([^}]*))?")
LINE = re.compile(r"^#([A-Z_]+)=(\S*)", re.MULTILINE)
OF_COMPOSE_ITSELF = {"COMPOSE_PROFILES"}


def test_every_variable_is_explained_with_its_default() -> None:
    used = {name: default for name, default in USED.findall(COMPOSE) if default}
    explained = dict(LINE.findall(EXPLAINED))
    names = {name for name, _ in USED.findall(COMPOSE)}
    assert set(explained) - OF_COMPOSE_ITSELF == names
    assert {name: explained[name] for name in used} == used


def test_what_is_published_is_published_on_the_loopback_interface() -> None:
    published = re.findall(r"ports: \[(.*)\]", COMPOSE)
    assert len(published) == 2
    assert all(one.startswith('"127.0.0.1:') for one in published)


def test_nobody_mounts_the_engines_socket_or_is_privileged() -> None:
    assert "docker.sock" not in COMPOSE
    assert "privileged" not in COMPOSE.replace("no-new-privileges", "")


def test_an_image_is_given_what_is_named_and_nothing_else() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    assert not {"!tests", "!secrets", "!.git", "!demo"} & set(lines)
