"""What to do about what Docker says. The first line that fits counts."""

from __future__ import annotations

import re

from deploy.exits import Exit

ADVICE: tuple[tuple[str, str, Exit], ...] = (
    (
        r"permission denied .*docker.*sock|permission denied while trying to connect",
        "you may not use Docker: run this as root, or join its group (`sudo usermod -aG docker $USER`) and log in anew",
        Exit.ENGINE,
    ),
    (
        r"cannot connect to the docker daemon|is the docker daemon running|error during connect",
        "Docker does not run: `sudo systemctl start docker`, then `docker info`",
        Exit.ENGINE,
    ),
    (
        r"'compose' is not a docker command|unknown (shorthand )?flag.*compose|unknown command: docker compose",
        "install Docker's Compose plugin, 2.20 or newer; `docker compose version` has to answer",
        Exit.ENGINE,
    ),
    (
        r"no secrets yet|required variable .*KOALA_SECRETS_DIR",
        "`make up` makes the secrets and keeps their directory as KOALA_SECRETS_DIR in .env",
        Exit.FAILED,
    ),
    (
        r"bind source path does not exist",
        "a directory of secrets is missing: `make up` makes it",
        Exit.FAILED,
    ),
    (r"no space left on device", "the disk is full: `docker system df`, then `docker image prune`", Exit.FAILED),
    (
        r"port is already allocated|address already in use",
        "another program has that port: choose another one in .env (KOALA_PROMETHEUS_PORT, KOALA_GRAFANA_PORT)",
        Exit.FAILED,
    ),
    (
        r"pull access denied|manifest unknown|repository does not exist|no such image",
        "the image is neither here nor to be had: build it (`make up` does), or correct KOALA_TAG or the image's name",
        Exit.FAILED,
    ),
    (
        r"tls handshake timeout|temporary failure in name resolution|i/o timeout|no such host",
        "the registry was not reached: check this machine's network, then give the command again",
        Exit.FAILED,
    ),
    (
        r"is unhealthy|exited \(\d+\)|context deadline exceeded|application not healthy",
        "`make status` says which container it is and why it ended, `make logs SERVICE=…` what it said last",
        Exit.FAILED,
    ),
    (
        r"yaml|additional propert|undefined (volume|network|service)|invalid compose|services\.\S+",
        "compose.yaml, an override of it or .env is wrong there: `docker compose config` shows it whole",
        Exit.FAILED,
    ),
)
OTHER = "`make status` says what runs, `make logs` what it says; the command above can be tried by hand"


def about(said: str) -> tuple[str, Exit]:
    """What to do about an error text of Docker's, and the exit code that fits it."""
    for pattern, what, code in ADVICE:
        if re.search(pattern, said, re.IGNORECASE):
            return what, code
    return OTHER, Exit.FAILED
