"""gate.py [--since SECONDS]: every check of `make test`, phase after phase, and at the end what each took, the slowest tests and each fault by its name.

A phase that fails does not keep later ones from running: one run shows all faults. Each phase's output is also in target/gate/PHASE.log. Phases that
took a fifth longer than in measurements/gate.tsv are named; that fails nothing, since machines differ.
"""

import os
import re
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LOGS = TARGET / "gate"
BEFORE = ROOT / "measurements" / "gate.tsv"

# Twice as many tests at a time as processors: they wait for servers and links half of their time.
TESTS_AT_ONCE = 2 * len(os.sched_getaffinity(0))
ORACLE = "--features longwire/oracle"
TESTS = f"cargo nextest run --workspace --locked {ORACLE}"

PHASES = [
    ("tools", "scripts/test-tools.sh"),
    ("collector", "scripts/collector.sh"),
    ("object store", "scripts/object-store.sh"),
    ("JDBC bridge", "scripts/jdbc-bridge.sh"),
    ("hidden files", "scripts/hidden-files.sh"),
    ("formatting", "cargo fmt --all --check"),
    ("lints", f"cargo clippy --workspace --all-targets --locked {ORACLE} -- -D warnings"),
    ("without oracle", "cargo check --package longwire --locked"),
    # Checked, not linked: libFuzzer itself is not built, which needs a nightly toolchain and a minute.
    ("fuzz targets", 'CUSTOM_LIBFUZZER_PATH=/dev/null cargo check --manifest-path fuzz/Cargo.toml --locked --target-dir "${CARGO_TARGET_DIR:-target}"'),
    ("links of docs", 'RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links" cargo doc --workspace --no-deps --document-private-items --locked --quiet'),
    ("build", f"{TESTS} --no-run"),
    ("tests", f". scripts/capture-right.sh && {TESTS} --test-threads {TESTS_AT_ONCE}"),
    ("timing", f". scripts/capture-right.sh && {TESTS} --profile timing --run-ignored only"),
    ("dependencies", "scripts/check-dependencies.sh"),
]
# The phases whose tests nextest lists in a file of the profile's name.
PROFILES = {"tests": "default", "timing": "timing"}

# Lines of a phase's output that name its fault.
FAULT = re.compile(r"^(error\b|Diff in |hidden: )")
PLACE = re.compile(r"^\s+--> ")
MOST_FAULTS = 8
SLOWEST = 20


class Phase:
    """What one phase took, and how it ended."""

    def __init__(self, name, seconds, processor, status):
        self.name = name
        self.seconds = seconds
        self.processor = processor
        self.status = status

    @property
    def log(self):
        return LOGS / (self.name.replace(" ", "-") + ".log")

    def faults(self):
        """The lines that name what is wrong; the last ones where none does."""
        lines = self.log.read_text(errors="replace").splitlines()
        # With the line of its place behind it, as compilers print it.
        named = [line.strip() for before, line in zip(["", *lines], lines) if FAULT.match(line) or (PLACE.match(line) and FAULT.match(before))]
        return named[:MOST_FAULTS] or [line.strip() for line in lines if line.strip()][-3:]


def run(name, command):
    """Runs a phase; what it prints is shown and kept."""
    print(f"\n== {name}: {command}", flush=True)
    begin, used = time.monotonic(), processor_seconds()
    phase = Phase(name, 0, 0, 0)
    environment = dict(os.environ, PATH=f"{TARGET / 'tools'}:{os.environ['PATH']}")
    with open(phase.log, "wb") as log, subprocess.Popen(
        ["bash", "-c", command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        for line in process.stdout:
            log.write(line)
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    phase.status = process.returncode
    phase.seconds, phase.processor = time.monotonic() - begin, processor_seconds() - used
    return phase


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def junit(name):
    return TARGET / "nextest" / PROFILES[name] / "junit.xml"


def tests_of(name):
    """Each test of a phase: its name, seconds, and whether it failed. None where the phase ran none."""
    if not junit(name).exists():
        return []
    cases = xml.parse(junit(name)).iter("testcase")
    return [
        (f"{case.get('classname')} {case.get('name')}", float(case.get("time", 0)), any(child.tag in ("failure", "error") for child in case))
        for case in cases
    ]


def before():
    """Seconds of each phase as they were committed."""
    rows = BEFORE.read_text().splitlines() if BEFORE.exists() else []
    cells = [row.split("\t") for row in rows if row and not row.startswith("#")]
    return {name: float(seconds) for name, seconds, *_ in cells}


def print_slowest(tests):
    print(f"\nThe {SLOWEST} slowest tests, in seconds")
    for name, seconds, _ in sorted(tests, key=lambda test: -test[1])[:SLOWEST]:
        print(f"{seconds:7.1f}  {name}")


def print_phases(phases):
    committed = before()
    print(f"\n{'phase':16}{'seconds':>9}{'processor':>11}{'committed':>11}")
    for phase in phases:
        was = committed.get(phase.name)
        longer = was is not None and phase.seconds > 1.2 * was and phase.seconds - was > 2
        mark = "  more than a fifth longer" if longer else ""
        print(f"{phase.name:16}{phase.seconds:9.1f}{phase.processor:11.1f}{'' if was is None else format(was, '.1f'):>11}{mark}")
    total = [sum(phase.seconds for phase in phases), sum(phase.processor for phase in phases)]
    print(f"{'total':16}{total[0]:9.1f}{total[1]:11.1f}")
    rows = [f"{phase.name}\t{phase.seconds:.1f}\t{phase.processor:.1f}" for phase in phases]
    (LOGS / "phases.tsv").write_text("\n".join(rows) + "\n")


def print_faults(phases):
    for phase in phases:
        if phase.status:
            failed = [name for name, _, has_failed in tests_of(phase.name) if has_failed] if phase.name in PROFILES else []
            print(f"\nFAILED: {phase.name} (all it printed: {phase.log})")
            for line in [f"FAIL {name}" for name in failed] or phase.faults():
                print(f"  {line}")


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    for name in PROFILES:
        # Of a run before.
        junit(name).unlink(missing_ok=True)
    phases = []
    if sys.argv[1:2] == ["--since"]:
        phases.append(Phase("packages", time.time() - float(sys.argv[2]), 0, 0))
    try:
        for name, command in PHASES:
            built = all(phase.status == 0 for phase in phases if phase.name == "build")
            if name in PROFILES and not built:
                continue
            phases.append(run(name, command))
    except KeyboardInterrupt:
        print("\nInterrupted.")
    tests = [test for name in PROFILES for test in tests_of(name)]
    print_slowest(tests)
    print_phases(phases)
    print_faults(phases)
    failed = sum(has_failed for _, _, has_failed in tests)
    print(f"\ntests: {len(tests) - failed} passed, {failed} failed")
    complete = len(phases) >= len(PHASES) and not any(phase.status for phase in phases)
    sys.exit(0 if complete and tests and not failed else 1)


main()
