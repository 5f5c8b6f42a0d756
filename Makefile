# Every path is relative to the checkout, so that one with a space in its path works too.
python := .venv/bin/python
# The tool of the Docker pool needs nothing but the machine's own Python, 3.11 or newer.
tool := $(or $(KOALA_PYTHON),python3) -m deploy

.DEFAULT_GOAL := help
.PHONY: help up status logs down scale drain resume deploy backup restore install demo test test-compose install-systemd uninstall-systemd test-systemd check bench lock clean

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1\t\2/p' Makefile | expand -t 26

up:  ## start the pool with Docker: secrets, images, containers
	@$(tool) up

status:  ## what runs where, and why things wait
	@$(tool) status

logs:  ## follow what the containers write; all, or SERVICE=worker
	@$(tool) logs $(SERVICE)

down:  ## drain, then remove the containers; the data stays
	@$(tool) down

scale:  ## another number of workers: make scale N=4
	@$(if $(N),$(tool) scale $(N),echo 'say how many: make scale N=4' >&2; exit 2)

drain:  ## nothing new starts, what runs ends; all of it, or WORKER=name
	@$(tool) drain $(WORKER)

resume:  ## work again after a drain
	@$(tool) resume

deploy:  ## roll the new image out in batches; back by itself when it is worse (DRY_RUN=1 prints the plan, BACK=1 goes back)
	@$(tool) rollout $(if $(DRY_RUN),--dry-run) $(if $(BACK),--back) $(if $(TAG),--tag $(TAG))

backup:  ## store and profiles, while the pool runs
	@$(tool) backup "$(TO)"

restore:  ## a backup, safely: make restore FROM=directory
	@$(tool) restore "$(FROM)" $(if $(KEEP_PROFILES),--keep-profiles) $(if $(BECAUSE),--because "$(BECAUSE)") \
	    $(if $(OTHERS_GONE),--others-gone "$(OTHERS_GONE)")

install:  ## Debian's packages (as root) and .venv; does nothing when nothing changed
	@setup/install

demo: install  ## watch the pool survive being killed, on this machine
	@$(python) -m demo

test: install  ## every test that needs no Docker, or TESTS="files"
	@$(python) -m pytest $(TESTS)

test-compose: install  ## the real compose.yaml on a real engine, which is brought where there is none
	@setup/engine $(python) -m pytest tests/compose

install-systemd:  ## the pool as units of systemd, for a machine without Docker; as root, starts nothing
	@setup/systemd install

uninstall-systemd:  ## drain and remove the units; settings, secrets and data stay
	@setup/systemd uninstall

test-systemd: install  ## the units on a real systemd, in a container on the same engine
	@KOALA_BASES=bookworm setup/engine $(python) -m pytest tests/systemd

check: install  ## format, lint, types, import rules and the tests that need nothing
	@$(python) -m ruff format --check .
	@$(python) -m ruff check .
	@$(python) -m mypy
	@.venv/bin/lint-imports --no-logo
	@$(python) -m pytest tests/unit tests/alerts

bench: install  ## what Koala costs beside a bare script doing the same work
	@$(python) -m bench

lock: install  ## pin the newest allowed versions again
	@setup/lock

clean:  ## remove .venv and everything built
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
