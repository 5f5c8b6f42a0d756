"""A login at the shop needs both of its cookies and lasts over restarts of the shop."""

from __future__ import annotations

import json
from http.cookies import SimpleCookie
from pathlib import Path

import httpx2
import pytest

from demo.shop.server import ShopProcess
from demo.shop.sessions import Sessions

BOTH = {"user": "ann", "session": True, "remember": True}
NEITHER = {"user": None, "session": False, "remember": False}


def visitor(shop: ShopProcess, cookies: dict[str, str] | None = None) -> httpx2.Client:
    return httpx2.Client(base_url=shop.url, cookies=cookies, trust_env=False)


def log_in(client: httpx2.Client, user: str = "ann", **more: str) -> httpx2.Response:
    return client.post("/login", data={"username": user, "password": f"koala-{user}", **more})


def me(shop: ShopProcess, cookies: dict[str, str]) -> object:
    with visitor(shop, cookies) as client:
        return client.get("/me").json()


def cookies_of(shop: ShopProcess, user: str = "ann") -> dict[str, str]:
    with visitor(shop) as client:
        log_in(client, user)
        return dict(client.cookies)


def test_the_session_cookie_ends_with_the_browser_and_the_other_stays_for_thirty_days(
    shop: ShopProcess,
) -> None:
    with visitor(shop) as client:
        lines = log_in(client).headers.get_list("set-cookie")
    jar = SimpleCookie()
    for line in lines:
        jar.load(line)
    assert (jar["shop_session"]["max-age"], jar["shop_session"]["expires"]) == ("", "")
    assert jar["shop_remember"]["max-age"] == str(30 * 24 * 3600)


def test_both_cookies_together_are_a_login_and_one_alone_is_not(shop: ShopProcess) -> None:
    cookies = cookies_of(shop)
    session, remember = ({name: cookies[name]} for name in ("shop_session", "shop_remember"))
    assert me(shop, cookies) == BOTH
    assert me(shop, session) == {"user": None, "session": True, "remember": False}
    assert me(shop, remember) == {"user": None, "session": False, "remember": True}


def test_cookies_of_two_logins_do_not_make_one(shop: ShopProcess) -> None:
    one, other = cookies_of(shop), cookies_of(shop)
    mixed = {"shop_session": one["shop_session"], "shop_remember": other["shop_remember"]}
    assert me(shop, mixed) == {"user": None, "session": True, "remember": True}


@pytest.mark.parametrize("forge", [lambda c: c["shop_remember"], lambda c: "1.0.0", lambda c: "9.0.x", lambda c: ""])
def test_a_forged_session_cookie_is_void(shop: ShopProcess, forge: object) -> None:
    assert callable(forge)
    cookies = cookies_of(shop)
    assert me(shop, cookies | {"shop_session": forge(cookies)}) == BOTH | {"user": None, "session": False}


def test_a_login_lasts_over_a_restart_and_over_a_kill(shop: ShopProcess) -> None:
    cookies = cookies_of(shop)
    shop.restart()
    assert me(shop, cookies) == BOTH
    shop.kill()
    shop.start()
    assert me(shop, cookies) == BOTH


def test_logging_out_ends_that_login_and_no_other(shop: ShopProcess) -> None:
    one, other = cookies_of(shop), cookies_of(shop)
    with visitor(shop, one) as client:
        assert client.post("/logout").headers["location"] == "/"
    shop.restart()
    assert me(shop, one) == NEITHER
    assert me(shop, other) == BOTH


def test_each_login_is_a_line_in_its_file(shop: ShopProcess) -> None:
    before = shop.logins
    for user in ("ann", "bob", "ann"):
        cookies_of(shop, user)
    lines = (shop.directory / "logins.jsonl").read_text().splitlines()
    assert [json.loads(line)["user"] for line in lines[before:]] == ["ann", "bob", "ann"]
    assert shop.logins == shop.state()["logins"] == before + 3


def test_a_wrong_password_is_told_and_no_login(shop: ShopProcess) -> None:
    before = shop.logins
    with visitor(shop) as client:
        answer = client.post("/login", data={"username": "ann", "password": "koala-bob"})
    assert answer.status_code == 401
    assert "wrong" in answer.text
    assert shop.logins == before


def test_with_a_list_of_users_only_they_get_in(tmp_path: Path) -> None:
    with ShopProcess(tmp_path, users={"ann": "se:cret"}) as shop, visitor(shop) as client:
        assert log_in(client, "ann").status_code == 401
        assert log_in(client, "bob").status_code == 401
        assert client.post("/login", data={"username": "ann", "password": "se:cret"}).status_code == 303


@pytest.mark.parametrize("page", ["/account", "/orders", "/checkout?sku=MUG-1&qty=2"])
def test_a_page_behind_the_login_leads_there_and_back(shop: ShopProcess, page: str) -> None:
    with visitor(shop) as client:
        to_login = httpx2.URL(client.get(page).headers["location"])
        assert to_login.path == "/login"
        assert log_in(client, next=to_login.params["next"]).headers["location"] == page


@pytest.mark.parametrize("goal", ["//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere.example", ""])
def test_a_login_never_leads_out_of_the_shop(shop: ShopProcess, goal: str) -> None:
    with visitor(shop) as client:
        assert log_in(client, next=goal).headers["location"] == "/account"


def test_the_remember_cookie_stays_the_same_while_tokens_do_not_rotate(shop: ShopProcess) -> None:
    with visitor(shop, cookies_of(shop)) as client:
        assert "set-cookie" not in client.get("/account").headers


def test_a_rotated_cookie_replaces_the_old_one_which_is_good_for_the_grace(shop: ShopProcess) -> None:
    shop.set_manners(rotate_tokens={"grace_s": 60})
    old = cookies_of(shop)
    with visitor(shop, old) as client:
        first = client.get("/account").cookies["shop_remember"]
    assert first != old["shop_remember"]
    assert me(shop, old) == me(shop, old | {"shop_remember": first}) == BOTH
    with visitor(shop, old) as client:
        assert client.get("/account").cookies["shop_remember"] == first
    shop.restart()
    assert me(shop, old) == me(shop, old | {"shop_remember": first}) == BOTH


def test_after_the_grace_only_the_new_cookie_is_good(shop: ShopProcess) -> None:
    shop.set_manners(rotate_tokens={"grace_s": 0})
    old = cookies_of(shop)
    with visitor(shop, old) as client:
        new = client.get("/account").cookies["shop_remember"]
    assert me(shop, old) == {"user": None, "session": True, "remember": False}
    assert me(shop, old | {"shop_remember": new}) == BOTH


def test_coming_back_with_the_old_cookie_does_not_prolong_its_grace(tmp_path: Path) -> None:
    clock = [0.0]
    sessions = Sessions(tmp_path, now=lambda: clock[0])
    sessions.open_for_writing()
    old = sessions.remember_cookie(sessions.login("ann"))
    sessions.rotate(old, grace_s=60)
    clock[0] = 59
    sessions.rotate(old, grace_s=60)
    assert sessions.by_remember(old) is not None
    clock[0] = 61
    assert sessions.by_remember(old) is None
