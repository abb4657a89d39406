"""What naming requests in SQL comments gives: statements of /n1 and /joined that carry names, and that were assigned by them.

Eight clients at once ask each page with a `traceparent`; SQLCOMMENTER is that of the program. Captures stay in KEEP/named.
"""

import argparse
import json
import os
import secrets
import signal
import subprocess
import threading
import urllib.request
from collections import Counter
from pathlib import Path

import drive
import run
import stacks

NAMINGS = [("django", "package"), ("django", "own"), ("fastapi", "own"), ("express", "own"), ("hibernate", "own"), ("go", "own"),
           ("php", "own"), ("sequel", "own")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longwire", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--stacks", nargs="+", default=list(dict(NAMINGS)))
    parser.add_argument("--at-once", type=int, default=8)
    settings = parser.parse_args()
    settings.keep = settings.keep.resolve()
    output = settings.keep / "named"
    output.mkdir(parents=True, exist_ok=True)
    print(f"{'stack':<10} {'naming':<8} {'statements':>10} {'named':>6}   assigned by; names")
    with run.postgres(settings.keep / "postgres"):
        for stack in settings.stacks:
            stacks.prepare(stack, settings.keep)
            for naming in ["none", *(naming for of, naming in NAMINGS if of == stack)]:
                file = output / f"{stack}-{naming}.pcap"
                visit(settings, stack, naming, file)
                count(settings, stack, naming, file)


def visit(settings, stack, naming, file):
    environment = os.environ | {"PGHOST": "127.0.0.1", "PGPORT": str(run.POSTGRES_PORT), "PGUSER": "postgres", "PGDATABASE": "postgres",
                                "PGSSLMODE": "disable", "PORT": str(stacks.HTTP_PORT), "SQLCOMMENTER": naming}
    with run.sniffing(file):
        with open(f"{file}.log", "w", encoding="utf-8") as log:
            program = subprocess.Popen([str(word) for word in stacks.command(stack, settings.keep)], env=environment,
                                       stdout=log, stderr=log, start_new_session=True)
            try:
                drive.wait_until_it_serves(program, "joined")
                threads = [threading.Thread(target=ask) for _ in range(settings.at_once)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            finally:
                os.killpg(program.pid, signal.SIGTERM)
                program.wait()


def ask():
    for page in ["n1", "joined"] * 5:
        parent = f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"
        request = urllib.request.Request(f"http://127.0.0.1:{stacks.HTTP_PORT}/{page}", headers={"traceparent": parent})
        urllib.request.urlopen(request).read()


def count(settings, stack, naming, file):
    said = subprocess.run([settings.longwire, "read", file, "--json", "--exchanges"], capture_output=True, text=True, check=True).stdout
    exchanges = [record for record in map(json.loads, said.splitlines()) if record["type"] == "exchange"]
    statements = [record for record in exchanges if record["protocol"] == "postgres" and "select" in record.get("fingerprint", "").lower()]
    named = [record["tags"] for record in statements if record.get("tags")]
    by = Counter(record.get("assigned", "none") for record in statements)
    keys = sorted({f"{key}={tags[key]}" for tags in named for key in tags if not key.startswith("request")})
    print(f"{stack:<10} {naming:<8} {len(statements):>10} {len(named):>6}   {dict(by)}; {' '.join(keys)}", flush=True)


if __name__ == "__main__":
    main()
