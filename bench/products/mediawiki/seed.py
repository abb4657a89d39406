"""seed.py BASE seed: 80 pages in 8 categories, linked with one another.
seed.py BASE sign-in: signs in for four clients and prints their cookies and tokens (vars.json)."""
import http.cookiejar
import json
import sys
import urllib.parse
import urllib.request

BASE = sys.argv[1]
WORDS = "database distance latency query index cache release kernel network storage editor garden bicycle recipe river museum".split()


class Person:
    def __init__(self):
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        answer = self.call(action="clientlogin", username="Admin", password="demo-password", logintoken=self.token("login"), loginreturnurl=BASE)
        if answer["clientlogin"]["status"] != "PASS":
            sys.exit(f"not signed in: {answer}")

    def call(self, **form):
        return json.load(self.opener.open(BASE + "/api.php", urllib.parse.urlencode({**form, "format": "json"}).encode()))

    def token(self, kind):
        return self.call(action="query", meta="tokens", type=kind)["query"]["tokens"][kind + "token"]

    def cookie(self):
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.jar)


def text(number):
    words = [WORDS[(number * 7 + word * word) % len(WORDS)] for word in range(300)]
    links = "\n".join(f"* [[Page {(number * 3 + step * 11) % 80}]]" for step in range(12))
    return f"'''Page {number}''' is about {' '.join(words)}.\n\n== See also ==\n{links}\n\n== Notes ==\n{' '.join(words[:90])}\n\n[[Category:Subject {number % 8}]]"


def seed():
    person = Person()
    token = person.token("csrf")
    for number in range(80):
        person.call(action="edit", title=f"Page {number}", text=text(number), watchlist="watch" if number < 30 else "nochange", token=token)
    for number in range(24):
        person.call(action="edit", title="Page 7", text=text(7) + f"\n\nAs of version {number}.", summary=f"Version {number}", token=token)


def sign_in():
    people = [Person() for _ in range(4)]
    tokens = {kind: [urllib.parse.quote_plus(person.token(kind)) for person in people] for kind in ("csrf", "createaccount")}
    return {"cookie": [person.cookie() for person in people], **tokens}


if sys.argv[2] == "seed":
    seed()
else:
    print(json.dumps(sign_in()))
