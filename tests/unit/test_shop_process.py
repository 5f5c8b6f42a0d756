"""The shop as a process: what it has answered is in its book, however it ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from demo.shop.book import OrderBook
from demo.shop.server import ROOT, ShopProcess
from tests.support.waiting import until

LONG_MS = 60_000


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ShopProcess]:
    with ShopProcess(tmp_path / "with a space") as shop:
        yield shop


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def order(shop: ShopProcess, reference: str) -> httpx2.Response:
    with httpx2.Client(base_url=shop.url, trust_env=False, timeout=20) as client:
        return client.post("/api/orders", json={"user": "ann", "sku": "MUG-1", "reference": reference})


def order_until_refused(shop: ShopProcess, name: str) -> tuple[list[str], int]:
    """The ids of the orders that were answered, and how many were tried."""
    answered: list[str] = []
    with httpx2.Client(base_url=shop.url, trust_env=False, timeout=20) as client:
        for tried in range(100_000):
            wish = {"user": "ann", "sku": "MUG-1", "reference": f"{name}-{tried}"}
            try:
                answered.append(client.post("/api/orders", json=wish).json()["id"])
            except httpx2.TransportError:
                return answered, tried + 1
    raise AssertionError("the shop was never killed")


def test_every_answered_order_survives_a_kill_in_the_middle(shop: ShopProcess, threads: ThreadPoolExecutor) -> None:
    customers = [threads.submit(order_until_refused, shop, f"customer-{n}") for n in range(3)]
    until(lambda: len(shop.book.orders()) > 100, "a hundred orders")
    shop.kill()
    answered = [order_id for customer in customers for order_id in customer.result()[0]]
    tried = sum(customer.result()[1] for customer in customers)
    stored = [found.id for found in OrderBook(shop.book.path).orders()]
    assert set(answered) <= set(stored)
    assert len(answered) <= len(stored) == len(set(stored)) <= tried
    shop.start()
    assert [found["id"] for found in shop.state()["orders"]] == stored


def test_a_torn_last_line_is_no_order_and_the_next_start_goes_on_behind_the_whole_ones(
    shop: ShopProcess,
) -> None:
    order(shop, "whole")
    shop.kill()
    with shop.book.path.open("ab") as book:
        book.write(shop.book.path.read_bytes().replace(b"whole", b"torn!")[:-1])
    assert OrderBook(shop.book.path).references() == {"whole": 1}
    shop.start()
    assert shop.state()["references"] == {"whole": 1}
    order(shop, "next")
    assert OrderBook(shop.book.path).references() == {"whole": 1, "next": 1}


def test_an_order_that_a_kill_caught_before_its_line_does_not_exist(
    shop: ShopProcess, threads: ThreadPoolExecutor
) -> None:
    shop.set_manners(slow_store_ms=LONG_MS)
    answer = threads.submit(order, shop, "caught")
    until(lambda: shop.state()["pending"], "the order on its way")
    shop.kill()
    with pytest.raises(httpx2.TransportError):
        answer.result()
    shop.start()
    assert shop.state()["references"] == {}


def test_a_stop_ends_every_pause_stores_and_answers(shop: ShopProcess, threads: ThreadPoolExecutor) -> None:
    shop.set_manners(
        slow_store_ms={"ms": LONG_MS, "reference": "store"},
        store_late_ms={"ms": LONG_MS, "reference": "late"},
        slow_answer_ms={"ms": LONG_MS, "reference": "answer"},
    )
    answers = [threads.submit(order, shop, reference) for reference in ("store", "late", "answer")]
    until(lambda: len(shop.state()["pending"]) == 2 and shop.book.references()["answer"], "all on their way")
    began = time.monotonic()
    shop.stop()
    assert time.monotonic() - began < LONG_MS / 1000 / 2
    assert [answer.result().status_code for answer in answers] == [201, 201, 201]
    assert shop.book.references() == {"store": 1, "late": 1, "answer": 1}
    assert (shop.directory / "shop.log").read_text() == ""


def test_a_stop_is_quick_with_a_client_that_says_nothing(shop: ShopProcess) -> None:
    with socket.create_connection(("127.0.0.1", shop.port)) as silent:
        silent.sendall(b"POST /api/orders HTTP/1.1\r\nHost: shop\r\nContent-Length: 100\r\n\r\nhalf")
        pid = shop.pid
        began = time.monotonic()
        shop.stop()
        assert time.monotonic() - began < 15  # the rest of its time, and then it would be killed
    assert not Path(f"/proc/{pid}").exists()


def test_url_and_port_stay_the_same_over_restarts(shop: ShopProcess) -> None:
    url, pid = shop.url, shop.pid
    shop.restart()
    assert shop.url == url
    assert shop.pid != pid
    assert order(shop, "after").status_code == 201


def test_a_frozen_shop_answers_when_it_is_thawed(shop: ShopProcess, threads: ThreadPoolExecutor) -> None:
    shop.freeze()
    answer = threads.submit(order, shop, "frozen")
    assert Path(f"/proc/{shop.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    assert shop.book.orders() == []
    shop.thaw()
    assert answer.result().status_code == 201


def test_a_frozen_shop_ends_as_properly_as_any_other(shop: ShopProcess) -> None:
    shop.set_manners(store_late_ms=LONG_MS)
    order(shop, "late")
    pid = shop.pid
    shop.freeze()
    shop.stop()
    assert not Path(f"/proc/{pid}").exists()
    assert shop.book.references() == {"late": 1}


def test_a_second_shop_over_the_same_book_is_refused(shop: ShopProcess) -> None:
    with pytest.raises(RuntimeError, match="did not start"):
        ShopProcess(shop.directory).start()
    assert order(shop, "still here").status_code == 201


def test_stopping_twice_is_nothing_new(shop: ShopProcess) -> None:
    shop.stop()
    shop.stop()
    with pytest.raises(RuntimeError, match="does not run"):
        _ = shop.pid


def test_the_shop_does_not_outlive_who_started_it(tmp_path: Path) -> None:
    code = (
        "import sys, os, signal; from pathlib import Path; from demo.shop.server import ShopProcess\n"
        "shop = ShopProcess(Path(sys.argv[1])); shop.start(); print(shop.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    starter = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert starter.returncode == -signal.SIGKILL
    pid = int(starter.stdout)
    until(lambda: has_ended(pid), "the end of the shop")


def test_without_a_port_file_the_port_is_a_line_of_json(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "demo.shop", "--port=0", f"--data={tmp_path}"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = json.loads(process.stdout.readline())["port"]
        assert httpx2.get(f"http://127.0.0.1:{port}/me", trust_env=False).status_code == 200
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM


def has_ended(pid: int) -> bool:
    """Gone, or dead and waiting for whoever inherited it to look."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"
