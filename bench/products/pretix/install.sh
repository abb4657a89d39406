#!/bin/bash
# install.sh: pretix and gunicorn from PyPI into $PRODUCTS/pretix.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
mkdir -p "$PRODUCTS/pretix"
python3 -m venv "$PRODUCTS/pretix/v"
"$PRODUCTS/pretix/v/bin/pip" install -q pretix gunicorn
