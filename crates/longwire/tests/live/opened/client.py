"""A client of a database that does the same over TLS, with a key log, and without.

client.py postgres|mariadb PORT plain|1.2|1.3 PASSWORD: the log is SSLKEYLOGFILE's, the cipher of TLS 1.2 is TLS_CIPHER's. With
DIRECT_TLS, PostgreSQL is not asked for TLS: it begins with the first byte, and names the protocol."""

import hashlib
import os
import socket
import ssl
import struct
import sys

protocol, port, version, password = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
connection = socket.create_connection(("127.0.0.1", port))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def receive(count):
    received = b""
    while len(received) < count:
        part = connection.recv(count - len(received))
        assert part, "the server closed the connection"
        received += part
    return received


def encrypt():
    global connection
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.keylog_filename = os.environ["SSLKEYLOGFILE"]
    name = ssl.TLSVersion.TLSv1_2 if version == "1.2" else ssl.TLSVersion.TLSv1_3
    context.minimum_version = context.maximum_version = name
    if os.environ.get("TLS_CIPHER"):
        context.set_ciphers(os.environ["TLS_CIPHER"])
    if DIRECT:
        context.set_alpn_protocols(["postgresql"])
    connection = context.wrap_socket(connection)
    print(connection.version(), connection.cipher()[0])


def postgres():
    def ready():
        while True:
            kind, length = struct.unpack("!ci", receive(5))
            body = receive(length - 4)
            assert kind != b"E", body
            if kind == b"Z":
                return

    if version != "plain":
        if not DIRECT:
            connection.sendall(struct.pack("!ii", 8, 80877103))
            assert receive(1) == b"S"
        encrypt()
    parameters = b"user\0postgres\0database\0postgres\0\0"
    connection.sendall(struct.pack("!ii", 8 + len(parameters), 196608) + parameters)
    ready()
    for statement in STATEMENTS:
        body = statement.encode() + b"\0"
        connection.sendall(b"Q" + struct.pack("!i", 4 + len(body)) + body)
        ready()
    connection.sendall(b"X\0\0\0\4")


def mariadb():
    def packet():
        header = receive(4)
        return receive(header[0] | header[1] << 8 | header[2] << 16)

    def send(number, body):
        connection.sendall(struct.pack("<I", len(body))[:3] + bytes([number]) + body)

    greeting = packet()
    end = greeting.index(b"\0", 1)
    salt = greeting[end + 5 : end + 13] + greeting[end + 32 : end + 44]
    flags = 1 | 8 | 0x200 | 0x2000 | 0x8000 | 0x80000
    number = 1
    if version != "plain":
        flags |= 0x800
        send(number, struct.pack("<IIB23x", flags, 1 << 24, 45))
        number += 1
        encrypt()
    digest = lambda data: hashlib.sha1(data).digest()
    once = digest(password.encode())
    proof = bytes(a ^ b for a, b in zip(once, digest(salt + digest(once))))
    login = struct.pack("<IIB23x", flags, 1 << 24, 45) + b"longwire\0\x14" + proof + b"test\0mysql_native_password\0"
    send(number, login)
    assert packet()[0] == 0
    for statement in STATEMENTS:
        send(0, b"\3" + statement.encode())
        ends = 0
        while ends < 2:
            reply = packet()
            assert reply[0] != 255, reply
            ends += reply[0] == 254 and len(reply) < 9
    send(0, b"\1")


DIRECT = "DIRECT_TLS" in os.environ
STATEMENTS = [f"select {number} as number" for number in range(8)]
STATEMENTS += ["select '" + "x" * 5000 + "' as long_text", "select repeat('y', 70000) as longer"]
{"postgres": postgres, "mariadb": mariadb}[protocol]()
try:
    connection.settimeout(5)
    connection = connection.unwrap() if version != "plain" else connection
except OSError:
    pass
connection.close()
