#!/bin/sh
# setup.sh demo|docs|pictures|dist|check-dist|jdbc|test|bench|stacks|lab|lab-wordpress|lab-compression|toxiproxy-clients: checks that what the build, the tests or the benchmarks need is here, and installs the
# Debian packages that are missing. Starts no service, touches none that runs.
set -eu
cd "$(dirname "$0")/.."

main() {
    case "$1" in
        demo) install_missing build ;;
        docs) install_missing build python ;;
        pictures) install_missing build servers browser ;;
        jdbc) install_missing java; return ;;
        dist) install_missing build java dist ;;
        check-dist) install_missing check-dist; return ;;
        test) install_missing build servers browser java monitoring go ;;
        bench) install_missing build servers peers ssh ;;
        stacks) install_missing build servers java languages ;;
        lab) install_missing build servers ;;
        lab-wordpress) install_missing build servers wordpress ;;
        lab-compression) install_missing build servers ssh ;;
        toxiproxy-clients) install_missing build servers java go ;;
        *) echo "usage: scripts/setup.sh demo|docs|pictures|dist|check-dist|jdbc|test|bench|stacks|lab|lab-wordpress|lab-compression|toxiproxy-clients" >&2; exit 2 ;;
    esac
    require_rust "$1"
}

# One line a program: the programs that prove a package is there, and the package.
programs() {
    case "$1" in
        build) cat <<'END'
cc gcc
/usr/include/stdio.h libc6-dev
/etc/ssl/certs/ca-certificates.crt ca-certificates
END
        ;;
        servers) cat <<'END'
initdb postgresql
pgbench postgresql-contrib
psql postgresql-client
pgbouncer pgbouncer
mariadbd mariadb-server
mariadb-install-db mariadb-server
mariadb mariadb-client
mariadb-slap mariadb-client
/usr/lib/mysql/plugin/ha_connect.so mariadb-plugin-connect
redis-server redis-server
nginx nginx-light
php-fpm* php-fpm
php php-cli
/etc/php/*/mods-available/pdo_pgsql.ini php-pgsql
/etc/php/*/mods-available/pdo_mysql.ini php-mysql
tshark tshark
tcpdump tcpdump
ip iproute2
setcap libcap2-bin
ping iputils-ping
script bsdutils
tmux tmux
unshare util-linux
setpriv util-linux
python3 python3
/usr/lib/python3*/ensurepip python3-venv
END
        ;;
        monitoring) cat <<'END'
prometheus prometheus
systemd-analyze systemd
END
        ;;
        python) cat <<'END'
python3 python3
END
        ;;
        check-dist) cat <<'END'
debootstrap debootstrap
rpm rpm
objdump binutils
zsh zsh
fish fish
END
        ;;
        dist) cat <<'END'
/usr/lib/python3*/ensurepip python3-venv
objcopy binutils
END
        ;;
        browser) cat <<'END'
chromium chromium
chromedriver chromium-driver
setpriv util-linux
END
        ;;
        java) cat <<'END'
javac default-jdk-headless
mvn maven
END
        ;;
        languages) cat <<'END'
/usr/lib/python3*/ensurepip python3-venv
openssl openssl
node nodejs
npm npm
go golang-go
nginx nginx-light
php-fpm* php-fpm
/etc/php/*/mods-available/pdo_pgsql.ini php-pgsql
ruby ruby
puma puma
/usr/share/doc/ruby-pg ruby-pg
/usr/share/doc/ruby-mysql2 ruby-mysql2
/usr/share/doc/ruby-sequel ruby-sequel
/usr/share/doc/ruby-sinatra ruby-sinatra
END
        ;;
        go) cat <<'END'
go golang-go
END
        ;;
        wordpress) cat <<'END'
/usr/share/wordpress/wp-settings.php wordpress
/usr/share/wordpress/wp-content/themes/twentytwentythree wordpress-theme-twentytwentythree
/etc/php/*/mods-available/mysqli.ini php-mysql
END
        ;;
        ssh) cat <<'END'
ssh openssh-client
sshd openssh-server
END
        ;;
        peers) cat <<'END'
haproxy haproxy
socat socat
pt-query-digest percona-toolkit
/usr/bin/time time
qperf qperf
sockperf sockperf
wrk wrk
jq jq
ab apache2-utils
END
        ;;
    esac
}

# On PATH, where an ordinary user's PATH may not look, or where Debian puts PostgreSQL's server programs.
present() {
    # Unquoted: a name may be a pattern, where it carries a version.
    # shellcheck disable=SC2086
    case "$1" in /*) for file in $1; do [ -e "$file" ] && return; done; return 1 ;; esac
    command -v "$1" >/dev/null 2>&1 && return
    # shellcheck disable=SC2086
    for candidate in /usr/sbin/$1 /sbin/$1 /usr/lib/postgresql/*/bin/$1; do
        [ -x "$candidate" ] && return
    done
    return 1
}

install_missing() {
    missing=
    for group in "$@"; do
        while read -r program package; do
            present "$program" && continue
            case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac
        done <<END
$(programs "$group")
END
    done
    [ -z "$missing" ] && return
    command -v apt-get >/dev/null 2>&1 ||
        fail "these Debian packages are missing, and there is no apt-get here:$missing. Install what your system calls them."
    if [ "$(id -u)" = 0 ]; then as_root=
    elif command -v sudo >/dev/null 2>&1; then as_root=sudo
    else fail "packages are missing: as root, run apt-get update && apt-get install --no-install-recommends$missing"
    fi
    echo "setup: installing$missing"
    # $missing is a list of words.
    # shellcheck disable=SC2086
    $as_root sh scripts/install-packages.sh $missing
}

require_rust() {
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    advice="Rust $wanted or newer is needed: install it as https://rustup.rs says, then run make $1 again"
    command -v cargo >/dev/null 2>&1 || fail "$advice"
    found=$(rustc --version | cut -d' ' -f2)
    oldest=$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)
    [ "$oldest" = "$wanted" ] || fail "$advice (this is $found)"
    [ "$1" = test ] || return 0
    cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 ||
        fail "rustfmt and clippy are needed: run rustup component add rustfmt clippy, then make test again"
}

fail() {
    echo "setup: $1" >&2
    exit 2
}

main "${1:-}"
