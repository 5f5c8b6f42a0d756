# shellcheck shell=bash
# Lets apt install a service without starting it.
#
# Debian's maintainer scripts ask /usr/sbin/policy-rc.d before they start anything. Ours says no for as long
# as the lock is held, which ends with this process however it dies: a copy left behind by a
# kill forbids nothing, hands every question on to the policy it replaced, and is cleaned up next time.

policy=/usr/sbin/policy-rc.d
saved=$policy.before-koala
lock=/run/koala-install.lock

is_ours() { grep -qs 'koala-install' "$policy"; }

forbid_services() {
    if [[ -e $policy || -L $policy ]] && ! is_ours; then mv "$policy" "$saved"; fi
    cat >"$policy" <<EOF
#!/bin/sh
# koala-install: temporary, see setup/no-services.sh
flock -n $lock true || exit 101
if [ -x $saved ]; then exec $saved "\$@"; fi
exit 0
EOF
    chmod 755 "$policy"
}

allow_services() {
    if is_ours; then rm -f "$policy"; fi
    if [[ -e $saved || -L $saved ]]; then mv "$saved" "$policy"; fi
}

# Runs a command during which no service starts; the policy of before is put back whatever happens.
without_services() (
    exec {held}>"$lock"
    flock "$held"
    trap allow_services EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    forbid_services
    "$@"
)

# A package enables its unit too. Koala brings its own Redis, so Debian's stays off at the next boot.
keep_off_at_boot() {
    command -v systemctl >/dev/null || return 0
    systemctl --quiet --no-reload disable "$1.service" 2>/dev/null || true
}
