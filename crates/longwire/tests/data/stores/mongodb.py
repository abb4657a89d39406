"""Ten documents by ten commands (/loop) or by one (/once), of the server at LONGWIRE_MONGODB_PORT."""

import os

import page
import pymongo
from pymongo import monitoring

counts = {"requests": 0, "replies": 0}


class Counted(monitoring.CommandListener):
    def started(self, event):
        counts["requests"] += 1

    def succeeded(self, event):
        counts["replies"] += 1

    failed = succeeded


encryption = {"tls": True, "tlsCAFile": os.environ["AUTHORITY"]} if "AUTHORITY" in os.environ else {}
client = pymongo.MongoClient("127.0.0.1", int(os.environ["LONGWIRE_MONGODB_PORT"]), event_listeners=[Counted()], **encryption)
items = client.shop.items
items.drop()
items.insert_many([{"_id": number, "name": "osprey"} for number in range(10)])
pages = {
    "/loop": lambda: [items.find_one({"_id": number}) for number in range(10)],
    "/once": lambda: list(items.find({"_id": {"$in": list(range(10))}})),
}
page.serve(pages, counts, client.close)
