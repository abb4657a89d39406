"""Ten documents by ten calls (/loop) or by one (/once), of the server at LONGWIRE_HTTP2_PORT."""

import os

import grpc
import page

counts = {"requests": 0, "replies": 0}
channel = grpc.insecure_channel(f"127.0.0.1:{os.environ['LONGWIRE_HTTP2_PORT']}")


def call(method):
    remote = channel.unary_unary(f"/shop.Cart/{method}")

    def counted(body):
        counts["requests"] += 1
        reply = remote(body, metadata=[("authorization", "kestrel")])
        counts["replies"] += 1
        return reply

    return counted


get, get_all = call("Get"), call("List")
get(b"warm")
pages = {
    "/loop": lambda: [get(b"%d" % number) for number in range(10)],
    "/once": lambda: get_all(b"osprey").split(b";")[:10],
}
page.serve(pages, counts, channel.close)
