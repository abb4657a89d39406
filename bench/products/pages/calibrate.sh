#!/bin/bash
# calibrate.sh STACK FILE: `longwire calibrate` of the program near its database, which start.sh has made, while one client asks for its pages.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
"$here/../net.sh" near
start_postgres "$1"
trap 'stop_postgres "$1"' EXIT
file=$(realpath "$2") longwire=$(realpath "${LW:-target/release/longwire}")
cd "$here"
ip netns exec "$WEB" "$longwire" calibrate "postgres://$1:demo@10.88.2.2/$1?sslmode=disable" -o "$file" -- ./used.sh "$1"
