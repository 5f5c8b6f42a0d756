# Every path is relative to the checkout, so that one with a space in its path works too.
python := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help install demo test check bench lock clean

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

install:  ## Debian's packages (as root) and .venv; does nothing when nothing changed
	@setup/install

demo: install  ## watch the pool survive being killed, on this machine
	@$(python) -m demo

test: install  ## every test that needs no Docker
	@$(python) -m pytest

check: install  ## format, lint, types, import rules and the tests that need nothing
	@$(python) -m ruff format --check .
	@$(python) -m ruff check .
	@$(python) -m mypy
	@.venv/bin/lint-imports --no-logo
	@$(python) -m pytest tests/unit

bench: install  ## what Koala costs beside a bare script doing the same work
	@$(python) -m bench

lock: install  ## pin the newest allowed versions again
	@setup/lock

clean:  ## remove .venv and everything built
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
