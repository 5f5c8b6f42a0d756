"""What a child is told by its environment, and what an HTTP library makes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from koala.errors import SettingsError
from koala.settings import load
from tests.support.proxy import Proxy
from tests.support.site import welcoming_site
from worker.environment import for_child

OURS = {"PATH": "/bin", "KOALA_REDIS_URL": "redis://store", "NO_PROXY": "127.0.0.1", "http_proxy": "http://other:1"}


def test_without_a_proxy_it_is_ours_less_the_store() -> None:
    given = for_child(OURS, Path("/child"))
    own = {"TMPDIR": "/child", "PYTHONIOENCODING": "utf-8:backslashreplace"}
    assert given == {**{k: v for k, v in OURS.items() if k != "KOALA_REDIS_URL"}, **own}


@pytest.mark.parametrize("library", ["httpx2", "urllib"])
def test_with_one_an_authors_http_goes_through_it_to_loopback_addresses_too(library: str, tmp_path: Path) -> None:
    code = {
        "httpx2": "import httpx2, sys; httpx2.get(sys.argv[1]).raise_for_status()",
        "urllib": "import urllib.request, sys; urllib.request.urlopen(sys.argv[1]).read()",
    }[library]
    with welcoming_site() as site, Proxy() as proxy:
        subprocess.run([sys.executable, "-c", code, f"{site}/"], env=for_child(OURS, tmp_path, proxy.url), check=True)
        assert proxy.passed == [f"GET {site}/"]


@pytest.mark.parametrize("wrong", ["squid:3128", "https://squid:3128", "http://squid", "http://a:b@squid:3128"])
def test_what_is_no_proxy_is_refused_without_its_value(wrong: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(proxy=wrong)
    assert "KOALA_PROXY" in str(refused.value)
    assert wrong not in str(refused.value)
