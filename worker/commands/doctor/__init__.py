"""x"""


def add(c):
    c.add_parser("doctor")


def run(g):
    return 0
