"""Runs each query on one engine in the present folder and prints its rows, one JSON object a query.

run.py duckdb|clickhouse FOLDER_OF_QUERIES
"""

import glob
import json
import os
import sys


def duckdb_rows(text):
    import duckdb

    found = duckdb.sql(text)
    return [dict(zip(found.columns, row)) for row in found.fetchall()]


def clickhouse_rows(text):
    import chdb

    found = json.loads(str(chdb.query(text, "JSON")))
    return found["data"]


def plain(value):
    """Numbers as numbers: ClickHouse writes those of 64 bits as text, DuckDB has decimals."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


rows_of = {"duckdb": duckdb_rows, "clickhouse": clickhouse_rows}[sys.argv[1]]
for path in sorted(glob.glob(os.path.join(sys.argv[2], sys.argv[1], "*.sql"))):
    name = os.path.splitext(os.path.basename(path))[0]
    with open(path) as file:
        rows = rows_of(file.read())
    rows = [{key: plain(value) for key, value in row.items()} for row in rows]
    print(json.dumps({"query": name, "rows": rows}))
