#!/bin/bash
# install.sh: MLflow and psycopg 3 from PyPI.
set -euo pipefail
. "$(dirname "$0")/../database.sh"
mkdir -p "$PRODUCTS/mlflow"
python3 -m venv "$PRODUCTS/mlflow/v"
"$PRODUCTS/mlflow/v/bin/pip" install -q mlflow==3.17.2 'psycopg[binary]==3.3.9'
