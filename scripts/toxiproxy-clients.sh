#!/bin/sh
# toxiproxy-clients.sh: clients written for toxiproxy, against longwire: the Go client with toxiproxy's own tests, toxiproxy-cli, the Python
# client and the Java client. Installs what is missing (scripts/setup.sh). The Go tests use fixed ports of 127.0.0.1 (8475, 3310, 7070 and
# others), so they run in a network namespace of their own where the system allows that. Needs Go 1.23 or newer.
set -eu
cd "$(dirname "$0")/.."

scripts/setup.sh toxiproxy-clients
# What the tests need is fetched first: there is no network in a namespace.
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT
tests() { cargo test --locked --package longwire --features stacks --test relays "$@"; }
tests --no-run
tests toxiproxy::clients::the -- --nocapture
(
    cd "$fetched"
    directory=$(go mod download -json github.com/Shopify/toxiproxy/v2@v2.12.0 | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
    cp "$directory/go.mod" "$directory/go.sum" .
    go mod download
)
if unshare --net true 2>/dev/null; then
    export GOPROXY=off GOSUMDB=off CARGO_NET_OFFLINE=true
    unshare --net sh -c 'ip link set lo up && exec cargo test --locked --package longwire --features stacks --test relays toxiproxy::clients::go:: -- \
        --nocapture --test-threads 1'
else
    tests toxiproxy::clients::go:: -- --nocapture --test-threads 1
fi
