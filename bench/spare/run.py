"""Proves a finding by sparing, and measures what its real fix gives, near and behind longwire's own link. See ../spare.sh"""

import argparse
import contextlib
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
REMEDIES = HERE.parent / "remedies"
sys.path.insert(0, str(REMEDIES))
from hosts import CLIENT, PREFIX, WEB, Hosts, inside, run  # noqa: E402
from servers import Servers, until  # noqa: E402
import streams  # noqa: E402

ADDRESS, NEAR = "10.88.1.2", "0ms"
POSTGRES, MARIADB = "postgres://pages:pages@10.88.2.2/pages", "mysql://pages:pages@10.88.2.2/pages"
PYTHON, NODE = ["{keep}/python/bin/python"], ["node", "{keep}/node/app.js"]
# Without nodelay the JDK's HTTP server waits 40 ms for a delayed acknowledgement, near more often than far.
JAVA = ["java", "-Dsun.net.httpserver.nodelay=true", "-cp", "{keep}/java/*:{keep}/java", "Pages"]
# Each: how it is started, its database, the page before and after the fix, the finding (kind, and a part of its statement), the fix, and how many
# round trips less it asks for.
APPS = {
    "django": ([*PYTHON, "{remedies}/python/orders.py"], POSTGRES, "/page", "/joined", ("n+1", "customers"), "select_related", 40),
    "express": (NODE, MARIADB, "/list", "/joined", ("n+1", "customers"), "join", 40),
    "pgjdbc": (JAVA, POSTGRES, "/rows", "/batch", ("row-by-row", "insert"), "batch", 29),
    "pdo": (["{remedies}/php/start.sh"], MARIADB, "/page", "/mended", ("reconnect", ""), "kept connection", 2),
    "sqlalchemy": ([*PYTHON, "{remedies}/python/units.py"], MARIADB, "/fresh", "/mended", ("reconnect", ""), "pool", 36),
    "mysql2": (NODE, MARIADB, "/fresh", "/pooled", ("reconnect", ""), "pool", 3),
    "at-once": (NODE, MARIADB, "/at-once", "/one", ("n+1", "orders"), "one IN query", 23),
}


class Instance:
    """One process of an application behind a relay of its own, for itself and for its database."""

    def __init__(self, settings, app, place, port, command="relay", more=()):
        start, target, self.before, self.after, _, _, _ = APPS[app]
        self.port, scheme = port + 1, target.partition(":")[0]
        self.log = settings.keep / "runs" / f"{app}-{place}"
        words = [settings.longwire, command, f"http://{ADDRESS}:{port}", target, "--listen", f"http={ADDRESS}:{port + 1}",
                 "--listen", f"{scheme}={ADDRESS}:{port + 2}", "--json", *more]
        words += ["--", *(part.format(remedies=REMEDIES, keep=settings.keep) for part in start), port]
        with open(f"{self.log}.json", "w") as out, open(f"{self.log}.err", "w") as err:
            self.process = subprocess.Popen([str(word) for word in inside(WEB, *words)], stdout=out, stderr=err)
        until(self.serves, 60)

    def serves(self):
        if self.process.poll() is not None:
            sys.exit(f"{self.log}: ended with {self.process.returncode}\n" + pathlib.Path(f"{self.log}.err").read_text()[-2000:])
        return self.asked(1, self.before, self.after, check=False).returncode == 0

    def asked(self, count, *paths, check=True):
        words = [sys.executable, "-B", REMEDIES / "drive.py", self.port, count, *paths]
        return subprocess.run([str(word) for word in inside(CLIENT, *words)], capture_output=True, text=True, check=check)

    def times(self, count, *paths):
        return json.loads(self.asked(count, *paths).stdout)

    def ended(self):
        """The records of its relay."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(20)
        lines = pathlib.Path(f"{self.log}.json").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


@contextlib.contextmanager
def instance(*arguments, **more):
    one = Instance(*arguments, **more)
    try:
        yield one
    finally:
        one.ended()


def linked(place):
    return () if place == NEAR else ("--link", place)


def fixes(settings, app, port):
    """Times of the page before and after its fix, near and far, in alternating blocks: {place: {"before": [block, ...], "after": [...]}}."""
    places = [NEAR, *settings.links]
    blocks = {place: {"before": [], "after": []} for place in places}
    with contextlib.ExitStack() as stack:
        running = {place: stack.enter_context(instance(settings, app, place, port + 10 * n, more=linked(place))) for n, place in enumerate(places)}
        for one in running.values():
            one.times(settings.warm, one.before, one.after)
        for number in range(settings.blocks):
            for place in places if number % 2 == 0 else reversed(places):
                one = running[place]
                times = one.times(settings.count, one.before, one.after)
                blocks[place]["before"].append(times[one.before])
                blocks[place]["after"].append(times[one.after])
    return blocks


def emulated(settings, app, hosts, port):
    """The same blocks behind an emulator that is not longwire's (bench/products/reflink.c); the far ones under the round trip that ping measures."""
    blocks = {}
    places = [0, *map(milliseconds, settings.links)]
    for place in [*places, *reversed(places)]:
        pinged = hosts.far(place) if place else hosts.near()
        with instance(settings, app, f"emulated-{place}", port) as one:
            one.times(settings.warm, one.before, one.after)
            times = one.times(settings.blocks * settings.count // 2, one.before, one.after)
        cell = blocks.setdefault(str(place), {"pinged": [], "before": [], "after": []})
        cell["pinged"].append(pinged)
        cell["before"].append(times[one.before])
        cell["after"].append(times[one.after])
    return blocks


def spared(settings, app, place, port):
    """What sparing proves: the relay's own record of it."""
    _, target, before, _, (kind, _), _, _ = APPS[app]
    more = [*linked(place), "--spare", settings.spare or kind]
    with instance(settings, app, f"spare-{place}", port, more=more) as one:
        one.times(settings.warm, before)
        with sniffed(one) as capture:
            one.times(2 * settings.blocks * settings.count, before)
    found = [record for record in one.ended() if record["type"] == "spared" and record["operation_name"] == f"GET {before}"]
    port_of_server = 5432 if target == POSTGRES else 3306
    return {"record": found[0] if found else None, "streams": streams.compared(capture, one.port + 1, port_of_server)}


def proved(settings, app, place, port):
    """What `watch --prove` chooses, promises and proves by itself: its records, the control too."""
    before = APPS[app][2]
    with instance(settings, app, f"prove-{place}", port, command="watch", more=[*linked(place), "--prove"]) as one:
        one.times(settings.warm + 20 + 4 * settings.blocks * settings.count, before)
    return [record for record in one.ended() if record["type"] == "spared" and record["operation_name"] == f"GET {before}"]


@contextlib.contextmanager
def sniffed(one):
    """All packets of both legs while the block runs."""
    path = f"{one.log}.pcap"
    words = inside(WEB, "tcpdump", "-q", "-U", "-B", "65536", "-i", "any", "-w", path, "tcp")
    capture = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    time.sleep(1)
    try:
        yield path
    finally:
        time.sleep(1)
        capture.terminate()
        capture.wait()


def promised(settings, app, port):
    """What `read` promises of the fix, for each link: the page's duration, what mending the findings saves, both in ms."""
    _, _, before, _, (kind, statement), _, _ = APPS[app]
    recording = settings.keep / "runs" / f"{app}.lwr"
    recording.unlink(missing_ok=True)
    with instance(settings, app, "watch", port, command="watch", more=["-o", str(recording)]) as one:
        one.times(settings.warm + settings.count, before)
    lines = run(settings.longwire, "read", recording, "--json", "--rtt", ",".join(settings.links), capture_output=True, text=True).stdout.splitlines()
    (recording.with_suffix(".read.json")).write_text("\n".join(lines))
    found = [record for record in map(json.loads, lines) if record["type"] == "finding" and record["kind"] == kind]
    found = [one for one in found if statement in one.get("fingerprint", "") and one["operation_name"] == f"GET {before}"]
    promises = {}
    for place in settings.links:
        here = [one for one in found if one.get("rtt_ns") == milliseconds(place) * 1e6 and one.get("saves_ns")]
        promises[place] = sum(one["saves_ns"] / one["operations"] for one in here) / 1e6 if here else None
    return promises


def milliseconds(place):
    return float(place.removesuffix("ms"))


def measure(settings, apps):
    hosts = Hosts(str(settings.keep / "reflink"))
    servers = None
    (settings.keep / "runs").mkdir(exist_ok=True)
    try:
        servers = Servers(f"/var/tmp/longwire-{PREFIX}")
        for app in apps:
            path = settings.keep / f"{app}.json"
            kept = json.loads(path.read_text()) if path.exists() else {}
            if "fixes" in settings.parts:
                kept["fixes"] = fixes(settings, app, 8000)
            if "promise" in settings.parts:
                kept["promise"] = promised(settings, app, 8100)
            if "spare" in settings.parts:
                kept["spare"] = {place: spared(settings, app, place, 8200 + 10 * n) for n, place in enumerate(settings.links)}
            if "prove" in settings.parts:
                kept["prove"] = {place: proved(settings, app, place, 8400 + 10 * n) for n, place in enumerate(settings.links)}
            if "emulator" in settings.parts and app == settings.emulated:
                kept["emulator"] = emulated(settings, app, hosts, 8300)
            path.write_text(json.dumps(kept))
    finally:
        if servers:
            servers.stop()
        hosts.gone()


def median_of(blocks):
    """The median, and the difference of the halves' medians."""
    half = len(blocks) // 2
    medians = [statistics.median(one for block in part for one in block) for part in (blocks[:half], blocks[half:], blocks)]
    return medians[2], abs(medians[0] - medians[1])


def table(settings, apps):
    print(f"{'application':<12}{'fix':<16}{'link':>5}{'before(0)':>10}{'after(0)':>9}{'before':>9}{'after':>8}{'whole':>9}{'distance':>9}{'halves':>8}"
          f"{'proved':>9}  {'interval':<18}{'error':>8}{'promised':>10}{'N x rtt':>9}")
    errors = []
    for app in apps:
        kept = json.loads((settings.keep / f"{app}.json").read_text())
        at = {place: {name: median_of(blocks) for name, blocks in pages.items()} for place, pages in kept.get("fixes", {}).items()}
        for place in settings.links if at else ():
            values = [at[NEAR]["before"], at[NEAR]["after"], at[place]["before"], at[place]["after"]]
            (before_0, _), (after_0, _), (before, _), (after, _) = values
            whole, halves = before - after, sum(one for _, one in values)
            distance = whole - (before_0 - after_0)
            promise = kept.get("promise", {}).get(place)
            print(f"{app:<12}{APPS[app][5]:<16}{place:>5}{before_0:>10.2f}{after_0:>9.2f}{before:>9.2f}{after:>8.2f}{whole:>9.2f}{distance:>9.2f}{halves:>8.2f}"
                  f"{proof(kept, place, distance, errors)}{number(promise):>10}{number(APPS[app][6] * milliseconds(place)):>9}")
        for place, cell in kept.get("emulator", {}).items():
            if place != "0":
                emulated_line(app, kept["emulator"]["0"], cell)
    for app in apps:
        for place, records in json.loads((settings.keep / f"{app}.json").read_text()).get("prove", {}).items():
            for record in records:
                print(f"watch --prove, {app}, {place}: {by_itself(record)}")
    for app in apps:
        for place, cell in json.loads((settings.keep / f"{app}.json").read_text()).get("spare", {}).items():
            print(f"both legs of {app}, {place}: {carried(cell['streams'])}")
    if errors:
        sizes = sorted(map(abs, errors))
        print(f"proved against the distance's part: median error {statistics.median(sizes):.1f} %, worst {sizes[-1]:.1f} %")


def by_itself(record):
    times = {key: record[key] / 1e6 for key in ("promised_ns", "saves_ns", "saves_low_ns", "saves_high_ns") if key in record}
    words = [record.get("finding", ""), record["spared"], f"promised {number(times.get('promised_ns'))}"]
    words.append(f"proved {number(times.get('saves_ns'))} ({number(times.get('saves_low_ns'))} to {number(times.get('saves_high_ns'))})")
    return "  ".join([*words, f"{record['operations']} and {record['operations_spared']} operations", record.get("refusal", "")])


def carried(legs):
    connections, sizes = (" and ".join(map(str, legs[key])) for key in ("connections", "bytes"))
    return f"{connections} connections, {sizes} bytes, {legs['turns']} turns; without a twin of the same bytes {legs['bytes_differ']}, of the same turns {legs['turns_differ']}"


def emulated_line(app, near, cell):
    before_0, after_0, before, after = (median_of(one) for one in (near["before"], near["after"], cell["before"], cell["after"]))
    whole, pinged = before[0] - after[0], statistics.mean(cell["pinged"])
    distance, halves = whole - (before_0[0] - after_0[0]), sum(one for _, one in (before_0, after_0, before, after))
    print(f"{app:<12}{'other emulator':<16}{pinged:>5.2f}{before_0[0]:>10.2f}{after_0[0]:>9.2f}{before[0]:>9.2f}{after[0]:>8.2f}{whole:>9.2f}{distance:>9.2f}{halves:>8.2f}")


def number(value):
    return "-" if value is None else f"{value:.2f}"


def proof(kept, place, distance, errors):
    record = kept.get("spare", {}).get(place, {}).get("record")
    if not record or record.get("saves_ns") is None:
        return f"{'-':>9}  {(record or {}).get('refusal', '-'):<18}{'-':>8}"
    saved, low, high = (record[key] / 1e6 for key in ("saves_ns", "saves_low_ns", "saves_high_ns"))
    errors.append(100 * (saved / distance - 1))
    return f"{saved:>9.2f}  {f'{low:.2f} to {high:.2f}':<18}{errors[-1]:>+6.1f} %"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--longwire", type=pathlib.Path, required=True)
    arguments.add_argument("--keep", type=pathlib.Path, required=True)
    arguments.add_argument("--apps", default=",".join(APPS))
    arguments.add_argument("--spare", help="instead of the finding's kind")
    arguments.add_argument("--emulated", default="django", help="the application that is measured behind another emulator too")
    arguments.add_argument("--links", default="5ms,20ms")
    arguments.add_argument("--parts", default="fixes,promise,spare,prove,emulator", help="measured anew; what is left out is taken from the last run")
    arguments.add_argument("--count", type=int, default=8, help="requests of each page in a block")
    arguments.add_argument("--blocks", type=int, default=4)
    arguments.add_argument("--warm", type=int, default=4)
    settings = arguments.parse_args()
    settings.links, settings.parts = settings.links.split(","), [part for part in settings.parts.split(",") if part]
    apps = settings.apps.split(",")
    if settings.parts:
        measure(settings, apps)
    table(settings, apps)


if __name__ == "__main__":
    main()
