"""The demo shop: a small real web application that stands for the outside world.

It keeps its own order book on disk and knows nothing about Koala, so that a doubled order is counted by the
shop and not by the program under test. It does not notice that two orders carry the same reference: that is
the point.
Run it with `python -m demo.shop`, or from Python with `demo.shop.server.ShopProcess`.
"""
