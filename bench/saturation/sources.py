"""Where the error of a prediction comes from: the model, the emulator and the load, or the machine. See bench/saturation.sh.

Each cell is measured twice with pauses (a distance that costs no processor time) and twice behind the emulated link, in turn, from one capture.
What a run differs from its own repetition is the machine's; what the pauses' prediction is off by is the model's; what the link adds to that is
the emulator's. Next to it, what each used of its processor.
"""

import argparse
import json
import os
import statistics
import tempfile

from workload import NAMES, NEAR, Place, Server, captured, load, prediction


def main():
    asked = arguments()
    server = Server()
    kept = asked.keep or tempfile.mkdtemp()
    os.chdir(kept)
    for name in asked.workloads:
        cells = {}
        for number in range(asked.rounds):
            for clients, rtt in asked.cells:
                capture = f"{name}-{clients}-{rtt}-{asked.first + number}.pcap"
                found = measured(asked, server, name, clients, rtt, capture)
                cells.setdefault((clients, rtt), []).append(found)
                with open(capture.replace("pcap", "json"), "w") as file:
                    json.dump(found, file)
                if not asked.keep:
                    os.remove(capture)
        show(name, cells)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--longwire", required=True)
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=NAMES)
    parser.add_argument("--cells", type=cell_list, default=[(16, "1ms"), (64, "1ms"), (64, "5ms")], help="CLIENTS@RTT,...")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first round, for --keep")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--keep", help="a folder for captures and results")
    return parser.parse_args()


def cell_list(text):
    cells = (cell.split("@") for cell in text.split(","))
    return [(int(clients), rtt) for clients, rtt in cells]


def measured(asked, server, name, clients, rtt, capture):
    found = {"alone": captured(server, asked.longwire, name, asked.seconds, capture)}
    found["near"] = load(server, asked.longwire, name, clients, NEAR, asked.seconds)
    for kind in ["pauses", "link"] * 2:
        again = load(server, asked.longwire, name, clients, Place(kind, rtt), asked.seconds)
        found.setdefault(kind, []).append(again)
    record = prediction(asked.longwire, capture, clients, rtt)
    computing = prediction(asked.longwire, capture, 1, rtt, ["--wake-up", "none"])
    found["predicted"] = record["mean_ns"] / 1e6
    found["record"], found["record_alone"] = record, computing
    return found


def show(name, cells):
    print(name)
    print(f"{'clients':>8} {'rtt':>5} {'pauses':>8} {'link':>8} {'predicted':>9} {'to pauses':>9} {'to link':>8} {'again':>13}  us a transaction: server alone, near, pauses, link; load pauses, link; emulator  busy: server, other processor")
    for (clients, rtt), runs in cells.items():
        middle = lambda value: statistics.median(value(run) for run in runs)
        pauses, link = (middle(lambda run: statistics.mean(one["mean"] for one in run[kind])) for kind in ["pauses", "link"])
        predicted = middle(lambda run: run["predicted"])
        again = [middle(lambda run: run[kind][1]["mean"] / run[kind][0]["mean"] - 1) for kind in ["pauses", "link"]]
        us = lambda one, group: one["shares"].get(group, 0) / one["per_second"] * 1e6
        used = lambda kind, group: middle(lambda run: us(run[kind] if isinstance(run[kind], dict) else run[kind][0], group))
        busy = lambda groups: middle(lambda run: sum(run["link"][1]["shares"].get(group, 0) for group in groups))
        print(
            f"{clients:>8} {rtt:>5} {pauses:>8.2f} {link:>8.2f} {predicted:>9.2f} {predicted / pauses - 1:>+9.1%} {predicted / link - 1:>+8.1%} {again[0]:>+6.1%} {again[1]:>+6.1%}  "
            f"{used('alone', 'server'):.0f} {used('near', 'server'):.0f} {used('pauses', 'server'):.0f} {used('link', 'server'):.0f};  "
            f"{used('pauses', 'load'):.0f} {used('link', 'load'):.0f}; {used('link', 'link'):.0f}  {busy(['server']):.2f} {busy(['load', 'link', 'rest']):.2f}",
            flush=True,
        )
    print()


main()
