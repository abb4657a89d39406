#!/usr/bin/env python3
"""Writes the recordings of crates/wire/tests/data as seeds into fuzz/corpus/<target>/."""
import pathlib

here = pathlib.Path(__file__).parent
targets = {"postgres": "postgres", "kingbase": "postgres", "mysql": "mysql", "redis": "redis", "informix": "informix", "drda": "drda", "oracle": "oracle", "tds": "tds", "http": "http", "fastcgi": "fastcgi", "tls": "tls"}
for recording in sorted((here / "../crates/wire/tests/data").glob("*/*.stream")):
    lines = recording.read_text().split("\n")
    port = int(lines[0].split()[1])
    seed = b""
    for line in filter(None, lines[1:]):
        who, _, payload = line.split(" ", 2)
        flags = 0x80 if who == "S" else 0
        if payload.startswith("hole "):
            seed += bytes([flags | 0x40]) + int(payload.split()[1]).to_bytes(2, "big")
            continue
        payload = bytes.fromhex(payload)
        for start in range(0, len(payload), 65535):
            part = payload[start : start + 65535]
            seed += bytes([flags]) + len(part).to_bytes(2, "big") + part
    for target, seed in (("stream", port.to_bytes(2, "big") + seed), (targets.get(recording.parent.name), seed)):
        if target:
            folder = here / "corpus" / f"decode_{target}"
            if target == "stream" and recording.stem.startswith("keys-"):
                folder = here / "corpus" / "open_tls"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / recording.stem).write_bytes(seed)
