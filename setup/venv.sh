# shellcheck shell=bash
# Makes .venv from the lock.

stamp=.venv/.made-from

# What .venv depends on: the interpreter, the place (a venv cannot be moved), and the lock.
lock_inputs() {
    "$python" -c 'import sys; print(sys.implementation.cache_tag, sys.hexversion, sys.base_prefix)'
    pwd -P
    sha256sum requirements-dev.lock
}

# What the project's own installation depends on besides.
all_inputs() {
    lock_inputs
    sha256sum pyproject.toml
}

in_venv() { env -u PYTHONPATH -u PYTHONHOME .venv/bin/python "$@"; }

# pip's own words go to a log, shown when it fails: most are about the machine's settings for pip.
pip_install() {
    mkdir -p build
    in_venv -m pip --disable-pip-version-check --no-input install "$@" >build/pip.log 2>&1 && return
    tail -n 20 build/pip.log >&2
    stop 'pip failed; the end of its output is above and all of it in build/pip.log.' \
        'Repeat the command when that is mended: it starts over.'
}

# Hashes are checked for every file, the build backend's too; nothing else is fetched.
install_locked() {
    "$python" -m venv --clear .venv
    pip_install --require-hashes -r requirements-dev.lock
    lock_inputs >"$stamp"
}

install_project() {
    pip_install --no-deps --no-build-isolation --no-index -e .
    all_inputs >"$stamp"
}

make_venv() {
    if [[ -x .venv/bin/koala && $(cat "$stamp" 2>/dev/null) == "$(all_inputs)" ]]; then return; fi
    can_make_venv || stop "$python cannot make a virtual environment: its ensurepip or venv module is missing." \
        'Install that part of it, or set KOALA_PYTHON to another Python 3.11 or newer.'
    if [[ ! -x .venv/bin/python || $(head -3 "$stamp" 2>/dev/null) != "$(lock_inputs)" ]]; then
        say "making .venv with $("$python" --version)"
        install_locked
    fi
    install_project
    say 'done'
}
