#!/bin/bash
# dist.sh [TARGET]: makes what is handed out, in target/dist: one binary for x86-64 Linux that runs with glibc 2.28 (2018) and later, as .deb, .rpm and
# tarball, with completions and man pages, as Python wheel and npm packages; its symbols apart; a container file; the list of what is in it (SBOM);
# checksums. Of another TARGET, as aarch64-unknown-linux-gnu, the tarball alone; it says which packages it could not make, and why.
#
# Names of folders are replaced and all files have the time of the commit, so that no package names a folder of the machine that made it.
#
# Needs what `make demo` and `make jdbc` need, and python3 with venv. What makes the packages is installed into target/dist/tools, once.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-x86_64-unknown-linux-gnu}
arch=${target%%-*}
glibc=2.28
build_folder=${CARGO_TARGET_DIR:-target}
dist=$PWD/target/dist
tools=$dist/tools
tree=$dist/tree
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=longwire-$version-$arch-linux
export PATH=$tools/venv/bin:$tools/bin:$PATH
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1577836800)} LC_ALL=C TZ=UTC
umask 022

main() {
    mkdir -p "$tools"
    rm -rf "$tree" "$dist"/longwire* "$dist"/Containerfile "$dist"/SHA256SUMS
    has_standard_library
    install_tools
    build
    lay_out
    pack_tarball
    if [ "$arch" = x86_64 ]; then pack; else not_made "deb, rpm, wheel, npm packages, container file, list of parts" "only x86-64 is tested"; fi
    names_no_folder
    (cd "$dist" && sha256sum longwire* $(ls Containerfile 2>/dev/null) >SHA256SUMS)
    ls -l "$dist"/longwire* "$dist"/SHA256SUMS
}

not_made() { echo "dist.sh: not made for $target: $1: $2" >&2; }

has_standard_library() {
    case $target in *-linux-gnu) ;; *) not_made everything "only Linux with glibc"; exit 1 ;; esac
    if ! [ -d "$(rustc --print target-libdir --target "$target")" ]; then
        not_made everything "Rust's standard library is missing (rustup target add $target)"
        exit 1
    fi
}

install_tools() {
    if [ ! -x "$tools/venv/bin/cargo-zigbuild" ]; then
        python3 -m venv "$tools/venv"
        "$tools/venv/bin/pip" install --quiet cargo-zigbuild==0.24.0 ziglang==0.17.1 wheel==0.46.3
    fi
    for tool in cargo-deb@3.8.0 cargo-generate-rpm@0.21.1 cargo-cyclonedx@0.5.9; do
        scripts/cached.sh "${tool%@*}" "$tools/bin/${tool%@*}" --of "$(rustc --version)" -- scripts/test-tools.sh compile "${tool%@*}" "${tool#*@}"
    done
}

# The linker is told to use no symbol of a later glibc.
build() {
    local cargo_home=${CARGO_HOME:-$HOME/.cargo} maps=() flags=() from
    # Later ones win: the tools lie inside of the sources, and the sources may lie inside of the home.
    for from in "$HOME=/home" "$cargo_home=/cargo" "$(rustc --print sysroot)=/rust" "$PWD=/longwire" "$tools=/tools"; do
        maps+=("-ffile-prefix-map=$from")
        flags+=("--remap-path-prefix=$from")
    done
    if [ "$arch" != x86_64 ]; then export CARGO_PROFILE_RELEASE_STRIP=symbols; fi
    CFLAGS="${maps[*]}" CXXFLAGS="${maps[*]}" CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}") \
        cargo zigbuild --release --locked --package longwire --target "$target.$glibc"
    scripts/jdbc-bridge.sh
}

# The files as they lie once they are installed.
lay_out() {
    local built=$build_folder/$target/release/longwire share=$tree/usr/share page
    mkdir -p "$tree/usr/bin" "$tree/usr/lib/longwire" "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
        "$share/fish/vendor_completions.d" "$share/doc/longwire"
    if [ "$arch" = x86_64 ]; then
        objcopy --only-keep-debug --compress-debug-sections "$built" "$dist/$name.debug"
        objcopy --strip-all --add-gnu-debuglink="$dist/$name.debug" "$built" "$tree/usr/lib/longwire/longwire"
    else
        cp "$built" "$tree/usr/lib/longwire/longwire"
        not_made symbols "objcopy knows this machine's programs only"
    fi
    cp bridges/jdbc/target/longwire-jdbc.jar "$tree/usr/lib/longwire/"
    ln -s ../lib/longwire/longwire "$tree/usr/bin/longwire"
    if "$tree/usr/bin/longwire" -V >/dev/null 2>&1; then
        "$tree/usr/bin/longwire" generate man --directory "$share/man/man1"
        for page in "$share"/man/man1/*.1; do gzip -9n "$page"; done
        "$tree/usr/bin/longwire" generate bash >"$share/bash-completion/completions/longwire"
        "$tree/usr/bin/longwire" generate zsh >"$share/zsh/site-functions/_longwire"
        "$tree/usr/bin/longwire" generate fish >"$share/fish/vendor_completions.d/longwire.fish"
    else
        not_made "man pages, completions" "its program does not run here, and they come from it"
    fi
    cp -R README.md CHANGELOG.md GLOSSARY.md ARCHITECTURE.md LICENSE-MIT LICENSE-APACHE docs contributing labs "$share/doc/longwire/"
    chmod -R u+rwX,go+rX,go-w "$tree"
    find "$tree" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
}

pack_tarball() {
    tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime "@$SOURCE_DATE_EPOCH" --transform "s,^\.,$name,S" \
        --directory "$tree/usr" . | gzip -9n >"$dist/$name.tar.gz"
}

pack() {
    cargo deb --quiet --package longwire --target "$target" --no-build --no-strip --output "$dist/longwire_${version}_amd64.deb"
    cargo generate-rpm --package crates/longwire --target "$target" --auto-req disabled --source-date "$SOURCE_DATE_EPOCH" \
        --output "$dist/longwire-$version.x86_64.rpm"
    cargo cyclonedx --quiet --manifest-path crates/longwire/Cargo.toml --format json --target "$target" --override-filename "$name.cdx"
    sed "s,$PWD,/longwire,g" "crates/longwire/$name.cdx.json" >"$dist/$name.cdx.json"
    find crates -name "$name.cdx.json" -delete
    scripts/packages.sh "$tree/usr/lib/longwire/longwire" "$dist"
    sed "s/@NAME@/$name/" scripts/Containerfile >"$dist/Containerfile"
}

# No package names a folder of this machine. The file of symbols does: zig compiles the C library's first objects in the folder of the build, and takes no
# -ffile-prefix-map for them.
names_no_folder() {
    local unpacked folder
    unpacked=$(mktemp -d)
    cp -R "$tree" "$unpacked/"
    if [ -e "$dist/$name.cdx.json" ]; then cp "$dist/$name.cdx.json" "$unpacked/"; fi
    find "$unpacked" -name '*.gz' -exec gzip -d {} +
    (cd "$unpacked" && python3 -m zipfile -e tree/usr/lib/longwire/longwire-jdbc.jar jar)
    for folder in "$PWD" "$HOME/.cargo" "$HOME/.rustup"; do
        if grep -rlF --binary-files=text -- "$folder" "$unpacked"; then
            echo "dist.sh: these files name $folder" >&2
            exit 1
        fi
    done
    rm -rf "$unpacked"
}

main
