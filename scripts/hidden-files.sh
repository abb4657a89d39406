#!/bin/sh
# hidden-files.sh: names the files of the source tree that .gitignore hides: they are here, and missing from every clone.
set -eu
cd "$(dirname "$0")/.."
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0
hidden=$(git ls-files --others --ignored --exclude-standard -- .ci .config bench crates docs integrations labs measurements queries scripts bridges/jdbc/src)
[ -z "$hidden" ] && exit
echo "$hidden" | sed 's/^/hidden: .gitignore keeps this file out of commits: /'
echo "Commit them (git add --force), let .gitignore name them with '!', or remove them."
exit 1
