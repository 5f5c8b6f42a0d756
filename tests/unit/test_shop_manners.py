"""Each of the shop's bad manners does what it says, as often and to whom it says."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx2
import pytest

from demo.shop.server import ShopProcess
from tests.support.waiting import until

LONG_MS = 60_000
"""Longer than any test: who waits for it to pass fails."""


@pytest.fixture
def client(shop: ShopProcess) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=shop.url, trust_env=False, timeout=20) as client:
        yield client


@pytest.fixture
def reference(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def order(client: httpx2.Client, reference: str, user: str = "ann") -> httpx2.Response:
    return client.post("/api/orders", json={"user": user, "sku": "MUG-1", "reference": reference})


def log_in(client: httpx2.Client, user: str = "ann") -> None:
    client.post("/login", data={"username": user, "password": f"koala-{user}"})


def order_as_bytes(reference: str) -> bytes:
    body = f'{{"user":"ann","sku":"MUG-1","reference":"{reference}"}}'
    head = f"POST /api/orders HTTP/1.1\r\nHost: shop\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def bytes_answered(shop: ShopProcess, reference: str) -> tuple[bytes, bool]:
    """What comes back for an order over a bare socket, and whether the connection was reset at its end."""
    received = b""
    with socket.create_connection(("127.0.0.1", shop.port), timeout=20) as raw:
        raw.sendall(order_as_bytes(reference))
        try:
            while chunk := raw.recv(4096):
                received += chunk
        except ConnectionResetError:
            return received, True
    return received, False


def test_cut_after_order_stores_and_resets_the_connection_without_an_answer(shop: ShopProcess, reference: str) -> None:
    shop.set_manners(cut_after_order=1)
    received, was_reset = bytes_answered(shop, reference)
    assert was_reset
    assert received in (b"", b"HTTP/1.1 102 Processing\r\n\r\n")  # an interim line is no answer
    assert shop.book.references()[reference] == 1


def test_a_bare_cut_sends_not_one_byte(shop: ShopProcess, reference: str) -> None:
    shop.set_manners(cut_after_order={"times": 1, "bare": True})
    assert bytes_answered(shop, reference) == (b"", True)
    assert shop.book.references()[reference] == 1


def test_a_client_takes_a_cut_for_an_error_of_the_connection(
    shop: ShopProcess, client: httpx2.Client, reference: str
) -> None:
    shop.set_manners(cut_after_order=1)
    with pytest.raises(httpx2.TransportError):
        order(client, reference)
    assert order(client, reference).status_code == 201
    assert shop.book.references()[reference] == 2


def test_cut_before_order_stores_nothing(shop: ShopProcess, client: httpx2.Client, reference: str) -> None:
    shop.set_manners(cut_before_order=1)
    with pytest.raises(httpx2.TransportError):
        order(client, reference)
    assert reference not in shop.book.references()


def test_error_before_store_answers_500_and_stores_nothing(
    shop: ShopProcess, client: httpx2.Client, reference: str
) -> None:
    shop.set_manners(error_before_store=1)
    assert order(client, reference).status_code == 500
    assert reference not in shop.book.references()
    assert shop.state()["arrivals"][reference] == 1


def test_error_after_store_stores_and_answers_500(shop: ShopProcess, client: httpx2.Client, reference: str) -> None:
    shop.set_manners(error_after_store=1)
    assert order(client, reference).status_code == 500
    assert shop.book.references()[reference] == 1


@pytest.mark.parametrize("manner", ["cut_after_order", "cut_before_order", "error_after_store"])
def test_a_page_shows_the_same_manners_as_the_api(
    shop: ShopProcess, client: httpx2.Client, reference: str, manner: str
) -> None:
    log_in(client)
    shop.set_manners(**{manner: {"path": "/orders"}})
    assert order(client, f"api {reference}").status_code == 201
    fields = {"sku": "MUG-1", "reference": reference}
    if manner.startswith("cut"):
        with pytest.raises(httpx2.TransportError):
            client.post("/orders", data=fields)
    else:
        assert client.post("/orders", data=fields).status_code == 500
    assert shop.book.references()[reference] == (0 if manner == "cut_before_order" else 1)


def test_store_late_answers_at_once_with_a_receipt_for_what_is_not_in_the_list(
    shop: ShopProcess, client: httpx2.Client, reference: str
) -> None:
    log_in(client)
    shop.set_manners(store_late_ms=LONG_MS)
    receipt = client.post("/orders", data={"sku": "MUG-1", "reference": reference}).headers["location"]
    assert "Being processed" in client.get(receipt).text
    assert reference not in client.get("/orders").text
    assert client.get("/api/orders", params={"reference": reference}).json() == {"orders": []}
    shop.restart()
    assert "Received" in client.get(receipt).text


def test_a_late_order_appears_by_itself(shop: ShopProcess, client: httpx2.Client, reference: str) -> None:
    log_in(client)
    shop.set_manners(store_late_ms=200)
    began = time.monotonic()
    assert order(client, reference).status_code == 201
    until(lambda: reference in client.get("/orders").text, "the late order in the list")
    assert time.monotonic() - began >= 0.2


def test_slow_answer_stores_at_once(
    shop: ShopProcess, client: httpx2.Client, threads: ThreadPoolExecutor, reference: str
) -> None:
    shop.set_manners(slow_answer_ms={"ms": LONG_MS, "reference": reference})
    answer = threads.submit(order, client, reference)
    until(lambda: shop.book.references()[reference] == 1, "the order in the book")
    assert not answer.done()
    shop.restart()
    assert answer.result().status_code == 201


def test_slow_store_stores_before_it_answers(shop: ShopProcess, client: httpx2.Client, reference: str) -> None:
    shop.set_manners(slow_store_ms=200)
    began = time.monotonic()
    answer = order(client, reference)
    assert time.monotonic() - began >= 0.2
    assert [found.id for found in shop.book.with_reference(reference)] == [answer.json()["id"]]


def test_slow_store_stores_also_for_a_client_that_went_away(shop: ShopProcess, reference: str) -> None:
    shop.set_manners(slow_store_ms=500)
    with socket.create_connection(("127.0.0.1", shop.port), timeout=20) as hasty:
        hasty.sendall(order_as_bytes(reference))
        until(lambda: shop.state()["arrivals"].get(reference), "the arrival of the order")
    until(lambda: shop.book.references()[reference] == 1, "the order of the client that went away")
    until(lambda: shop.state()["pending"] == [], "nothing on its way")


def test_what_is_not_stored_yet_is_pending(
    shop: ShopProcess, client: httpx2.Client, threads: ThreadPoolExecutor, reference: str
) -> None:
    shop.set_manners(slow_store_ms=LONG_MS)
    answer = threads.submit(order, client, reference)
    until(lambda: shop.state()["pending"], "the order on its way")
    assert [found["reference"] for found in shop.state()["pending"]] == [reference]
    assert reference not in shop.state()["references"]
    shop.restart()
    assert answer.result().status_code == 201
    assert shop.book.references()[reference] == 1


def test_slow_pages_slow_pages_down_and_leave_the_judges_alone(
    shop: ShopProcess, client: httpx2.Client, threads: ThreadPoolExecutor
) -> None:
    shop.set_manners(slow_pages_ms=LONG_MS)
    waiting: list[Future[httpx2.Response]] = [threads.submit(client.get, page) for page in ("/", "/news")]
    until(lambda: shop.manners()["shown"].get("slow_pages_ms", 0) >= 2, "both visits at the door")
    assert not any(visit.done() for visit in waiting)
    assert client.get("/me").status_code == 200
    shop.restart()
    assert [visit.result().status_code for visit in waiting] == [200, 200]


def test_a_slow_path_is_the_only_slow_one(
    shop: ShopProcess, client: httpx2.Client, threads: ThreadPoolExecutor
) -> None:
    shop.set_manners(slow_pages_ms={"ms": LONG_MS, "path": "/news"})
    assert client.get("/").status_code == 200
    waiting = threads.submit(client.get, "/news")
    until(lambda: shop.manners()["shown"].get("slow_pages_ms"), "the visit at the door")
    assert not waiting.done()
    shop.restart()
    assert waiting.result().status_code == 200


def test_a_price_moves_at_each_reading_or_at_the_next_one_only(shop: ShopProcess, client: httpx2.Client) -> None:
    def price() -> str:
        return str(client.get("/api/price/ROPE-10").json()["price"])

    assert price() == "38.20"
    shop.set_manners(price_moves={"sku": "ROPE-10", "by": "1.50", "times": 1})
    assert client.get("/api/price/MUG-1").json()["price"] == "12.50"
    assert [price(), price()] == ["39.70", "39.70"]
    shop.set_manners(price_moves={"sku": "ROPE-10", "by": "-0.10"})
    assert 'data-price="39.60"' in client.get("/product/ROPE-10").text
    assert [price(), price()] == ["39.50", "39.40"]


def test_an_order_costs_what_the_price_has_become(shop: ShopProcess, client: httpx2.Client, reference: str) -> None:
    log_in(client)
    shop.set_manners(price_moves={"sku": "LAMP-1", "by": "10", "times": 1})
    client.get("/product/LAMP-1")
    client.post("/orders", data={"sku": "LAMP-1", "reference": reference})
    assert [found.price for found in shop.book.with_reference(reference)] == ["37.40"]


@pytest.mark.parametrize(("logout", "left"), [("ann", ["bob"]), ({"user": "ann"}, ["bob"]), (True, []), ({}, [])])
def test_a_logout_drops_one_user_or_everybody_at_once(shop: ShopProcess, logout: object, left: list[str]) -> None:
    with (
        httpx2.Client(base_url=shop.url, trust_env=False) as ann,
        httpx2.Client(base_url=shop.url, trust_env=False) as bob,
    ):
        log_in(ann, "ann")
        log_in(bob, "bob")
        shop.set_manners(logout=logout)
        assert [who for who in (ann.get("/me").json()["user"], bob.get("/me").json()["user"]) if who] == left


def test_a_logout_on_the_way_strikes_the_visitor_of_that_path(shop: ShopProcess, client: httpx2.Client) -> None:
    log_in(client)
    shop.set_manners(logout={"path": "/checkout", "times": 1})
    assert client.get("/account").status_code == 200
    assert client.post("/checkout", data={"sku": "MUG-1"}).headers["location"].startswith("/login")
    log_in(client)
    assert client.post("/checkout", data={"sku": "MUG-1"}).status_code == 200


def test_a_manner_has_so_many_turns(shop: ShopProcess, client: httpx2.Client, reference: str) -> None:
    shop.set_manners(error_before_store=2)
    assert [order(client, reference).status_code for _ in range(4)] == [500, 500, 201, 201]


def test_a_manner_can_last_until_it_is_switched_off(shop: ShopProcess, client: httpx2.Client, reference: str) -> None:
    shop.set_manners(error_before_store=-1)
    assert [order(client, reference).status_code for _ in range(3)] == [500] * 3
    shop.set_manners(error_before_store=0)
    assert order(client, reference).status_code == 201


def test_a_manner_can_be_for_one_user_or_for_references_that_begin_so(shop: ShopProcess, client: httpx2.Client) -> None:
    shop.set_manners(error_before_store=[{"user": "bob"}, {"reference": "bad-"}])
    placed = [("ann", "good-1"), ("bob", "good-2"), ("ann", "bad-1"), ("ann", "not-bad-1")]
    assert [order(client, ref, user).status_code for user, ref in placed] == [201, 500, 500, 201]


def test_a_turn_is_used_up_only_by_whom_it_is_meant_for(
    shop: ShopProcess, client: httpx2.Client, reference: str
) -> None:
    shop.set_manners(error_before_store={"times": 1, "user": "bob"})
    assert order(client, reference).status_code == 201
    assert shop.manners()["rules"] == {"error_before_store": [{"times": 1, "user": "bob"}]}
    assert order(client, reference, "bob").status_code == 500
    assert shop.manners()["rules"] == {"error_before_store": [{"times": 0, "user": "bob"}]}


def test_manners_do_not_change_each_other(shop: ShopProcess, client: httpx2.Client, reference: str) -> None:
    shop.set_manners(error_after_store=1)
    shop.set_manners(slow_store_ms=100)
    assert set(shop.manners()["rules"]) == {"error_after_store", "slow_store_ms"}
    assert order(client, reference).status_code == 500
    assert shop.book.references()[reference] == 1


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"eats_orders": 1}, "no such manner: eats_orders"),
        ({"cut_after_order": {"tmies": 1}}, "tmies"),
        ({"slow_pages_ms": -5}, "greater than or equal"),
        ({"cut_after_order": "often"}, "valid"),
        ({"logout": "ann", "eats_orders": 1}, "no such manner"),
    ],
)
def test_a_wrong_manner_is_told_and_changes_nothing(
    shop: ShopProcess, client: httpx2.Client, wrong: dict[str, object], complaint: str
) -> None:
    log_in(client)
    shop.set_manners(error_before_store=7)
    with pytest.raises(ValueError, match=complaint):
        shop.set_manners(error_before_store=1, **wrong)
    assert shop.manners()["rules"] == {"error_before_store": [{"times": 7}]}
    assert client.get("/me").json()["user"] == "ann"


def test_a_restarted_shop_has_good_manners(shop: ShopProcess) -> None:
    shop.set_manners(error_before_store=-1)
    shop.restart()
    assert shop.manners() == {"rules": {}, "shown": {}}
