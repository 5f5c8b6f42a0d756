# shellcheck shell=bash
# Chooses the interpreter. Sets `python` to a command that runs Python 3.11 or newer.

# Asks by running it: a version manager's shim can exist for an interpreter that does not.
fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# True when `$python` can make a virtual environment with pip in it.
# Debian's python3 cannot until its -venv package is there.
can_make_venv() { "$python" -c 'import ensurepip, venv' 2>/dev/null; }

# True for the interpreter that Debian's own packages provide, the only one they can complete.
is_debians() { [[ $(readlink -f "$(command -v "$python")") == /usr/bin/python3.* ]]; }

minor_version() { "$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# The one that .venv was made from, so that a choice made once stays; empty without a .venv that runs.
interpreter_of_venv() { .venv/bin/python -c 'import sys; print(sys._base_executable)' 2>/dev/null || true; }

choose_python() {
    if [[ -n ${KOALA_PYTHON:-} ]]; then
        python=$KOALA_PYTHON
        fits "$python" || stop "KOALA_PYTHON=$KOALA_PYTHON is not a Python 3.11 or newer."
        return
    fi
    for python in "$(interpreter_of_venv)" python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if fits "$python"; then return; fi
    done
    stop 'Koala needs Python 3.11 or newer and found none.' \
        'Install one (on Debian 12 or newer: apt-get install python3) or set KOALA_PYTHON to its path.'
}
