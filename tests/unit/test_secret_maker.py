"""The maker of secrets, as its container runs it: as root, over a directory of the host's."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

MAKE = Path(__file__).resolve().parents[2] / "container" / "secrets" / "make.py"
PYTHON = "/usr/bin/python3"
"""Not the environment's: the maker needs nothing but the standard library."""
KOALA, REDIS, GRAFANA = 10001, 999, 472
PASSWORDS = {f"{user}/redis_password": KOALA for user in ("worker", "scheduler", "operator", "exporter")}
MADE = {**PASSWORDS, "grafana/admin_password": GRAFANA, "redis/users.acl": REDIS}


@dataclass
class Maker:
    """The program and its directory."""

    root: Path

    def __call__(self, *words: str, typed: str = "") -> tuple[int, str]:
        """Its exit code, and all that it said."""
        done = self.start(*words).communicate(typed, timeout=30)
        return self._code, "".join(done)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The program, not waited for."""
        command = [PYTHON, str(MAKE), *words]
        environment = {"PATH": "/usr/bin:/bin", "KOALA_SECRETS": str(self.root)}
        pipe = subprocess.PIPE
        self._last = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        return self._last

    @property
    def _code(self) -> int:
        return self._last.wait(30)

    def values(self) -> dict[str, bytes]:
        """Every file there is."""
        return {str(path.relative_to(self.root)): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def hashes(self, user: str) -> list[str]:
        """The passwords' hashes with which a user gets in; empty when it is off."""
        text = (self.root / "redis" / "users.acl").read_text()
        line = next(line for line in text.splitlines() if line.startswith(f"user {user} "))
        return [word[1:] for word in line.split() if word.startswith("#")]


@pytest.fixture
def maker(tmp_path: Path) -> Maker:
    """Nothing is made yet."""
    if os.geteuid() != 0:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("needs root, to give files away")
    return Maker(tmp_path)


@pytest.fixture
def made(maker: Maker) -> Maker:
    """All is made."""
    assert maker()[0] == 0
    return maker


def digest(value: bytes) -> str:
    """What Redis keeps."""
    return hashlib.sha256(value).hexdigest()


def test_each_reader_gets_its_own_and_nobody_else_can_read_it(maker: Maker) -> None:
    code, said = maker()
    assert code == 0
    for name, owner in MADE.items():
        found = (maker.root / name).stat()
        assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (owner, 0o400), name
        assert f"made    {name}" in said
        folder = (maker.root / name).parent.stat()
        assert (folder.st_uid, stat.S_IMODE(folder.st_mode)) == (0, 0o755), "only root writes there"
    assert set(maker.values()) == set(MADE)


def test_values_are_long_all_different_without_a_newline_and_never_shown(maker: Maker) -> None:
    said = maker()[1] + maker()[1] + maker("rotate", "worker")[1] + maker("check")[1]
    values = [value for name, value in maker.values().items() if name != "redis/users.acl"]
    assert len(set(values)) == len(values)
    for value in values:
        assert len(value) >= 32
        assert value.strip() == value
        assert value.decode() not in said


def test_the_access_list_holds_hashes_only_and_who_has_no_password_is_off(made: Maker) -> None:
    values = made.values()
    for name in PASSWORDS:
        assert made.hashes(name.partition("/")[0]) == [digest(values[name])]
        assert values[name] not in values["redis/users.acl"]
    assert made.hashes("gateway") == made.hashes("console") == []


def test_what_is_there_is_kept(made: Maker) -> None:
    before = made.values()
    code, said = made()
    assert (code, made.values()) == (0, before)
    assert said.count("kept") == len(MADE)


def test_only_what_is_missing_is_made(made: Maker) -> None:
    before = made.values()
    (made.root / "scheduler" / "redis_password").unlink()
    code, said = made()
    after = made.values()
    changed = {name for name in after if after[name] != before[name]}
    assert (code, changed) == (0, {"scheduler/redis_password", "redis/users.acl"})
    assert "made    scheduler/redis_password" in said
    assert made.hashes("scheduler")[0] == digest(after["scheduler/redis_password"])


@pytest.mark.parametrize(
    ("text", "mode", "owner", "said"),
    [
        (b"", 0o400, KOALA, "is empty"),
        (b"value-of-it\n", 0o400, KOALA, "ends in a newline"),
        (b"value-of-it", 0o444, KOALA, "is open to others (mode 0444)"),
        (b"value-of-it", 0o440, KOALA, "is open to others (mode 0440)"),
        (b"value-of-it", 0o400, 0, "belongs to uid 0, and its reader is uid 10001"),
    ],
)
def test_one_that_its_reader_cannot_use_is_named_and_left(
    made: Maker, text: bytes, mode: int, owner: int, said: str
) -> None:
    """And the access list with it: who is in stays in. Of an author's own secrets the same is asked."""
    name = "worker/redis_password" if not text else "worker/shop_password"
    path = made.root / name
    path.unlink(missing_ok=True)
    path.write_bytes(text)
    path.chmod(mode)
    os.chown(path, owner, -1)
    before = made.values()
    for words in ((), ("check",)):
        code, told = made(*words)
        assert (code, f"problem {name}: {said}" in told, "value-of-it" in told) == (66, True, False)
    assert made.values() == before


def test_a_link_is_no_secret(made: Maker) -> None:
    path = made.root / "worker" / "redis_password"
    path.rename(made.root / "elsewhere")
    path.symlink_to(made.root / "elsewhere")
    code, said = made()
    assert (code, "problem worker/redis_password: is no plain file" in said) == (66, True)


def test_a_directory_that_everybody_may_write_into_is_refused(made: Maker) -> None:
    (made.root / "worker").chmod(0o777)
    code, said = made()
    assert (code, "worker is a link or open to everyone" in said) == (66, True)


def test_mending_gives_owner_and_mode_and_leaves_the_value(made: Maker) -> None:
    path = made.root / "worker" / "redis_password"
    before = made.values()
    path.chmod(0o644)
    os.chown(path, 0, -1)
    code, said = made("mend")
    assert (code, "mended  worker/redis_password" in said, made.values()) == (0, True, before)
    assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (KOALA, 0o400)


def test_an_authors_own_secret_is_put_without_its_newline_and_replaced_whole(made: Maker) -> None:
    path = made.root / "worker" / "shop_password"
    assert made("put", "worker/shop_password", typed="first\n")[0] == 0
    assert path.read_bytes() == b"first"
    code, said = made("put", "worker/shop_password", typed="second")
    assert (code, path.read_bytes(), path.stat().st_uid) == (0, b"second", KOALA)
    assert "changed worker/shop_password" in said
    assert "second" not in said


@pytest.mark.parametrize(("name", "typed"), [("worker/shop_password", ""), ("worker/shop_password", "two\n\n")])
def test_nothing_is_put_that_could_not_be_used(made: Maker, name: str, typed: str) -> None:
    before = made.values()
    assert made("put", name, typed=typed)[0] == 66
    assert made.values() == before


@pytest.mark.parametrize(
    "name",
    ["../out", "worker/../../out", "worker/.hidden", "nobody/x", "redis/users.acl", "worker", "worker/", "/etc/x"],
)
def test_a_name_leaves_no_readers_directory(made: Maker, name: str) -> None:
    before = made.values()
    assert made("put", name, typed="x")[0] == 2
    assert made.values() == before


def test_a_password_is_changed_in_two_steps_and_both_are_taken_between_them(made: Maker) -> None:
    before = made.values()["worker/redis_password"]
    code, said = made("rotate", "worker")
    after = made.values()["worker/redis_password"]
    assert (code, after != before) == (0, True)
    assert made.hashes("worker") == [digest(after), digest(before)]
    assert "former passwords of worker are taken too, until `retire`" in said
    assert made()[0] == 0
    assert made.hashes("worker") == [digest(after), digest(before)], "making what is missing ends nothing"
    assert made("retire")[0] == 0
    assert made.hashes("worker") == [digest(after)]


def test_a_password_that_was_put_is_in_the_access_list_at_once(made: Maker) -> None:
    assert made("put", "operator/redis_password", typed="my-own-password")[0] == 0
    assert made.hashes("operator")[0] == digest(b"my-own-password")


def test_a_list_that_takes_another_password_than_is_there_is_seen(made: Maker) -> None:
    """It is by hand that they differ: a value from elsewhere, or an older copy of the list."""
    assert made("check")[0] == 0
    (made.root / "worker" / "redis_password").write_bytes(b"put there by hand")
    code, said = made("check")
    assert (code, "does not take the password of worker: run this" in said) == (66, True), said
    assert made()[0] == 0
    assert made("check") == (0, "")
    (made.root / "redis" / "users.acl").write_text((made.root / "redis" / "users.acl").read_text() + "user x on\n")
    code, said = made("check")
    assert (code, "grants something else than this version wants" in said) == (66, True), said


def test_two_at_a_time_make_one_set(maker: Maker) -> None:
    running = [maker.start() for _ in range(3)]
    said = [one.communicate(timeout=30)[0] for one in running]
    assert [one.returncode for one in running] == [0, 0, 0]
    assert sum(text.count("made    worker/redis_password") for text in said) == 1
    assert maker.hashes("worker") == [digest(maker.values()["worker/redis_password"])]


def test_what_a_killed_one_left_behind_goes(made: Maker) -> None:
    (made.root / "worker" / ".part-redis_password-1").write_text("half")
    assert made()[0] == 0
    assert set(made.values()) == set(MADE)


def test_without_root_it_says_so(maker: Maker) -> None:
    with tempfile.TemporaryDirectory() as folder:  # which, unlike the checkout maybe, anybody may enter
        shutil.copytree(MAKE.parents[1], Path(folder) / "container")
        (Path(folder) / "secrets").mkdir()
        Path(folder).chmod(0o755)
        done = as_nobody(Path(folder) / "container" / "secrets" / "make.py", Path(folder) / "secrets")
    assert (done.returncode, "run this as root" in done.stdout) == (66, True), done.stderr


def as_nobody(script: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Run the maker without any right."""
    environment = {"PATH": "/usr/bin:/bin", "KOALA_SECRETS": str(root)}
    command = ["setpriv", "--reuid", "65534", "--clear-groups", PYTHON, str(script)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30)


@pytest.mark.parametrize("words", [("destroy",), ("make", "x"), ("put",), ("rotate",), ("rotate", "redis")])
def test_wrong_words_do_nothing(maker: Maker, words: tuple[str, ...]) -> None:
    assert maker(*words)[0] == 2
    assert maker.values() == {}
