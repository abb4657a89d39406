#!/bin/sh
# docs.sh: makes the site in target/book from README.md and docs/, with mdBook, and checks its links.
set -eu
cd "$(dirname "$0")/.."

version=0.4.52
target=${CARGO_TARGET_DIR:-target}

mdbook=$(command -v mdbook || echo "$target/tools/bin/mdbook")
[ "$("$mdbook" --version 2>/dev/null)" = "mdbook v$version" ] || {
    echo "docs: building mdBook $version, once; it takes a few minutes"
    cargo install mdbook --version "$version" --locked --debug --no-default-features --features search \
        --root "$target/tools" --target-dir "$target/tools/target"
    mdbook=$target/tools/bin/mdbook
}
rm -rf "$target/book" "$target/book-src"
python3 scripts/book.py prepare "$target/book-src"
"$mdbook" build "$target/book-src"
python3 scripts/book.py check "$target/book"
echo "docs: $target/book/index.html"
