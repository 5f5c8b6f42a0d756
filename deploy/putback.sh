#!/bin/sh
# Puts a snapshot in the place of a store's append-only files: sh putback.sh DATA ID SHA256 < store.rdb
#
# DATA is Redis's directory, and nothing runs on it. A server that is to use append-only files and has none starts empty
# beside a snapshot, so a server without them loads it, writes them, and is looked at once more. What was there goes to
# DATA/kept/ID. Killed anywhere, the same again goes on. Says how many keys there are.
#
# No lease is given on this store before the restore is declared, whoever starts what: declaring it ends the hold.
set -eu
umask 077
data=$1 id=$2 sum=$3
work=$data/putting-back
aside=$data/kept/$id
socket=$work/redis.sock

fail() { echo "putback: $1" >&2; exit 1; }
ask() { redis-cli --raw -s "$socket" "$@"; }
fact() { ask info "$1" | tr -d '\r' | sed -n "s/^$2://p"; }

start() {  # with or without append-only files; waits until it has loaded
  redis-server --dir "$work" --dbfilename store.rdb --port 0 --unixsocket "$socket" --save "" --appendonly "$1" \
    --appendfsync always --maxmemory 0 --daemonize no >"$work/log" 2>&1 &
  pid=$!
  until [ "$(ask ping 2>/dev/null || true)" = PONG ]; do
    kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2; fail "Redis does not load it"; }
    sleep 0.1
  done
}

stop() { ask shutdown nosave 2>/dev/null || true; wait "$pid" 2>/dev/null || true; rm -f "$socket"; }

rm -rf "$work"
mkdir -p "$work" "$aside"
cat >"$work/store.rdb"
[ "$(sha256sum <"$work/store.rdb" | cut -d' ' -f1)" = "$sum" ] || fail "the snapshot did not arrive as it was backed up"

start no
[ "$(ask exists koala:epoch)" = 1 ] || { stop; fail "the snapshot is not of a Koala store"; }
ask set koala:hold-until 9000000000000000 >/dev/null
keys=$(ask dbsize)
ask config set appendonly yes >/dev/null
until [ "$(fact persistence aof_rewrite_in_progress)$(fact persistence aof_rewrite_scheduled)" = 00 ]; do sleep 0.1; done
[ "$(fact persistence aof_last_bgrewrite_status)" = ok ] || { stop; fail "Redis could not write it: is its disk full?"; }
stop

rm "$work/store.rdb"
start yes  # once more, from what the real one will have
[ "$(ask exists koala:epoch)" = 1 ] || { stop; fail "the append-only files do not hold the store"; }
again=$(ask dbsize)
stop
# Keys with a time to live may have run out meanwhile; none can be added.
[ "$again" -le "$keys" ] && [ "$again" -gt 0 ] || fail "of $keys keys $again are left"

for name in appendonlydir dump.rdb; do
  [ -e "$data/$name" ] || continue
  if [ -e "$aside/$name" ]; then rm -rf "${data:?}/$name"; else mv "$data/$name" "$aside/$name"; fi
done
mv "$work/appendonlydir" "$data/appendonlydir"
rm -rf "$work"
sync
echo "$again"
