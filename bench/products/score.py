#!/usr/bin/env python3
"""score.py [--longwire BINARY] [--json FILE] [--summary] FOLDER... [-- FLAGS OF predict]

Judges a build of longwire by what was measured before: for each FOLDER with near captures (near-CLIENTS.pcap.zst, or near-CLIENTS-2.pcap of measure.py) and their truth
(cells.jsonl, as measure.py writes it) runs `longwire predict` as a person does who names nothing, prints predicted next to measured, and a summary of
each product and of all. Nothing is measured again.

A line of cells.jsonl is the truth of one operation, round trip and number of clients:
  {"app": "bench/products/NAME/APP.json", "op": "tasks", "clients": 1, "rtt": 10.2, "near": [4.81, 4.52], "far": [24.69, 26.96]}
(milliseconds; `far` and `near` hold the medians of the two halves; the capture is that of the second near half, when programs are warm). What else is in it is not read. The operations' names come from APP.json: that of the
line, or APP.json in the folder.
"""
import argparse
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def pattern(op):
    """Regular expression of an operation's name: APP.json's `match`, or method and path without its query."""
    path = re.split(r"[?{]", op["path"])[0]
    return op.get("match") or "^" + re.escape(op.get("method", "GET") + " " + path) + r"(\?|$)"


def application(folder, cell):
    """The APP.json that describes a cell's operations."""
    named = Path(cell.get("app", ""))
    for path in (folder / "APP.json", named, HERE / named.parent.name / "APP.json", HERE / folder.name / "APP.json"):
        if path.is_file():
            return json.loads(path.read_text())
    sys.exit(f"score.py: no APP.json for {folder}")


def capture(folder, clients):
    names = (f"near-{clients}.pcap*", f"near-{clients}-2.pcap*")
    found = [path for name in names for path in sorted(glob.glob(f"{glob.escape(str(folder))}/{name}"))]
    if not found:
        sys.exit(f"score.py: no {' or '.join(names)} in {folder}")
    return found[0]


def predict(longwire, path, clients, rtts, on, extra):
    """Predictions of a capture, the warnings, and the status."""
    command = [longwire, "predict", path, "--clients", str(clients), "--json"]
    command += ["--on", on] if on else []
    for rtt in rtts:
        command += ["--link", f"rtt={rtt}ms"]
    done = subprocess.run(command + extra, capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return records, done.stderr.strip().splitlines(), done.returncode


def milliseconds(nanoseconds):
    return None if nanoseconds is None else nanoseconds / 1e6


def judge(op, cell, records):
    """One cell: what was predicted for it, next to what was measured."""
    truth = sum(cell["far"]) / len(cell["far"])
    halves = abs(cell["far"][-1] - cell["far"][0]) / truth * 100
    found = [
        record
        for record in records
        if record.get("type") == "prediction"
        and re.search(pattern(op), record["operation_name"])
        and abs(record["rtt_ns"] / 1e6 - cell["rtt"]) < 0.002
    ]
    row = {"op": cell["op"], "clients": cell["clients"], "rtt": cell["rtt"], "truth": truth, "halves": halves, "near": cell["near"], "far": cell["far"]}
    if len({record["operation_name"] for record in found}) > 1:
        sys.exit(f"score.py: several names match {cell['op']}: give it a \"match\": {sorted({r['operation_name'] for r in found})}")
    best = max(found, key=lambda record: record.get("operations", 0), default={})
    duration, low, high = (milliseconds(best.get(key)) for key in ("duration_ns", "low_ns", "high_ns"))
    row["operation_name"] = best.get("operation_name")
    row.update(predicted=duration, low=low, high=high, turns=best.get("turns"), operations=best.get("operations"))
    if low is None or high is None:
        return row
    row["inside"] = low <= truth <= high
    # Where only bounds are given, and no duration, they are the whole statement.
    row["error"] = None if duration is None else 100 * (duration / truth - 1)
    return row


def line(product, row):
    head = f"{product:<12} {row['op']:<14} {row['clients']} clients {row['rtt']:>6.2f} ms  measured {row['truth']:>8.2f} (halves {row['halves']:.1f} %)"
    if row["low"] is None:
        return f"{head}  NOT PREDICTED"
    told = "bounds alone" if row["predicted"] is None else f"predicted {row['predicted']:>8.2f} {row['error']:+.1f} %"
    within = "in" if row["inside"] else "OUT"
    return f"{head}  {told} [{row['low']:.2f} .. {row['high']:.2f}] {within}; round trips {row['turns']}"


def wilson(share, count, z=1.96):
    middle = (share + z * z / 2 / count) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / 4 / count / count) / (1 + z * z / count)
    return 100 * (middle - half), 100 * (middle + half)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def summary(title, rows):
    """Figures of the goal: errors, errors beyond the measurements' own difference, coverage, refusals."""
    told = [row for row in rows if row["low"] is not None]
    errors = [row for row in told if row["error"] is not None]
    if not told:
        return f"{title}: {len(rows)} cells, none predicted"
    parts = [f"{title}: {len(rows)} cells"]
    for name, some in (("2 ms", [r for r in errors if r["rtt"] < 5]), ("10 and 40 ms", [r for r in errors if r["rtt"] >= 5])):
        if some:
            parts.append(
                f"{name}: median error {statistics.median(abs(r['error']) for r in some):.1f} % "
                f"(halves differ by {statistics.median(r['halves'] for r in some):.1f} %), "
                f"90th percentile {percentile([abs(r['error']) for r in some], 0.9):.1f} %"
            )
    if errors:
        close = sum(abs(r["error"]) <= max(10, r["halves"]) for r in errors)
        worst = max(errors, key=lambda r: abs(r["error"]))
        parts.append(f"within 10 % or the halves' difference {100 * close / len(errors):.0f} %")
        parts.append(f"worst {worst['error']:+.1f} % ({worst['op']}, {worst['clients']} clients, {worst['rtt']:.0f} ms)")
    share = sum(row["inside"] for row in told) / len(told)
    low, high = wilson(share, len(told))
    parts.append(f"inside {100 * share:.0f} % (Wilson {low:.0f} to {high:.0f} %)")
    again = [100 * abs(near[1] / near[0] - 1) for near in {(row["product"], row["op"], row["clients"]): row["near"] for row in rows}.values()]
    parts.append(f"near halves differ by {statistics.median(again):.0f} %, one in ten by {percentile(again, 0.9):.0f} % or more")
    refused = len(rows) - len(told)
    one = [row for row in rows if row["clients"] == 1]
    parts.append(f"not predicted {refused} ({100 * refused / len(rows):.0f} %)")
    if one:
        parts.append(f"of one client's {sum(r['low'] is None for r in one)} of {len(one)}")
    return "; ".join(parts)


def score(folder, longwire, extra, show=True):
    """All cells of a folder, judged."""
    folder = Path(folder)
    cells = {}
    for text in (folder / "cells.jsonl").read_text().splitlines():
        cell = json.loads(text)
        # A folder that was measured again holds the newest last.
        cells[cell["op"], cell["clients"], round(cell["rtt"])] = cell
    rows = []
    for clients in sorted({cell["clients"] for cell in cells.values()}):
        of_clients = [cell for cell in cells.values() if cell["clients"] == clients]
        app = application(folder, of_clients[0])
        rtts = sorted({cell["rtt"] for cell in of_clients})
        records, notes, status = predict(longwire, capture(folder, clients), clients, rtts, app.get("on"), extra)
        ops = {op["name"]: op for op in app["ops"]}
        for cell in of_clients:
            row = judge(ops[cell["op"]], cell, records)
            row["product"] = app.get("name", folder.name)
            rows.append(row)
            if show:
                print(line(row["product"], row))
        if show:
            print(f"-- {folder.name}, {clients} clients: status {status}")
            for note in notes:
                print(f"   {note}")
    return rows


def main():
    arguments = sys.argv[1:]
    extra = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    arguments = arguments[: arguments.index("--")] if "--" in arguments else arguments
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--longwire", default=os.environ.get("LW", "target/release/longwire"), help="the build that is judged")
    parser.add_argument("--json", help="also write every cell, judged, to this file")
    parser.add_argument("--summary", action="store_true", help="print summaries alone")
    options = parser.parse_args(arguments)
    products = {}
    for folder in filter(os.path.isdir, options.folder):
        for row in score(folder, options.longwire, extra, not options.summary):
            products.setdefault(row["product"], []).append(row)
    rows = [row for some in products.values() for row in some]
    if options.json:
        Path(options.json).write_text("".join(json.dumps(row) + "\n" for row in rows))
    print()
    for name, some in products.items():
        print(summary(name, some))
        for clients in sorted({row["clients"] for row in some}):
            print("  " + summary(f"{clients} clients", [row for row in some if row["clients"] == clients]))
    if len(products) > 1:
        print(summary("all", rows))


if __name__ == "__main__":
    main()
