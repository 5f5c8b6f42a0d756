"""Small sites for tests. One logs in everybody who looks at it: a session cookie, one to keep, local storage."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGE = b"<html><script>localStorage.setItem('token', 'stored')</script>welcome</html>"


class Site(ThreadingHTTPServer):
    """A server on this machine, and what its handler noted of what it was asked."""

    daemon_threads = True

    def __init__(self, handler: type[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.asked: list[Any] = []

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    """What a site says: a handler is made of this."""

    server: Site

    def say(self, text: str, kind: str = "text/html") -> None:
        """Answer well, with this."""
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def served(handler: type[Answer]) -> Iterator[Site]:
    """The site while it runs."""
    with Site(handler) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()


class _Welcome(Answer):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "session=open")
        self.send_header("Set-Cookie", "kept=yes; Max-Age=864000")
        self.end_headers()
        self.wfile.write(PAGE)


@contextmanager
def welcoming_site() -> Iterator[str]:
    """Its address while it runs."""
    with served(_Welcome) as site:
        yield site.url
