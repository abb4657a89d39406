"""What toxiproxy's Python client (PyPI: toxiproxy-python) does, done to longwire. Arguments: the API's port, the port of a Redis."""

import socket
import sys
import time

from toxiproxy import Toxiproxy
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

api_port, redis_port = sys.argv[1:]
upstream = f"127.0.0.1:{redis_port}"


def connected(proxy):
    host, port = proxy.listen.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=20)


def ping(connection):
    began = time.monotonic()
    connection.sendall(b"PING\r\n")
    answer = connection.recv(100)
    return answer, time.monotonic() - began


def refused(error, work):
    try:
        work()
    except error:
        return
    raise AssertionError(f"{error.__name__} was expected")


server = Toxiproxy()
server.update_api_consumer("127.0.0.1", int(api_port))
assert server.running()
assert b"2.12.0" in server.version()
assert server.proxies() == {}

proxy = server.create(upstream=upstream, name="redis")
assert not proxy.listen.endswith(":0"), proxy.listen
assert server.get_proxy("redis").upstream == upstream
refused(ProxyExists, lambda: server.create(upstream=upstream, name="redis"))

connection = connected(proxy)
assert ping(connection)[0] == b"+PONG\r\n"
proxy.add_toxic(type="latency", attributes={"latency": 100, "jitter": 0})
answer, took = ping(connection)
assert answer == b"+PONG\r\n" and took >= 0.1, took
assert proxy.get_toxic("latency_downstream").attributes == {"latency": 100, "jitter": 0}
proxy.destroy_toxic("latency_downstream")
assert proxy.toxics() == {}
refused(NotFound, lambda: proxy.destroy_toxic("latency_downstream"))
refused(InvalidToxic, lambda: proxy.add_toxic(type="gremlin"))

proxy.add_toxic(type="limit_data", stream="downstream", toxicity=1.0, attributes={"bytes": 3})
connection.sendall(b"PING\r\n")
assert connection.recv(100) == b"+PO" and connection.recv(100) == b""
assert server.reset()

with proxy.down():
    refused(ConnectionRefusedError, lambda: connected(proxy))
assert ping(connected(proxy))[0] == b"+PONG\r\n"

populated = server.populate([{"name": "more", "upstream": upstream, "listen": "127.0.0.1:0"}])
assert ping(connected(populated[0]))[0] == b"+PONG\r\n"
server.destroy_all()
assert server.proxies() == {}
print("python client: done")
