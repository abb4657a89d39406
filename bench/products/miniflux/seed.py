"""seed.py BASE seed: 8 categories and 40 feeds of 4 entries, a third of them read.
seed.py BASE sign-in: for each of four clients its cookie, key, feed and entry (vars.json)."""
import base64
import json
import re
import sys
import time
import urllib.parse
import urllib.request

BASE = sys.argv[1]
BASIC = "Basic " + base64.b64encode(b"admin:demo-password").decode()


def call(method, path, body=None):
    headers = {"Authorization": BASIC, "Content-Type": "application/json"}
    request = urllib.request.Request(BASE + path, json.dumps(body).encode() if body else None, headers, method=method)
    answer = urllib.request.urlopen(request).read()
    return json.loads(answer) if answer else None


def seed():
    categories = [call("POST", "/v1/categories", {"title": f"Subject {number}"})["id"] for number in range(8)]
    for number in range(40):
        call("POST", "/v1/feeds", {"feed_url": f"http://10.88.1.1:9000/{number}.xml", "category_id": categories[number % 8]})
    entries = [entry["id"] for entry in call("GET", "/v1/entries?limit=500")["entries"]]
    call("PUT", "/v1/entries", {"entry_ids": entries[::3], "status": "read"})


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def cookie(headers):
    return headers["Set-Cookie"].split(";")[0]


def sign_in():
    page = urllib.request.urlopen(BASE + "/")
    token = re.search(r'name="csrf" value="([^"]+)"', page.read().decode())[1]
    form = urllib.parse.urlencode({"csrf": token, "username": "admin", "password": "demo-password"}).encode()
    try:
        urllib.request.build_opener(Stay).open(urllib.request.Request(BASE + "/login", form, {"Cookie": cookie(page.headers)}))
    except urllib.error.HTTPError as answer:
        return cookie(answer.headers)
    sys.exit("no session: was the password refused?")


if sys.argv[2] == "seed":
    seed()
else:
    feeds = [feed["id"] for feed in call("GET", "/v1/feeds")][:4]
    entries = [call("GET", f"/v1/feeds/{feed}/entries?limit=1")["entries"][0]["id"] for feed in feeds]
    keys = [call("POST", "/v1/api-keys", {"description": f"client {time.time_ns()}"})["token"] for _ in feeds]
    print(json.dumps({"cookie": [sign_in() for _ in feeds], "key": keys, "feed": list(map(str, feeds)), "entry": list(map(str, entries))}))
