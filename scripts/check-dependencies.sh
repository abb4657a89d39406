#!/bin/sh
# Licences, sources and doubles of the dependencies; known vulnerabilities when their database can be fetched.
set -eu
cd "$(dirname "$0")/.."

if ! command -v cargo-deny >/dev/null 2>&1; then
    # Run once a build and in seconds: compiling it fast matters more than its own speed.
    echo "test: installing cargo-deny"
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=0 \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=256 cargo install --locked cargo-deny
fi

cargo deny --log-level error check --hide-inclusion-graph licenses bans sources
if timeout 120 cargo deny --log-level error fetch db >/dev/null 2>&1; then
    cargo deny --log-level error check --hide-inclusion-graph advisories
else
    echo "test: NOT CHECKED for known vulnerabilities: the advisory database could not be fetched" >&2
fi
