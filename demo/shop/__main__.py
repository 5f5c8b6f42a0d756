"""`python -m demo.shop --port 0 --data DIR`: run the shop until SIGTERM, on 127.0.0.1."""

from __future__ import annotations

import argparse
from pathlib import Path

from demo.shop.serving import HOST, Server, listen
from demo.shop.shop import Shop

_USER = "who may log in; without any: every name, its password is koala-NAME"


def main() -> None:
    """Open the shop and serve it."""
    args = _arguments()
    shop = Shop.open(args.data, dict(args.user))
    Server(shop, args.port_file, args.until_stdin_ends).run(sockets=[listen(args.port, args.host)])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo.shop", description="The demo shop.")
    add = parser.add_argument
    add("--port", type=int, default=0, help="0: any free one (default)")
    add("--host", default=HOST, help="where to listen; another than the loopback address is for a container")
    add("--data", type=Path, required=True, help="directory of the order book and the logins")
    add("--port-file", type=Path, help="where to write the port; else it is printed as JSON")
    add("--user", type=_user, action="append", default=[], metavar="NAME:PASSWORD", help=_USER)
    add("--until-stdin-ends", action="store_true", help="end when stdin is closed")
    return parser.parse_args()


def _user(text: str) -> tuple[str, str]:
    name, _, password = text.partition(":")
    if not name or not password:
        raise argparse.ArgumentTypeError("give NAME:PASSWORD")
    return name, password


if __name__ == "__main__":
    main()
