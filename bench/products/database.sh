# Sourced by the products' scripts: private database servers in the namespace $DB.
# State lies in $PRODUCTS (default: a folder under TMPDIR). Passwords are for a demonstration only.
PRODUCTS=${PRODUCTS:-${TMPDIR:-/tmp}/products}
mkdir -p "$PRODUCTS"
chmod 755 "$PRODUCTS"

# start_postgres NAME: a PostgreSQL of the newest installed version, without TLS, user and database NAME, password "demo".
start_postgres() {
    local data=$PRODUCTS/$1/postgres bin
    bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n1)
    if [ ! -f "$data/PG_VERSION" ]; then
        mkdir -p "$data"
        chown postgres "$data"
        chmod 755 "$PRODUCTS/$1"
        setpriv --reuid=postgres --regid=postgres --clear-groups "$bin/initdb" -D "$data" -A trust -U postgres >/dev/null
        echo 'host all all 10.88.2.0/24 scram-sha-256' >>"$data/pg_hba.conf"
    fi
    [ -e "$data/postmaster.pid" ] || ip netns exec "$DB" setpriv --reuid=postgres --regid=postgres --clear-groups "$bin/pg_ctl" -D "$data" -w -l "$data/log" \
        -o "-c listen_addresses=* -c unix_socket_directories=$data -c max_connections=200 -c shared_buffers=256MB" start >/dev/null
    if ! psql -h "$data" -U postgres -Atc "select 1 from pg_roles where rolname = '$1'" | grep -q 1; then
        psql -h "$data" -U postgres -qc "create role $1 superuser login password 'demo'" -c "create database $1 owner $1"
    fi
}

# stop_postgres NAME
stop_postgres() {
    local data=$PRODUCTS/$1/postgres bin
    bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n1)
    setpriv --reuid=postgres --regid=postgres --clear-groups "$bin/pg_ctl" -D "$data" -m fast -w stop >/dev/null
}

# start_mariadb NAME: a MariaDB without TLS, user and database NAME, password "demo".
start_mariadb() {
    local data=$PRODUCTS/$1/mariadb
    if [ ! -d "$data/mysql" ]; then
        mkdir -p "$data"
        chown mysql "$data"
        mariadb-install-db --no-defaults --user=mysql --datadir="$data" --auth-root-authentication-method=socket >/dev/null
    fi
    ip netns exec "$DB" mariadbd --no-defaults --user=mysql --datadir="$data" --socket="$data/socket" --bind-address=0.0.0.0 --port=3306 \
        --innodb-buffer-pool-size=256M --skip-name-resolve --max-connections=200 --pid-file="$data/pid" >"$data/log" 2>&1 &
    local tries=0
    until mariadb --no-defaults -S "$data/socket" -e 'select 1' >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 60 ] || { tail "$data/log" >&2; return 1; }
        sleep 0.5
    done
    mariadb --no-defaults -S "$data/socket" -e "create database if not exists $1 character set utf8mb4 collate utf8mb4_bin;
        create user if not exists $1@'%' identified by 'demo'; grant all on *.* to $1@'%'"
}

# stop_mariadb NAME
stop_mariadb() {
    kill "$(cat "$PRODUCTS/$1/mariadb/pid")"
}

# wait_for URL: until the web server answers
wait_for() {
    local tries=0
    until ip netns exec "$WEB" curl -s -o /dev/null -m 30 "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 120 ] || { echo "no answer from $1" >&2; return 1; }
        sleep 0.5
    done
}
