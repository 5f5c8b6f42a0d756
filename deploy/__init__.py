"""Runs the pool on one machine with Docker Compose: `python3 -m deploy COMMAND`, or a make target each.

Needs nothing but the host's Python and Docker. It decides by what runs, never by what it remembers, so a command that
was interrupted can be given again.
"""
