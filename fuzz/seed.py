#!/usr/bin/env python3
"""Writes the recordings of crates/core/wire/tests/data, and captures with their keys inside, as seeds into fuzz/corpus/<target>/."""
import pathlib
import re
import struct

here = pathlib.Path(__file__).parent
# The first byte of an input of `decode` is the decoder's place in PROTOCOLS.
rows = re.findall(r"(\w+)::ROW", (here / "../crates/core/wire/src/lib.rs").read_text())
modules = {"kingbase": "postgres", "oracle": "tns"}
for recording in sorted((here / "../crates/core/wire/tests/data").glob("*/*.stream")):
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
    module = modules.get(recording.parent.name, recording.parent.name)
    seeds = {"open_tls" if recording.stem.startswith("keys-") else "decode_stream": port.to_bytes(2, "big") + seed}
    if module in rows:
        seeds["decode"] = bytes([rows.index(module)]) + seed
    for target, seed in seeds.items():
        folder = here / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{recording.parent.name}-{recording.stem}").write_bytes(seed)


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


# What follows a section's header: an interface with a name and two addresses, the first packets, their keys.
for capture in sorted((here / "../crates/longwire/tests/data/keys").glob("*.pcap")):
    options = struct.pack("<HH4s", 2, 4, b"eth0") + b"".join(
        struct.pack("<HH4s4s", 4, 8, bytes([10, 0, 0, last]), bytes([255, 255, 255, 0])) for last in (2, 3)
    )
    seed = block(1, struct.pack("<HHI", 1, 0, 0) + options)
    packets = capture.read_bytes()[24:]
    for _ in range(8):
        seconds, fraction, captured, wire = struct.unpack_from("<IIII", packets)
        at = seconds * 1_000_000 + fraction
        head = struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, captured, wire)
        seed += block(6, head + packets[16 : 16 + captured])
        packets = packets[16 + captured :]
    keys = capture.with_suffix(".keys").read_bytes()
    seed += block(10, struct.pack("<II", 0x544C534B, len(keys)) + keys)
    folder = here / "corpus" / "read_pcapng"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / capture.stem).write_bytes(seed)
