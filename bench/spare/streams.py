"""Whether a relay changed a byte or an order: the connections of both its legs, out of one capture."""

import collections
import hashlib
import subprocess

FIELDS = ["ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.seq_raw", "tcp.payload"]


class Connection:
    """What its client and its server sent, and who spoke after whom."""

    def __init__(self):
        self.next = {}
        self.sums = {True: hashlib.sha256(), False: hashlib.sha256()}
        self.bytes = {True: 0, False: 0}
        self.turns = []
        self.broken = False

    def add(self, of_client, sequence, data):
        begin = self.next.setdefault(of_client, sequence)
        again = (begin - sequence) % 2**32
        if again >= 2**31:
            self.broken = True  # the capture misses a packet
            again = 0
        fresh = data[again:]
        if not fresh:
            return
        self.next[of_client] = (sequence + len(data)) % 2**32
        self.sums[of_client].update(fresh)
        self.bytes[of_client] += len(fresh)
        if self.turns and self.turns[-1][0] == of_client:
            self.turns[-1][1] += len(fresh)
        else:
            self.turns.append([of_client, len(fresh)])

    def content(self):
        return self.sums[True].hexdigest(), self.sums[False].hexdigest()

    def order(self):
        return self.content(), str(self.turns)


def legs(capture, ports):
    """The connections to each port."""
    found = {port: collections.OrderedDict() for port in ports}
    words = ["tshark", "-r", capture, "-Y", "tcp.len > 0", "-T", "fields", "-o", "tcp.desegment_tcp_streams:FALSE"]
    lines = subprocess.run(words + [word for field in FIELDS for word in ("-e", field)], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        source, source_port, target, target_port, sequence, payload = line.split("\t")
        of_client = int(target_port) in found
        port, peer = (int(target_port), (source, source_port)) if of_client else (int(source_port), (target, target_port))
        if port in found:
            connection = found[port].setdefault(peer, Connection())
            connection.add(of_client, int(sequence), bytes.fromhex(payload))
    return found


def compared(capture, front, back):
    """Connections and bytes at the relay's port and at the server's; how many have no twin with the same bytes, and none with the same turns."""
    found = legs(capture, [front, back])
    sides = [list(found[port].values()) for port in (front, back)]
    result = {"connections": [len(side) for side in sides], "bytes": [sum(sum(one.bytes.values()) for one in side) for side in sides]}
    result["broken"] = sum(one.broken for side in sides for one in side)
    result["turns"] = sum(len(one.turns) for one in sides[0])
    for name, key in (("bytes_differ", Connection.content), ("turns_differ", Connection.order)):
        here, there = (collections.Counter(map(key, side)) for side in sides)
        result[name] = sum(((here - there) + (there - here)).values())
    return result
