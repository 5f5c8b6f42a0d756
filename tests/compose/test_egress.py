"""The pages' way out: what it lets through, and that nothing inside can be reached through it by any name or form."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.support.egress import TMP, Egress, read_head

PYTHON = "koala:test"


@pytest.fixture(scope="module")
def image(images: str) -> str:
    return f"koala-test-egress:{images}"


@pytest.fixture(scope="module")
def way(image: str) -> Iterator[Egress]:
    """One that lets the inside server through by its name on one port."""
    with Egress(image, PYTHON, allow="inside.test:8080") as egress:
        yield egress


@pytest.fixture(scope="module")
def narrow(image: str) -> Iterator[Egress]:
    """One with a list of the only places."""
    with Egress(image, PYTHON, only=".outside.test, both.test {outside}:8080") as egress:
        yield egress


def test_a_place_outside_is_reached_and_told_nothing_of_the_proxy(way: Egress) -> None:
    answer = way.get("http://outside.test/hello?a=1", **{"X-Mine": "stays"})
    assert answer.status == 200
    head = answer.seen["head"].lower()
    assert "get /hello?a=1" in head
    assert "x-mine: stays" in head
    assert not [word for word in ("via", "forwarded", "x-forwarded-for", "proxy", "squid", "egress") if word in head]
    assert not {"via", "x-cache", "x-cache-lookup", "cache-status"} & answer.headers.keys()


def test_nothing_is_kept(way: Egress) -> None:
    for _ in range(2):
        last = way.get("http://outside.test/again")
    assert last.seen["arrivals"]["GET /again"] == 2


def test_tunnels_lead_outside(way: Egress) -> None:
    assert [way.status(place) for place in ("outside.test:443", "outside.test:80", f"{way.outside}:443")] == [200] * 3


def test_a_websocket_goes_through_a_tunnel(way: Egress) -> None:
    status, link = way.connect("outside.test:80")
    with link:
        assert status == 200
        link.sendall(b"GET /ws HTTP/1.1\r\nHost: outside.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert " 101 " in read_head(link)
        link.sendall(b"ping")
        assert link.recv(4) == b"ping"


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "0.0.0.0",  # noqa: S104
            "224.0.0.1",
        ),
        *("255.255.255.255", "198.18.0.1", "168.63.129.16", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:a01:203]"),
        *("[::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]", "[fe80::1]", "[fd00:ec2::254]", "[fec0::1]"),
        *("[ff02::1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "inside.test", "loop.test", "cloud.test", "six.test"),
        *("both.test", "localhost", "LOOP.test", "loop.test."),
    ],
)
def test_nothing_inside_is_reached_by_any_name_or_form(way: Egress, host: str) -> None:
    """Whether asked in the clear or for a tunnel. A name with one address inside counts as inside."""
    assert way.get(f"http://{host}/").status == 403
    assert (way.status(f"{host}:443"), way.status(f"{host}:80")) == (403, 403)


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "0", "127.0.0.1.", "nowhere.test"]
)
def test_odd_forms_and_names_that_lead_nowhere_are_refused(way: Egress, host: str) -> None:
    """Before a connection is tried: a name that leads nowhere now may lead inwards a moment later."""
    assert way.get(f"http://{host}/").status in (400, 403, 503)
    assert way.status(f"{host}:443") in (400, 403, 503)


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://loop.test/"]
)
def test_a_redirect_leads_no_further_than_an_address_typed_in(way: Egress, target: str) -> None:
    first = way.get(f"http://outside.test/to/{target}")
    assert (first.status, first.headers["location"]) == (302, target)
    assert way.get(first.headers["location"]).status == 403


def test_a_name_that_leads_elsewhere_each_time_never_leads_inside(way: Egress) -> None:
    """What was looked at is what is connected to, also when the answer may not be kept."""
    statuses = {way.get("http://turns.test/").status for _ in range(20)}
    assert statuses in ({200}, {403})
    assert way.get("http://late.test/").status == 503
    assert way.get("http://late.test/").status == 503, "no second look within a minute"
    seen = way.get("http://outside.test/").seen
    assert seen["asked"]["late.test"] == 1
    assert "inside" not in seen["arrivals"] or not seen["arrivals"]["inside"]


def test_other_ports_and_other_protocols_are_closed(way: Egress) -> None:
    assert [way.status(f"outside.test:{port}") for port in (22, 25, 6379, 8080)] == [403] * 4
    assert [way.get(f"http://outside.test:{port}/").status for port in (443, 8080, 22)] == [403] * 3
    assert way.get("ftp://outside.test/").status in (400, 403, 501)
    assert way.get("http://egress:3128/squid-internal-mgr/info").status == 403


def test_the_operators_exception_is_one_place_and_one_port(way: Egress) -> None:
    assert way.get("http://inside.test:8080/shop").status == 200
    assert way.status("inside.test:8080") == 200
    assert way.get(f"http://{way.inside}:8080/").status == 403, "the name is let through, not its address"
    assert way.get("http://inside.test/").status == 403


def test_a_list_of_the_only_places(narrow: Egress) -> None:
    assert narrow.get("http://outside.test/").status == 200
    assert narrow.get("http://deep.outside.test/").status == 200
    assert narrow.status("outside.test:443") == 200
    assert narrow.get(f"http://{narrow.outside}:8080/").status == 200
    assert narrow.get(f"http://{narrow.outside}/").status == 403
    assert narrow.status("outside.test:22") == 403
    assert narrow.status("elsewhere.test:443") in (403, 503)


def test_what_is_listed_is_not_inside_by_that(narrow: Egress) -> None:
    assert narrow.get("http://both.test/").status == 403


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "GET"])
def test_a_request_without_an_answer_is_not_sent_again(way: Egress, method: str) -> None:
    """An order that was taken and not answered must not be placed twice by the way there."""
    assert way.get("http://outside.test/keep").status == 200, "a connection that could be used again"
    assert way.get(f"http://outside.test/drop-{method}", method).status in (502, 503)
    assert way.get("http://outside.test/").seen["arrivals"][f"{method} /drop-{method}"] == 1


def test_its_log_says_where_and_nothing_of_what(way: Egress) -> None:
    way.get("http://outside.test/token/s3cret?code=s3cret", Cookie="s3cret")
    way.get("http://loop.test/s3cret")
    way.run("/usr/local/lib/koala/health")
    lines = way.log()
    assert {"outside.test", "loop.test"} <= {line["host"] for line in lines}
    assert "s3cret" not in str(lines)
    assert not [line for line in lines if line["client"] == "127.0.0.1"], "its own health check"
    denied = next(line for line in lines if line["host"] == "loop.test")
    assert (denied["event"], denied["status"], denied["to"]) == ("egress", 403, "-")


def test_it_runs_as_nobody_in_particular(way: Egress) -> None:
    status = way.run("cat", "/proc/1/status")
    assert "Uid:\t13\t" in status
    assert "CapEff:\t0000000000000000" in status
    assert "CapBnd:\t0000000000000000" in status


@pytest.mark.parametrize(
    ("variable", "text", "named"),
    [
        ("KOALA_EGRESS_ALLOW", "shop.test:80:90", "shop.test:80:90"),
        ("KOALA_EGRESS_ALLOW", "shop.test:0", "shop.test:0"),
        ("KOALA_EGRESS_ALLOW", "http://shop.test", "http://shop.test"),
        ("KOALA_EGRESS_ONLY", "good.test, *.test", "*.test"),
        ("KOALA_EGRESS_ONLY", "300.1.1.1", "300.1.1.1"),
        ("KOALA_EGRESS_ONLY", "good.test;bad.test", "good.test;bad.test"),
        ("KOALA_EGRESS_ONLY", "-n", "-n"),
    ],
)
def test_a_list_that_is_wrong_is_named_and_ends_it_for_good(image: str, variable: str, text: str, named: str) -> None:
    command = ["docker", "run", "--rm", "--pull", "never", "--network", "none", "--read-only", *TMP]
    done = subprocess.run([*command, "-e", f"{variable}={text}", image], capture_output=True, text=True, check=False)
    assert done.returncode == 66
    assert f"error[settings]: {variable}: '{named}' is no place" in done.stderr


def test_an_open_tunnel_does_not_hold_it_up(narrow: Egress) -> None:
    _, link = narrow.connect("outside.test:80")
    with link:
        assert narrow.restart() < 9.5, "the engine waits ten seconds before it kills"
    assert narrow.get("http://outside.test/").status == 200
