"""`longwire split` at many clients: its shares compared with the kernel's account of the server, and its predictions with pauses. See bench/saturation.sh.

The server's share is what its sessions computed or waited for a processor (schedstat), divided by the number of clients: at any time so many
of these are at the server, so by Little's law it is that part of a transaction. A pause of a round trip before each statement is a distance that takes no
processor time. Each distance is measured before the prediction and after it, by the load generator that `split` uses and by pgbench.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

import processors
import workload
from workload import NEAR, Place, Server, run, wake_on_time

WORKLOADS = {"select-1": "select 1;\n", "select-only": None, "tpcb-like": None, "aggregate": None}


def main():
    asked = arguments()
    server = Server(shared=asked.shared)
    os.chdir(tempfile.mkdtemp(prefix="split-"))
    for name in asked.workloads:
        cells = [(clients, rtt) for rtt in asked.rtts for clients in asked.clients]
        near = {clients: load(server, asked, name, clients, NEAR) for clients in asked.clients}
        measured = {cell: [] for cell in cells}
        measure(server, asked, name, cells, measured)
        records = split(name, asked)
        measure(server, asked, name, reversed(cells), measured)
        print(f"{name}: {'clients':>7} {'a second':>8}  {'server, by the kernel':>21} {'by split':>8} {'network':>8}")
        for clients in asked.clients:
            print(shares(name, clients, near[clients], records["split", clients, None]))
        print(f"{'':{len(name)}}  {'clients':>7} {'rtt':>5} {'predicted':>9} {'low':>8} {'high':>8}  {'measured':>17} {'error':>7} {'held':>4}  {'pgbench':>8} {'error':>7}")
        for clients, rtt in cells:
            print(cell(name, clients, rtt, records["elsewhere", clients, f"rtt={rtt}"], measured[clients, rtt]), flush=True)


def arguments():
    listed = lambda text: text.split(",")
    parser = argparse.ArgumentParser()
    parser.add_argument("--longwire", required=True)
    parser.add_argument("--workloads", type=listed, default=list(WORKLOADS))
    parser.add_argument("--clients", type=lambda text: [int(part) for part in listed(text)], default=[1, 8, 64])
    parser.add_argument("--rtts", type=listed, default=["1ms", "5ms", "20ms"])
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--visit", default="1s")
    parser.add_argument("--shared", action="store_true", help="server and clients share all processors")
    return parser.parse_args()


def target():
    return f"postgres://{os.environ['PGUSER']}@{os.environ['PGHOST']}:{os.environ['PGPORT']}/{os.environ['PGDATABASE']}"


def split(name, asked):
    """The records of one run, {(type, clients, place): record}."""
    links = [flag for rtt in asked.rtts for flag in ["--link", f"rtt={rtt}"]]
    clients = ",".join(map(str, asked.clients))
    command = [asked.longwire, "split", target(), *NEAR.script(name, WORKLOADS[name]), "-c", clients, "--rounds", str(asked.rounds), "-T", asked.visit, *links, "--json"]
    records = map(json.loads, run(command).stdout.splitlines())
    return {(record["type"], record.get("clients"), record.get("place")): record for record in records}


def measure(server, asked, name, cells, measured):
    for clients, rtt in cells:
        place = Place("pauses", rtt)
        own = load(server, asked, name, clients, place)["per_second"]
        other = workload.load(server, asked.longwire, name, clients, place, asked.seconds, WORKLOADS[name])["per_second"]
        measured[clients, rtt].append((own, other))


def load(server, asked, name, clients, place):
    """Transactions a second of the same load generator as `split` uses, and the clients that are at the server at any time."""
    # Connections are open before its clock begins.
    command = [asked.longwire, "load", target(), *place.script(name, WORKLOADS[name]), "-c", str(clients), "-T", f"{asked.seconds}s", "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=wake_on_time)
    shares = processors.account(server.postmaster, os.path.basename(asked.longwire), clients, asked.seconds, running)
    out, _ = running.communicate()
    summary = next(record for record in map(json.loads, out.splitlines()) if record["type"] == "summary")
    at_server = shares["server"] + shares["server waiting"] if shares else float("nan")
    return {"per_second": summary["per_second"], "at_server": at_server}


def shares(name, clients, near, record):
    part = lambda key: f"{record[key] / record['transaction_ns']:>8.1%}"
    return f"{name}  {clients:>7} {near['per_second']:>8.0f}  {near['at_server'] / clients:>21.1%} {part('server_ns')} {part('network_ns')}"


def cell(name, clients, rtt, record, measured):
    own, other = (statistics.mean(values) for values in zip(*measured))
    runs = " ".join(f"{value:>8.0f}" for value, _ in measured)
    if "refused" in record:
        return f"{name}  {clients:>7} {rtt:>5} refused: {record['refused']}; measured {runs}"
    low, high = (clients / record[key] * 1e9 for key in ["high_ns", "low_ns"])
    predicted = record["per_second"]
    held = "yes" if low <= own <= high else "no"
    return f"{name}  {clients:>7} {rtt:>5} {predicted:>9.0f} {low:>8.0f} {high:>8.0f}  {runs} {predicted / own - 1:>+7.1%} {held:>4}  {other:>8.0f} {predicted / other - 1:>+7.1%}"


main()
