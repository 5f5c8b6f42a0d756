# shellcheck shell=bash
# What Koala needs from Debian, and how to get it without starting any service.
. setup/no-services.sh

# A package, and a file that shows it is there: also true where someone installed it in another way.
needed=(
    'chromium /usr/lib/chromium/chromium'
    'chromium-headless-shell /usr/lib/chromium/chromium-headless-shell'
    'fonts-liberation /usr/share/fonts/truetype/liberation'
    'prometheus /usr/bin/promtool'
    'redis-server /usr/bin/redis-server'
    'tzdata /usr/share/zoneinfo/Europe/Berlin'
)

# Sets `missing` to the packages still to install.
find_missing() {
    local line
    missing=()
    for line in "${needed[@]}"; do
        [[ -e ${line#* } ]] || missing+=("${line%% *}")
    done
    if ! can_make_venv && is_debians; then missing+=("python$(minor_version)-venv"); fi
}

is_debian() { [[ $(. /etc/os-release 2>/dev/null && echo "${ID:-}") == debian ]]; }

# Chromium is large and its newest version lives on the security mirror: a list a few hours old can
# name a file that is gone, so every try begins with a fresh list.
apt_install() {
    local try
    for try in 1 2 3 4; do
        if DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
            DEBIAN_FRONTEND=noninteractive apt-get -qqy -o Dpkg::Use-Pty=0 install --no-install-recommends "$@"; then
            return
        fi
        say "try $try of 4 to install $* failed"
        sleep $((try * 3))
    done
    stop "apt-get could not install: $*" 'Its messages above say why. Repeat the command when that is mended.'
}

install_debian_packages() {
    find_missing
    [[ ${#missing[@]} -gt 0 ]] || return 0
    is_debian || stop "These Debian packages are missing, and this is not Debian: ${missing[*]}" \
        'Use a Debian 12 or newer machine, or install what they hold at the same paths (setup/debian.sh).'
    [[ $(id -u) == 0 ]] || stop "These Debian packages are missing: ${missing[*]}" \
        "Run once as root:  apt-get update && apt-get install --no-install-recommends ${missing[*]}" \
        'then repeat this command. (Installed by hand, redis-server and prometheus start; Koala does not use those.)'
    say "installing from Debian: ${missing[*]}"
    without_services apt_install "${missing[@]}"
    local service
    for service in redis-server prometheus; do
        if [[ " ${missing[*]} " == *" $service "* ]]; then keep_off_at_boot "$service"; fi
    done
}
