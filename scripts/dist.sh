#!/bin/bash
# dist.sh: makes what is handed out, in target/dist: one binary for x86-64 Linux that runs with glibc 2.28 (2018) and later, as .deb, .rpm and tarball,
# with completions and man pages; its symbols apart; a container file; the list of what is in it (SBOM); checksums.
#
# Needs what `make demo` and `make jdbc` need, and python3 with venv. What makes the packages is installed into target/dist/tools, once.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu
glibc=2.28
dist=$PWD/target/dist
tools=$dist/tools
tree=$dist/tree
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=longwire-$version-x86_64-linux
export PATH=$tools/venv/bin:$tools/bin:$PATH

main() {
    mkdir -p "$tools"
    rm -rf "$tree" "$dist"/longwire* "$dist"/Containerfile "$dist"/SHA256SUMS
    install_tools
    build
    lay_out
    pack
    (cd "$dist" && sha256sum longwire* Containerfile >SHA256SUMS)
    ls -l "$dist"/longwire* "$dist/Containerfile" "$dist/SHA256SUMS"
}

install_tools() {
    if [ ! -x "$tools/venv/bin/cargo-zigbuild" ]; then
        python3 -m venv "$tools/venv"
        "$tools/venv/bin/pip" install --quiet cargo-zigbuild==0.24.0 ziglang==0.17.1
    fi
    # Run once a build and in seconds: compiling them fast matters more than their own speed.
    for tool in cargo-deb@3.8.0 cargo-generate-rpm@0.21.1 cargo-cyclonedx@0.5.9; do
        [ -x "$tools/bin/${tool%@*}" ] && continue
        CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=0 \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=256 cargo install --quiet --locked --root "$tools" "$tool"
    done
}

# The linker is told to use no symbol of a later glibc.
build() {
    cargo zigbuild --release --locked --package longwire --target "$target.$glibc"
    scripts/jdbc-bridge.sh
}

# The files as they lie once they are installed.
lay_out() {
    local built=target/$target/release/longwire share=$tree/usr/share page
    mkdir -p "$tree/usr/bin" "$tree/usr/lib/longwire" "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
        "$share/fish/vendor_completions.d" "$share/doc/longwire"
    objcopy --only-keep-debug --compress-debug-sections "$built" "$dist/$name.debug"
    objcopy --strip-all --add-gnu-debuglink="$dist/$name.debug" "$built" "$tree/usr/lib/longwire/longwire"
    cp bridges/jdbc/target/longwire-jdbc.jar "$tree/usr/lib/longwire/"
    ln -s ../lib/longwire/longwire "$tree/usr/bin/longwire"
    "$tree/usr/bin/longwire" generate man --directory "$share/man/man1"
    for page in "$share"/man/man1/*.1; do gzip -9n "$page"; done
    "$tree/usr/bin/longwire" generate bash >"$share/bash-completion/completions/longwire"
    "$tree/usr/bin/longwire" generate zsh >"$share/zsh/site-functions/_longwire"
    "$tree/usr/bin/longwire" generate fish >"$share/fish/vendor_completions.d/longwire.fish"
    cp -R README.md CHANGELOG.md GLOSSARY.md ARCHITECTURE.md LICENSE-MIT LICENSE-APACHE docs labs "$share/doc/longwire/"
}

pack() {
    cargo deb --quiet --package longwire --target "$target" --no-build --no-strip --output "$dist/longwire_${version}_amd64.deb"
    cargo generate-rpm --package crates/longwire --target "$target" --auto-req disabled --output "$dist/longwire-$version.x86_64.rpm"
    tar --create --file "$dist/$name.tar.gz" --gzip --sort=name --owner=0 --group=0 --numeric-owner --transform "s,^\.,$name,S" \
        --directory "$tree/usr" .
    cargo cyclonedx --quiet --manifest-path crates/longwire/Cargo.toml --format json --target "$target" --override-filename "$name.cdx"
    mv "crates/longwire/$name.cdx.json" "$dist/"
    find crates -name "$name.cdx.json" -delete
    sed "s/@NAME@/$name/" scripts/Containerfile >"$dist/Containerfile"
}

main
