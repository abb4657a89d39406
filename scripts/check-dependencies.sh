#!/bin/sh
# Licences, sources and doubles of the dependencies; known vulnerabilities when their database can be fetched.
set -eu
cd "$(dirname "$0")/.."

scripts/test-tools.sh
PATH="${CARGO_TARGET_DIR:-$PWD/target}/tools:$PATH"
cargo deny --log-level error check --hide-inclusion-graph licenses bans sources
if timeout 120 cargo deny --log-level error fetch db >/dev/null 2>&1; then
    cargo deny --log-level error check --hide-inclusion-graph advisories
else
    echo "test: NOT CHECKED for known vulnerabilities: the advisory database could not be fetched" >&2
fi
