#!/bin/bash
# packages.sh PROGRAM OUT: a Python wheel and two npm packages with this program, the licences and, where PROGRAM has it beside it, the JDBC bridge's jar.
# Needs python3 with the module wheel, and npm.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")/.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
jar=$(dirname "$program")/longwire-jdbc.jar
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The program, and the jar that it looks for beside itself.
programs() {
    mkdir -p "$1"
    install -m 755 "$program" "$1/longwire"
    if [ -e "$jar" ]; then install -m 644 "$jar" "$1/"; fi
}

stamped() { sed "s/@VERSION@/$version/" "$1"; }

wheel() {
    local tree=$scratch/wheel info=$scratch/wheel/longwire-$version.dist-info
    programs "$tree/longwire-$version.data/scripts"
    mkdir -p "$info/licenses"
    cp LICENSE-MIT LICENSE-APACHE "$info/licenses/"
    { stamped packaging/python/METADATA; cat packaging/README.md; } >"$info/METADATA"
    cp packaging/python/WHEEL "$info/WHEEL"
    python3 -m wheel pack --dest-dir "$out" "$tree"
}

npm_package() {
    local tree=$scratch/$1
    mkdir -p "$tree"
    cp packaging/npm/"$1"/* packaging/README.md LICENSE-MIT LICENSE-APACHE "$tree/"
    stamped "packaging/npm/$1/package.json" >"$tree/package.json"
    if [ "$1" != longwire ]; then programs "$tree/bin"; fi
    npm pack --silent --pack-destination "$out" "$tree"
}

wheel
npm_package longwire
npm_package longwire-linux-x64
