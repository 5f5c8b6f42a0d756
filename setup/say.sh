# shellcheck shell=bash
# How the installer speaks: progress on stdout, the reason for stopping on stderr.

say() { printf 'install: %s\n' "$*"; }

stop() {
    printf 'install: %s\n' "$@" >&2
    exit 1
}
