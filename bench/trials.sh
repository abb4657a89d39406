#!/bin/bash
# trials.sh: five strangers, each in an empty root of Debian with a package of target/dist. Each does what README's first screen says; measured is the time
# from the downloaded package to the first useful answer, with its installation. A stranger's own programs (Python, Node.js, uv) are there before.
#
# Outside of the roots is a PostgreSQL with an application; two strangers are 40 ms away from it (`longwire link`). DIST is another folder with the packages; TRIALS_ROOT the folder of an unpacked
# Debian with the packages of $include. Needs root, debootstrap, PostgreSQL, Node.js and pip.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/machine.sh
. bench/free-port.sh

dist=$(realpath "${DIST:-target/dist}")
include=python3,python3-venv,python3-psycopg2,curl
limit=60
here=$PWD
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
capture=tests/golden/rt/near-1.pcap.zst
postgres_bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb | tail -n 1)")
processes=()

main() {
    scratch=$(mktemp -d)
    trap finish EXIT
    chmod 755 "$scratch"
    clean=${TRIALS_ROOT:-$scratch/clean}
    [ -d "$clean" ] || debootstrap --variant=minbase --include="$include" bookworm "$clean" >"$scratch/debootstrap.txt"
    tar xzf "$dist/longwire-$version-x86_64-linux.tar.gz" -C "$scratch"
    link=("$scratch/longwire-$version-x86_64-linux/bin/longwire" link 40ms --quiet --)
    start_shop
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; trials; } | tee "$results/trials.txt"
}

finish() {
    local process
    for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
    wait
    rm -rf "$scratch"
}

start_shop() {
    port=$(free_port)
    install -d -o nobody "$scratch/data"
    as_nobody "$postgres_bin/initdb" -D "$scratch/data" -U app -A trust >/dev/null
    as_nobody "$postgres_bin/postgres" -D "$scratch/data" -p "$port" -k "$scratch/data" >"$scratch/postgres.txt" 2>&1 &
    processes+=($!)
    until sql postgres -c 'create database shop' >/dev/null 2>&1; do sleep 0.1; done
    sql shop -qc "create table product as select id, id % 50 as author from generate_series(1, 500) id;
        create table author as select id, 'author ' || id as name from generate_series(0, 49) id"
    page="begin; $(printf 'select name from author where id = %s; ' {1..12})commit;"
    while echo "$page" 2>/dev/null; do sleep 0.1; done | sed -u 's/; */;\n/g' | sql shop >"$scratch/application.txt" &
    processes+=($!)
}

as_nobody() { (cd "$scratch" && exec setpriv --reuid nobody --clear-groups "$@"); }
sql() { psql -qAt -h 127.0.0.1 -p "$port" -U app "$@"; }

describe() {
    describe_machine
    echo "packages  $(cd "$dist" && echo longwire*"$version"*.{deb,whl,tgz,tar.gz}), program of sha256 $(sha256sum <"$scratch/longwire-$version-x86_64-linux/lib/longwire/longwire" | cut -c1-12)"
    echo "answer    seconds from the package to the line below it; at most $limit"
    echo
}

trials() {
    trial developer 'At .* takes' "longwire_${version}_amd64.deb" "${link[@]}"
    trial dba 'At .* takes' "longwire-$version-py3-none-manylinux_2_28_x86_64.whl"
    trial sre 'At .* takes' "longwire-$version.tgz longwire-linux-x64-$version.tgz"
    trial support 'network' "longwire-$version-x86_64-linux.tar.gz" "${link[@]}"
    trial curious 'at 40.0 ms, measured' "longwire-$version-py3-none-manylinux_2_28_x86_64.whl"
}

# Runs stranger $1, whose answer matches $2, with the packages $3, behind the rest.
trial() {
    local who=$1 answer=$2 packages=$3 root=$scratch/$1 begun line at=
    shift 3
    cp -a "$clean" "$root"
    mkdir -p "$root/home/$who"
    # Names of packages, without blanks.
    # shellcheck disable=SC2086
    (cd "$dist" && cp $packages "$root/home/$who/")
    "has_$who" "$root" "$root/home/$who"
    { declare -f "does_$who"; echo "port=$port version=$version HOME=/home/$who; cd; does_$who"; } >"$root/trial.sh"
    begun=$EPOCHREALTIME
    while IFS= read -r line; do
        echo "$line" >>"$scratch/$who.txt"
        if [ -z "$at" ] && [[ $line =~ $answer ]]; then
            at=$EPOCHREALTIME
            printf '%-10s%5.1f s  %s\n' "$who" "$(bc <<<"$at - $begun")" "$line"
        fi
    done < <(in_root "$root" "$@" 2>&1)
    if [ -z "$at" ] || [ "$(bc <<<"$at - $begun > $limit")" = 1 ]; then
        echo "trials.sh: no answer for $who in $limit s:" >&2
        cat "$scratch/$who.txt" >&2
        return 1
    fi
    rm -rf "$root"
}

# db1 is the host of the database.
in_root() {
    local root=$1
    shift
    # shellcheck disable=SC2016
    timeout $((limit * 2)) "$@" sh -c 'echo "${LONGWIRE_GATEWAY:-127.0.0.1} db1" >"$1/etc/hosts"
        exec unshare --mount --pid --fork chroot "$1" sh -c "mount -t proc proc /proc; mount -t sysfs sysfs /sys; exec bash /trial.sh"' sh "$root"
}

# A page that looks up the author of each of 12 products. Its database is 40 ms away.
has_developer() {
    cat >"$2/shop.py" <<'END'
import http.server, os, psycopg2
database = psycopg2.connect(os.environ["DATABASE_URL"])
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with database, database.cursor() as cursor:
            cursor.execute("select id, author from product order by id limit 12")
            for _, author in cursor.fetchall():
                cursor.execute("select name from author where id = %s", (author,))
                self.name = cursor.fetchone()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 8000), Page).serve_forever()
END
}
does_developer() {
    apt-get install -qq "./longwire_${version}_amd64.deb"
    longwire watch http://127.0.0.1:8000 "postgres://app@db1:$port/shop" --listen 127.0.0.1:8080 -- python3 shop.py 2>log &
    until curl -sf http://127.0.0.1:8080/; do sleep 0.1; done
    for page in 1 2 3 4; do curl -s http://127.0.0.1:8080/; done
    kill -TERM $!
    wait
}

has_dba() { cp "$capture" "$2/app.pcap.zst"; }
does_dba() {
    python3 -m venv tools
    tools/bin/pip install -q ./longwire-"$version"-*.whl
    tools/bin/longwire app.pcap.zst
}

# The machine's Node.js.
has_sre() {
    cp /usr/bin/node "$1/usr/local/bin/"
    mkdir -p "$1/usr/local/lib/node_modules"
    cp -a "$(dirname "$(dirname "$(realpath /usr/bin/npm)")")" "$1/usr/local/lib/node_modules/npm"
    for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$1/usr/local/bin/$name"; done
}
does_sre() {
    npm install --silent --offline ./longwire-"$version".tgz ./longwire-linux-x64-"$version".tgz
    timeout -s INT 5 npx longwire watch --interface any --port "$port"
}

has_support() { :; }
does_support() {
    tar xzf longwire-"$version"-x86_64-linux.tar.gz
    longwire-"$version"-x86_64-linux/bin/longwire ping "postgres://app@db1:$port/shop" -n 5
}

has_curious() { python3 -m pip install -q --target "$1/opt/uv" uv==0.9.18; }
does_curious() { PATH=$PATH:/opt/uv/bin uvx --from ./longwire-"$version"-*.whl longwire demo; }

main
