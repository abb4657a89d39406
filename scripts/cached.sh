#!/bin/sh
# cached.sh NAME OUTPUT [--of TEXT] INPUT... -- COMMAND [ARG ...]: makes the file OUTPUT with COMMAND, or takes it from the cache,
# $XDG_CACHE_HOME/longwire/built, where it was made before from the same inputs.
#
# The key is a hash of COMMAND, of TEXT (the compiler's version, say) and of every file of the INPUTs. A cached file whose own hash is not
# the one that was written down with it is made again. COMMAND finds the path to write to in $OUT; of one NAME the last three are kept.
set -eu
cd "$(dirname "$0")/.."

name=$1 output=$2 of=
shift 2
if [ "$1" = --of ]; then of=$2; shift 2; fi
inputs=
while [ "$1" != -- ]; do inputs="$inputs $1"; shift; done
shift

cache=${XDG_CACHE_HOME:-$HOME/.cache}/longwire/built
# $inputs is a list of paths of this tree, without blanks.
# shellcheck disable=SC2086
files=$([ -z "$inputs" ] || find $inputs -type f -not -path '*/target/*' | LC_ALL=C sort)
# shellcheck disable=SC2086
key=$({ printf '%s\n' "$*" "$of"; uname -m; [ -z "$files" ] || sha256sum $files; } | sha256sum | cut -c1-16)
entry=$cache/$name-$key

is_whole() { [ -e "$entry/sum" ] && (cd "$entry" && sha256sum --check --status sum); }

if ! is_whole; then
    [ ! -e "$entry" ] || echo "cached: $entry is damaged: made again" >&2
    mkdir -p "$cache"
    making=$(mktemp -d "$cache/making-XXXXXX")
    trap 'rm -rf "$making"' EXIT
    OUT=$making/file "$@"
    (cd "$making" && sha256sum file >sum)
    # Another run may make the same at this moment: each entry is put in its place whole.
    rm -rf "$entry"
    mv -T "$making" "$entry" 2>/dev/null || is_whole
    # Names of this script's own making, without blanks.
    # shellcheck disable=SC2012
    ls -dt "$cache/$name"-* | tail -n +4 | xargs -r rm -rf
fi
touch "$entry"
mkdir -p "$(dirname "$output")"
if ! cmp -s "$entry/file" "$output"; then
    # In one step: a test of another run may be starting the old one.
    cp -p "$entry/file" "$output.new"
    mv "$output.new" "$output"
fi
