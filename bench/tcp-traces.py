#!/usr/bin/env python3
"""Records how Linux's TCP moves its congestion window: writes to a socket, answers the packets
itself through a tun device, and reads tcpi_snd_cwnd after each acknowledgement.

    unshare --net bench/tcp-traces.py [NAME...]     (root; an idle machine)
"""
import fcntl, heapq, os, platform, select, socket, struct, subprocess, sys, time

QUIET_SECONDS = 1.5  # more than a retransmission timeout here
COARSE, TICK_US = 6, 4000  # CLOCK_MONOTONIC_COARSE; a kernel of 250 Hz
PACKET = 1448  # 1500 less headers of 40 and timestamps of 12 bytes
HERE, PEER, PORT = "10.99.0.1", "10.99.0.2", 7
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../crates/core/link/src/tcp/traces")
CLOCK = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000

def every(milliseconds, times, packets):
    return [(number * milliseconds, packets) for number in range(times)]

# name: round trip in ms (or a function of ms), writes as (ms, packets), and what the network does.
SCENARIOS = {
    "slow-start-grows-by-each-acknowledged-packet": dict(rtt=40, writes=[(0, 300)]),
    "slow-start-with-an-acknowledgement-per-two-packets": dict(rtt=40, writes=[(0, 300)], per_ack=2),
    "a-window-half-used-does-not-grow": dict(rtt=40, writes=every(50, 8, 4)),
    "nine-packets-out-double-the-window": dict(rtt=40, writes=every(50, 6, 9)),
    "idle-time-halves-the-window-per-timeout": dict(rtt=40, writes=[(0, 200), (900, 200), (2500, 60)]),
    "an-unused-window-stays-while-acknowledgements-come": dict(rtt=40, writes=[(0, 200)] + [(300 + 45 * n, 5) for n in range(20)]),
    "slow-start-ends-when-acknowledgements-come-for-half-a-round-trip":
        dict(rtt=40, writes=[(0, 700)], packet_us=740),
    "slow-start-ends-when-round-trips-grow": dict(rtt=100, writes=[(0, 1200)], packet_us=2500),
    "a-loss-keeps-0.7-and-cubic-grows": dict(rtt=40, writes=[(0, 2000)], drop={150: 1}),
    "a-timeout-forgets-cubic":
        dict(rtt=40, writes=[(0, 300), (600, 60), (2000, 1500)], drop={150: 1} | {n: 1 for n in range(330, 359)} | {359: 2}),
    "the-tail-of-a-burst-is-lost-but-its-last-packet":
        dict(rtt=40, writes=[(0, 200), (150, 200), (700, 200)], drop={n: 1 for n in range(370, 399)}),
    "the-tail-of-a-burst-is-lost-and-probed":
        dict(rtt=40, writes=[(0, 200), (150, 200), (900, 200)], drop={n: 1 for n in range(370, 400)}),
    "a-packet-sent-again-and-acknowledged-shows-the-lost-tail":
        dict(rtt=40, writes=[(0, 200), (150, 200), (900, 200)], drop={350: 1} | {n: 1 for n in range(380, 400)}),
    "idle-time-moves-the-epoch":
        dict(rtt=40, writes=[(0, 400)] + [(900 + 200 * n, 120) for n in range(14)], drop={150: 1}),
    "idle-time-moves-the-epoch-after-a-loss":
        dict(rtt=40, writes=[(0, 700)] + [(800 + 240 * n, 150) for n in range(10)], drop={400: 1}),
    "round-trips-in-the-first-second-of-an-epoch-are-ignored":
        dict(rtt=lambda ms: 120 if ms < 700 else 20, writes=[(0, 2500)], drop={150: 1}),
    "two-losses-close-together-lower-the-goal": dict(rtt=40, writes=[(0, 2500)], drop={150: 1, 600: 1}),
    "bbr-fills-the-pipe-and-drains-it": dict(rtt=40, writes=[(0, 900)], packet_us=1000, control="bbr"),
    "bbr-keeps-its-window-in-a-pause": dict(rtt=40, writes=[(0, 60), (900, 60), (1900, 60)], control="bbr"),
}

def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF

class Peer:
    """The receiving host: in-order bytes, selective acknowledgements, drops and delays."""

    def __init__(self, device, scenario):
        self.device, self.scenario = device, scenario
        self.received, self.beyond = 0, set()
        self.transmissions, self.waiting, self.wire_free, self.stamp = {}, 0, 0, 0
        self.echo = 0

    def send(self, flags, acked, blocks=(), opening=b""):
        options = opening or b"\x01\x01\x08\x0a" + struct.pack("!II", self.stamp & 0xFFFFFFFF, self.echo)
        if blocks:
            options += b"\x01\x01\x05" + bytes([2 + 8 * len(blocks)])
            options += b"".join(struct.pack("!II", *map(self.sequence, block)) for block in blocks)
        acknowledged = self.sequence(acked) if not opening else self.first
        sequence = 1000 if opening else 1001
        header = struct.pack("!HHIIBBHHH", PORT, self.port, sequence, acknowledged,
                             (20 + len(options)) // 4 << 4, flags, 65535, 0, 0) + options
        addresses = socket.inet_aton(PEER) + socket.inet_aton(HERE)
        pseudo = addresses + struct.pack("!BBH", 0, 6, len(header))
        header = header[:16] + struct.pack("!H", checksum(pseudo + header)) + header[18:]
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(header), 0, 0x4000, 64, 6, 0) + addresses
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        os.write(self.device, ip + header)

    def sequence(self, packets):
        return (self.first + packets * PACKET) & 0xFFFFFFFF

    def opens(self, segment):
        self.port, self.first = struct.unpack("!H", segment[:2])[0], struct.unpack("!I", segment[4:8])[0] + 1
        at = segment.index(b"\x08\x0a", 20)
        self.echo = struct.unpack("!I", segment[at + 2:at + 6])[0]
        opening = b"\x02\x04\x05\xb4\x04\x02\x08\x0a" + struct.pack("!II", 1, self.echo) + b"\x01\x03\x03\x0a"
        return opening

    def arrives(self, segment, now, start):
        """Returns when and what to acknowledge for a data packet, or nothing."""
        offset, length = (segment[12] >> 4) * 4, len(segment)
        payload = length - offset
        if payload <= 0:
            return None
        assert payload == PACKET, payload
        number = ((struct.unpack("!I", segment[4:8])[0] - self.first) & 0xFFFFFFFF) // PACKET
        echo = struct.unpack("!I", segment[24:28])[0]
        self.transmissions[number] = self.transmissions.get(number, 0) + 1
        if self.transmissions[number] <= self.scenario.get("drop", {}).get(number, 0):
            return None
        self.wire_free = max(self.wire_free, now) + self.scenario.get("packet_us", 0)
        rtt = self.scenario["rtt"]
        rtt = rtt((now - start) / 1000) if callable(rtt) else rtt
        return self.wire_free + rtt * 1000, number, echo

    def acknowledge(self, number, echo):
        """Acknowledges packet `number`; returns the event as written to the trace."""
        if number > self.received:
            self.beyond.add(number)
            low = high = number
            while low - 1 in self.beyond: low -= 1
            while high + 1 in self.beyond: high += 1
            self.send(0x10, self.received, [(low, high + 1)])
            return f"beyond {number + 1}"
        self.echo = echo
        if number == self.received:
            self.received += 1
            self.waiting += 1
            while self.received in self.beyond:
                self.beyond.discard(self.received)
                self.received += 1
                self.waiting = self.scenario.get("per_ack", 1)
        if self.waiting < self.scenario.get("per_ack", 1):
            return None
        self.waiting = 0
        blocks, left = [], sorted(self.beyond)
        if left:
            high = left[0]
            while high + 1 in self.beyond: high += 1
            blocks = [(left[0], high + 1)]
        self.send(0x10, self.received, blocks)
        return f"ack {self.received}"

class Clock:
    """Microseconds since a tick of the kernel's clock, in which cubic counts. A time just after a
    tick that the kernel has not yet processed is that of the tick before."""

    def __init__(self):
        before = self.coarse()
        while self.coarse() == before: pass
        self.first, self.first_coarse = CLOCK(), self.coarse()

    def coarse(self):
        return time.clock_gettime_ns(COARSE) // 1000

    def read(self):
        ticks = round((self.coarse() - self.first_coarse) / TICK_US)
        return min(max(CLOCK() - self.first, ticks * TICK_US), (ticks + 1) * TICK_US - 1)

def window(sender):
    info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    unacked, sacked, lost, resent = struct.unpack("4I", info[24:40])
    return STATES[info[1]], struct.unpack("I", info[80:84])[0], unacked - sacked - lost + resent

STATES = {0: "open", 1: "disorder", 2: "reducing", 3: "recovery", 4: "loss"}

def record(scenario):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, 0x400454CA, struct.pack("16sH", b"trace", 0x1001))
    for command in ["ip link set lo up", f"ip addr add {HERE}/24 dev trace",
                    "ip link set trace up mtu 1500 txqueuelen 20000 gso_max_segs 1",
                    "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv4.tcp_no_metrics_save=1"
                    " net.ipv4.tcp_slow_start_after_idle=1"]:
        subprocess.run(command.split(), check=True)
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, scenario.get("control", "cubic").encode())
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sender.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE
    sender.setblocking(False)
    sender.connect_ex((PEER, PORT))
    clock = Clock()
    peer, trace, order, start = Peer(device, scenario), [], 0, None
    events = []  # (when, order, kind, data)
    def later(when, *what):
        nonlocal order
        order += 1
        heapq.heappush(events, (when, order, *what))
    while True:
        wait = (events[0][0] - CLOCK()) / 1e6 if events else QUIET_SECONDS
        if wait > 0.0002 and not select.select([device], [], [], wait - 0.0001)[0] and not events:
            return trace
        while True:
            try: packet = os.read(device, 65536)
            except BlockingIOError: break
            if packet[0] >> 4 != 4 or packet[9] != 6: continue
            segment, now = packet[20:], CLOCK()
            if segment[13] & 0x02:
                opening = peer.opens(segment)
                later(now + 1000 * (scenario["rtt"](0) if callable(scenario["rtt"]) else scenario["rtt"]), "open", opening)
            else:
                ack = peer.arrives(segment, now, start or now)
                if ack: later(ack[0], "ack", ack[1:])
        if not events or CLOCK() < events[0][0]: continue
        due, _, kind, data = heapq.heappop(events)
        if kind == "open":
            peer.send(0x12, 0, opening=data)
            peer.echo, start = 0, CLOCK()
            for at, packets in scenario["writes"]: later(start + at * 1000, "write", packets)
        elif kind == "write":
            at = clock.read()
            sender.send(bytes(PACKET * data))
            trace.append((at, f"write {data}", window(sender)))
        else:
            peer.stamp += 1
            at = clock.read()
            what = peer.acknowledge(*data)
            if what: trace.append((at, what, window(sender)))

def main():
    os.makedirs(OUT, exist_ok=True)
    for name in sys.argv[1:] or SCENARIOS:
        child = os.fork()
        if child == 0:
            trace = record(SCENARIOS[name])
            with open(os.path.join(OUT, name + ".txt"), "w") as out:
                rtt = SCENARIOS[name]["rtt"]
                first = rtt(0) if callable(rtt) else rtt
                print(f"# Linux {platform.release().split(chr(45))[0]}, {SCENARIOS[name].get('control', 'cubic')}, {PACKET} bytes a packet, round trip {first} ms", file=out)
                print("# us event packets -> window in-flight state", file=out)
                for at, what, (state, packets, in_flight) in trace:
                    print(f"{at} {what} -> {packets} {in_flight} {state}", file=out)
            os._exit(0)
        if os.waitpid(child, 0)[1]: sys.exit(f"{name} failed")
        print(name, file=sys.stderr)

main()
