"""Many clients before a server with one processor: predicted from a capture of one client, and measured. See bench/saturation.sh."""

import argparse
import json
import os
import statistics
import tempfile

from workload import NAMES, Place, Server, captured, load, prediction

KINDS = ["pauses", "link"]


def main():
    asked = arguments()
    if asked.measured:
        os.chdir(asked.measured)
    else:
        server = Server()
        os.chdir(asked.keep or tempfile.mkdtemp(prefix="saturation-"))
        for number in range(asked.first, asked.first + asked.rounds):
            measure(asked, server, number)
    for workload in asked.workloads:
        show(asked, workload)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--longwire", required=True)
    parser.add_argument("--before", help="an earlier longwire, which predicts from the same captures")
    parser.add_argument("--workloads", type=listed, default=NAMES)
    parser.add_argument("--clients", type=lambda text: [int(part) for part in listed(text)], default=[1, 16, 64])
    parser.add_argument("--rtts", type=listed, default=["1ms", "5ms", "20ms"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--keep", help="a folder for captures and results")
    parser.add_argument("--first", type=int, default=0, help="the number of the first round, for --keep")
    parser.add_argument("--measured", help="such a folder: nothing is measured, and all that is in it is predicted again")
    return parser.parse_args()


def listed(text):
    return text.split(",")


def measure(asked, server, number):
    cells = [(workload, clients, rtt) for workload in asked.workloads for rtt in asked.rtts for clients in asked.clients]
    # A capture for each cell: the machine's speed drifts by a half within minutes.
    for workload, clients, rtt in cells if number % 2 == 0 else reversed(cells):
        cell = f"{workload}@{clients}@{rtt}@{number}"
        found = {"near": captured(server, asked.longwire, workload, asked.seconds, cell + ".pcap")}
        for kind in KINDS if number % 2 == 0 else reversed(KINDS):
            found[kind] = load(server, asked.longwire, workload, clients, Place(kind, rtt), asked.seconds)
        with open(cell + ".json", "w") as file:
            json.dump(found, file)


def show(asked, workload):
    cells = {}
    for name in os.listdir():
        cell = name.removesuffix(".json").split("@")
        if name.endswith(".json") and cell[0] == workload:
            with open(name) as file:
                found = json.load(file)
            capture = name.replace(".json", ".pcap")
            found["predicted"] = [
                prediction(longwire, capture, int(cell[1]), cell[2]) for longwire in [asked.before, asked.longwire] if longwire
            ]
            cells.setdefault((float(cell[2].removesuffix("ms")), int(cell[1])), []).append(found)
    near = [run["near"]["mean"] for runs in cells.values() for run in runs]
    server = statistics.median(used(run["near"], "server") for runs in cells.values() for run in runs)
    print(f"{workload}: near it {statistics.median(near):.3f} ms a transaction ({min(near):.3f} to {max(near):.3f}), server's processor {server:.0f} us")
    print(
        f"{'clients':>8} {'rtt':>5} {'pauses':>7} {'error':>13} {'smallest, largest':>17} {'within':>6}  {'link':>7} {'error':>13}  {'server us':>11} {'others us':>9} {'busy':>10}"
    )
    for (rtt, clients), runs in sorted(cells.items()):
        print(row(rtt, clients, runs), flush=True)
    print()


def row(rtt, clients, runs):
    middle = lambda value: statistics.median(value(run) for run in runs)
    number = len(runs[0]["predicted"])
    errors = {kind: [[error(run, kind, place) for run in runs] for place in range(number)] for kind in KINDS}
    shown = {kind: " ".join(f"{statistics.median(some):+.1%}" for some in errors[kind]) for kind in KINDS}
    last = errors["pauses"][-1]
    # The bounds are about the median.
    within = sum(run["predicted"][-1]["low_ns"] <= run["pauses"]["median"] * 1e6 <= run["predicted"][-1]["high_ns"] for run in runs)
    busy = [middle(lambda run: sum(run["link"]["shares"].get(group, 0) for group in groups)) for groups in [["server", "background"], ["load", "link"]]]
    return (
        f"{clients:>8} {rtt:>3.0f}ms {middle(lambda run: run['pauses']['mean']):>7.2f} {shown['pauses']:>13} {min(last):>+8.1%},{max(last):>+8.1%} {within} of {len(runs)}"
        f"  {middle(lambda run: run['link']['mean']):>7.2f} {shown['link']:>13}"
        f"  {middle(lambda run: used(run['pauses'], 'server')):>5.0f} {middle(lambda run: used(run['link'], 'server')):>5.0f}"
        f" {middle(lambda run: used(run['link'], 'load', 'link')):>9.0f} {busy[0]:>5.0%} {busy[1]:>4.0%}"
    )


def error(run, kind, place):
    """As pgbench counts: clients divided by transactions a second, with what a client does between two of them."""
    record = run["predicted"][place]
    return record["clients"] / record["per_second"] * 1e3 / run[kind]["mean"] - 1


def used(run, *groups):
    """What groups used of their processor, a transaction; us."""
    return sum(run["shares"].get(group, 0) for group in groups) / run["per_second"] * 1e6


main()
