"""Processor time of the server, of the load and of the emulator while a load runs: /proc/PID/task/TID/schedstat, in nanoseconds.

Counted over a window in which all connections are open, so that neither their setup nor their end is in it. The kernel charges its work
on packets (soft interrupts) to the thread that it interrupts.
"""

import os
import time

# A thread of the emulator that only keeps a processor awake gets what is left by all others.
AWAKE = "longwire awake"
# After the last connection is open, and before the end; seconds.
SETTLE, SPARE = 0.2, 0.8


def children(parent):
    """The processes that this one started and that have not ended."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = read(f"{name}/stat").rsplit(")", 1)[-1].split()
        if fields and int(fields[1]) == parent:
            found.append(int(name))
    return found


def sessions(postmaster):
    """The server's processes that serve a connection over TCP."""
    return [process for process in children(postmaster) if "127.0.0.1(" in read(f"{process}/cmdline")]


def account(postmaster, emulator, clients, seconds, running):
    """The share of a processor that each group used while `running` served all clients; None where it ended too soon.

    "server waiting" is how many sessions waited for the processor, on average. `emulator`: the name of its process.
    """
    while len(sessions(postmaster)) < clients:
        if running.poll() is not None:
            return None
        time.sleep(0.01)
    time.sleep(SETTLE)
    groups = dict.fromkeys([postmaster, *children(postmaster)], "background")
    groups.update(dict.fromkeys(sessions(postmaster), "server"))
    began, before = time.monotonic(), used(groups, emulator)
    time.sleep(max(0.3, seconds - SETTLE - SPARE))
    ended, after = time.monotonic(), used(groups, emulator)
    if running.poll() is not None:
        return None
    shares = {}
    for counted, (group, until) in after.items():
        in_window = until - before.get(counted, (group, 0))[1]
        shares[group] = shares.get(group, 0) + in_window / (ended - began)
    return shares


def used(server, emulator):
    """Processor time so far, {thread: (group, seconds)}, and time in which threads of the server waited for it; and what the host took from this machine. `server`: {process: group}."""
    found, groups = {}, {"pgbench": "load", emulator: "link"}
    for process in filter(str.isdigit, os.listdir("/proc")):
        own = server.get(int(process)) or groups.get(read(f"{process}/comm").strip(), "rest")
        try:
            threads = os.listdir(f"/proc/{process}/task")
        except OSError:
            continue
        for thread in threads:
            is_awake = own == "link" and read(f"{process}/task/{thread}/comm").strip() == AWAKE
            ran, waited = (int(nanos) / 1e9 for nanos in (read(f"{process}/task/{thread}/schedstat") or "0 0 0").split()[:2])
            found[thread] = "awake" if is_awake else own, ran
            if own == "server":
                found[thread + " waiting"] = "server waiting", waited
    found["steal"] = "stolen", int(read("stat").split()[8]) / os.sysconf("SC_CLK_TCK")
    return found


def read(path):
    """The text of a file of /proc; empty when what it is about has ended."""
    try:
        with open(f"/proc/{path}") as file:
            return file.read()
    except OSError:
        return ""
