#!/bin/bash
# check-dist.sh: installs what dist.sh made, in clean roots of Debian, and runs `longwire demo` there as a user without rights: from the .deb, from the
# tarball, and by the steps of the container file. The .rpm is looked into, and installed into a root without its scripts. Needs root, and debootstrap (or
# the directory of an unpacked Debian in DIST_ROOT).
set -euo pipefail
cd "$(dirname "$0")/../target/dist"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
name=$(basename -s .tar.gz longwire-*-x86_64-linux.tar.gz)

main() {
    sha256sum --quiet -c SHA256SUMS
    newest_symbol
    completions
    clean=${DIST_ROOT:-$scratch/clean}
    [ -d "$clean" ] || debootstrap --variant=minbase bookworm "$clean" >"$scratch/debootstrap.txt"
    from deb
    from tarball
    from container_file
    from rpm
    from wheel
    from npm
}

# No symbol of a glibc later than 2.28.
newest_symbol() {
    local newest
    newest=$(objdump -T tree/usr/lib/longwire/longwire | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
    echo "newest symbol of the C library: $newest"
    [ "$(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ]
}

# Shells that are here accept their file.
completions() {
    bash -n tree/usr/share/bash-completion/completions/longwire
    if command -v zsh >/dev/null; then zsh -n tree/usr/share/zsh/site-functions/_longwire; fi
    if command -v fish >/dev/null; then fish --no-execute tree/usr/share/fish/vendor_completions.d/longwire.fish; fi
}

# Installs in a copy of the clean root in one way, and runs the demonstration as nobody.
from() {
    local way=$1 root=$scratch/$1 program
    cp -a "$clean" "$root"
    program=$("install_$way" "$root")
    in_root "$root" setpriv --reuid 65534 --regid 65534 --clear-groups "$program" -V
    in_root "$root" setpriv --reuid 65534 --regid 65534 --clear-groups "$program" demo >"$scratch/demo.txt" 2>"$scratch/demo-err.txt" || {
        cat "$scratch/demo.txt" "$scratch/demo-err.txt" >&2
        return 1
    }
    echo "$way: $(grep -m 1 'at 40.0 ms, measured' "$scratch/demo.txt")"
    rm -rf "$root"
}

in_root() { local root=$1; shift; unshare --mount --pid --fork chroot "$root" sh -c 'mount -t proc proc /proc; cd /tmp; exec "$@"' sh "$@"; }

install_deb() {
    cp longwire_*_amd64.deb "$1/tmp/"
    in_root "$1" sh -c 'dpkg -i /tmp/longwire_*.deb' >&2
    [ -e "$1/usr/share/man/man1/longwire-read.1.gz" ] || echo "the man pages were left out by this root's dpkg" >&2
    echo /usr/bin/longwire
}

install_tarball() {
    tar xzf "$name.tar.gz" -C "$1/opt"
    echo "/opt/$name/bin/longwire"
}

# The root has no Python: what pip does with a wheel of programs.
install_wheel() {
    python3 -m zipfile -e longwire-*-py3-none-manylinux_2_28_x86_64.whl "$1/opt"
    mkdir -p "$1/opt/bin"
    install -m 755 "$1"/opt/longwire-*.data/scripts/longwire "$1/opt/bin/"
    echo /opt/bin/longwire
}

# The root has no Node.js: the platform's package alone.
install_npm() {
    tar xzf longwire-linux-x64-*.tgz -C "$1/opt"
    echo /opt/package/bin/longwire
}

# What its ADD and RUN do.
install_container_file() {
    tar xzf "$name.tar.gz" -C "$1/opt"
    in_root "$1" sh -c "$(sed -n 's/^RUN //p' Containerfile)" >&2
    echo /usr/local/bin/longwire
}

install_rpm() {
    rpm --root "$1" --dbpath /var/lib/rpm --nodeps --ignoreos -i longwire-*.x86_64.rpm >&2
    echo /usr/bin/longwire
}

main
