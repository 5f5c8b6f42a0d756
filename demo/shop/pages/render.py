"""From a template to an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.templating import Jinja2Templates

from demo.shop.forms import brought_cart
from demo.shop.shop import shop_of


def _visitor(request: Request) -> dict[str, Any]:
    in_cart = sum(item.qty for item in brought_cart(request).items())
    return {"user": shop_of(request).user(request), "in_cart": in_cart}


_templates = Jinja2Templates(Path(__file__).parent.parent / "templates", context_processors=[_visitor])


def page(request: Request, template: str, status: int = 200, **context: Any) -> Response:
    """The page, with the visitor's name and cart in its head."""
    return _templates.TemplateResponse(request, template, context, status_code=status)


def message(request: Request, status: int, title: str, text: str) -> Response:
    """A page that only says something."""
    return page(request, "message.html", status, title=title, text=text)
