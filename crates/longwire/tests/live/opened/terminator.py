"""A TLS terminator in front of a server: terminator.py PORT. It speaks TLS from the first byte on, as PostgreSQL 17 does with sslnegotiation=direct,
and takes no connection that does not name the protocol `postgresql` (ALPN)."""

import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

with tempfile.TemporaryDirectory() as directory:
    certificate, key = (os.path.join(directory, name) for name in ("certificate", "key"))
    request = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -out".split()
    subprocess.run([*request, certificate, "-keyout", key], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
context.set_alpn_protocols(["postgresql"])
listener = socket.create_server(("127.0.0.1", 0))
print(f"listening on 127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
plain, _ = listener.accept()
plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
client = context.wrap_socket(plain, server_side=True)
assert client.selected_alpn_protocol() == "postgresql"
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))


def replies():
    while data := server.recv(1 << 16):
        client.sendall(data)


threading.Thread(target=replies, daemon=True).start()
try:
    while data := client.recv(1 << 14):
        server.sendall(data)
except (ssl.SSLError, OSError):
    pass
