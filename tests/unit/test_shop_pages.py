"""What a visitor does at the shop, through the same forms that a browser sends."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest

from demo.shop.server import ShopProcess


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShopProcess]:
    with ShopProcess(tmp_path_factory.mktemp("shop")) as shop:
        yield shop


@pytest.fixture
def visitor(shop: ShopProcess) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=shop.url, trust_env=False, follow_redirects=True) as client:
        yield client


@pytest.fixture
def ann(visitor: httpx2.Client) -> httpx2.Client:
    return logged_in(visitor, "ann")


def logged_in(client: httpx2.Client, user: str) -> httpx2.Client:
    assert client.post("/login", data={"username": user, "password": f"koala-{user}"}).status_code == 200
    return client


def test_the_catalogue_shows_a_dozen_products_with_prices(visitor: httpx2.Client) -> None:
    shelf = visitor.get("/").text
    assert len(re.findall(r'data-sku="[A-Z]+-\d+"', shelf)) == 12
    assert len(re.findall(r"\$\d+\.\d\d", shelf)) == 12


def test_a_search_finds_products_that_have_every_word(visitor: httpx2.Client) -> None:
    found = visitor.get("/search", params={"q": "leaves 500"}).text
    assert re.findall(r'data-sku="(.*?)"', found) == ["LEAF-500"]
    assert "0 products" in visitor.get("/search", params={"q": "<b>anvil"}).text


def test_the_news_have_as_many_stories_as_asked_for(visitor: httpx2.Client) -> None:
    for asked, shown in ((3, 3), (0, 0), (1000, 50), ("x", 5)):
        assert visitor.get("/news", params={"n": asked}).text.count('id="story-') == shown


def test_a_product_page_tells_its_price(visitor: httpx2.Client) -> None:
    assert 'data-price="12.50"' in visitor.get("/product/MUG-1").text
    assert visitor.get("/product/ANVIL-1").status_code == 404
    assert visitor.get("/api/price/MUG-1").json() == {"sku": "MUG-1", "price": "12.50"}
    assert visitor.get("/api/price/ANVIL-1").status_code == 404


def test_putting_the_same_in_the_cart_twice_changes_nothing(visitor: httpx2.Client) -> None:
    for _ in range(2):
        cart = visitor.post("/cart", data={"sku": "MUG-1", "qty": "2"}).text
    assert "Cart (2)" in cart
    assert "$25.00" in cart


def test_a_quantity_of_zero_takes_a_product_out_of_the_cart(visitor: httpx2.Client) -> None:
    visitor.post("/cart", data={"sku": ["MUG-1", "TEA-20"], "qty": ["2", "1"]})
    cart = visitor.post("/cart", data={"sku": "MUG-1", "qty": "0"}).text
    assert re.findall(r'<tr data-sku="(.*?)"', cart) == ["TEA-20"]


def test_a_cart_becomes_one_order_and_is_empty_afterwards(shop: ShopProcess, ann: httpx2.Client) -> None:
    ann.post("/cart", data={"sku": ["MUG-1", "TEA-20"], "qty": ["2", "1"]})
    page = ann.post("/checkout").text
    assert "$31.90" in page
    fields = {"sku": ["MUG-1", "TEA-20"], "qty": ["2", "1"], "from_cart": "yes", "reference": "cart-1"}
    receipt = ann.post("/orders", data=fields)
    (order,) = shop.book.with_reference("cart-1")
    assert receipt.url.path == f"/orders/{order.id}"
    assert (order.user, order.sku, order.qty, order.price) == ("ann", "MUG-1,TEA-20", 3, "31.90")
    assert "Your cart is empty" in ann.get("/cart").text


def test_buy_now_leaves_the_cart_alone(shop: ShopProcess, ann: httpx2.Client) -> None:
    ann.post("/cart", data={"sku": "TEA-20", "qty": "1"})
    assert "from_cart" not in ann.post("/checkout", data={"sku": "MUG-1", "qty": "1"}).text
    ann.post("/orders", data={"sku": "MUG-1", "qty": "1", "reference": "now-1"})
    assert [order.sku for order in shop.book.with_reference("now-1")] == ["MUG-1"]
    assert "Cart (1)" in ann.get("/cart").text


def test_two_orders_with_one_reference_are_two_orders(shop: ShopProcess, ann: httpx2.Client) -> None:
    for _ in range(2):
        ann.post("/orders", data={"sku": "MUG-1", "reference": "twice"})
    assert shop.state()["references"]["twice"] == shop.book.references()["twice"] == 2


def test_the_order_list_is_newest_first_and_filtered_by_the_whole_reference(ann: httpx2.Client) -> None:
    for reference in ("list-1", "list-10", "list-1"):
        ann.post("/orders", data={"sku": "MUG-1", "reference": reference})
    shown = re.findall(r'data-reference="(.*?)"', ann.get("/orders").text)
    assert shown[:3] == ["list-1", "list-10", "list-1"]
    filtered = ann.get("/orders", params={"reference": "list-10"}).text
    assert re.findall(r'data-reference="(.*?)"', filtered) == ["list-10"]
    assert "No order carries" in ann.get("/orders", params={"reference": "list"}).text


def test_a_user_sees_no_orders_of_others(shop: ShopProcess, ann: httpx2.Client) -> None:
    receipt = ann.post("/orders", data={"sku": "MUG-1", "reference": "private-1"}).url.path
    with httpx2.Client(base_url=shop.url, trust_env=False, follow_redirects=True) as other:
        logged_in(other, "bob")
        assert other.get(receipt).status_code == 404
        assert "No order carries" in other.get("/orders", params={"reference": "private-1"}).text


def test_who_is_not_logged_in_places_no_order(shop: ShopProcess, visitor: httpx2.Client) -> None:
    page = visitor.post("/orders", data={"sku": "MUG-1", "reference": "nobody-1"})
    assert page.url.path == "/login"
    assert "nobody-1" not in shop.book.references()


@pytest.mark.parametrize(
    "fields", [{}, {"sku": "ANVIL-1"}, {"sku": "MUG-1", "qty": "-1"}, {"sku": "MUG-1", "qty": "0"}]
)
def test_an_order_that_makes_no_sense_is_refused(shop: ShopProcess, ann: httpx2.Client, fields: dict[str, str]) -> None:
    before = shop.book.orders()
    assert ann.post("/orders", data=fields).status_code == 422
    assert shop.book.orders() == before


def test_what_visitors_write_is_shown_as_text(ann: httpx2.Client) -> None:
    page = ann.post("/orders", data={"sku": "MUG-1", "reference": "<script>alert(1)</script>"}).text
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_api_writes_to_the_same_book(shop: ShopProcess, ann: httpx2.Client) -> None:
    wish = {"user": "ann", "sku": "MUG-1", "reference": "api-1", "price": 11.5}
    answer = ann.post("/api/orders", json=wish)
    assert answer.status_code == 201
    (found,) = ann.get("/api/orders", params={"reference": "api-1"}).json()["orders"]
    assert (found["id"], found["price"], found["user"]) == (answer.json()["id"], "11.50", "ann")
    assert 'data-reference="api-1"' in ann.get("/orders", params={"reference": "api-1"}).text
    assert ann.get("/api/orders", params={"reference": "api"}).json() == {"orders": []}


@pytest.mark.parametrize(
    ("wish", "status"),
    [({}, 422), ({"user": "ann", "sku": "ANVIL-1"}, 404), ({"user": "ann", "sku": "MUG-1", "qty": 0}, 422)],
)
def test_the_api_refuses_what_makes_no_sense(visitor: httpx2.Client, wish: dict[str, object], status: int) -> None:
    answer = visitor.post("/api/orders", json=wish)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_no_answer_may_be_kept_in_a_cache(visitor: httpx2.Client) -> None:
    for page in ("/", "/orders", "/api/orders", "/me"):
        assert visitor.get(page).headers["cache-control"] == "no-store"


def test_no_page_asks_for_anything_from_elsewhere(ann: httpx2.Client) -> None:
    for page in ("/", "/product/MUG-1", "/news", "/cart", "/orders", "/account", "/login", "/nothing-here"):
        text = ann.get(page).text
        assert not re.findall(r"(?:src|href|action)=\"(?:https?:|//)", text)
        assert "<script" not in text
