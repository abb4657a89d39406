#!/bin/sh
# docs.sh: makes the site in target/book from README.md and docs/, with mdBook, and checks its links and its search.
set -eu
cd "$(dirname "$0")/.."

version=0.4.52
target=${CARGO_TARGET_DIR:-target}

mdbook=$target/tools/mdbook
echo "docs: mdBook $version, which is built the first time: that takes a few minutes"
scripts/cached.sh mdbook "$mdbook" --of "$(rustc --version)" -- scripts/test-tools.sh compile mdbook "$version" --no-default-features --features search
rm -rf "$target/book" "$target/book-src"
python3 scripts/book.py prepare "$target/book-src"
"$mdbook" build "$target/book-src"
python3 scripts/book.py check "$target/book"
if command -v node >/dev/null; then node scripts/docs-search.js "$target/book"; else echo "docs: its search was not tried, which needs node"; fi
echo "docs: $target/book/index.html"
