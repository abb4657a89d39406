"""session.py BASE seed: 40 hosts of templates that Zabbix brings, by its own interface.
session.py BASE sign-in: signs in for four clients and prints their cookies and sessions (vars.json)."""
import json
import sys
import urllib.parse
import urllib.request

BASE = sys.argv[1]


def call(method, parameters, session=None):
    body = {"jsonrpc": "2.0", "method": method, "params": parameters, "id": 1, "auth": session}
    request = urllib.request.Request(BASE + "/api_jsonrpc.php", json.dumps(body).encode(), {"Content-Type": "application/json-rpc"})
    answer = json.load(urllib.request.urlopen(request))
    if "error" in answer:
        sys.exit(f"{method}: {answer['error']}")
    return answer["result"]


def seed():
    session = call("user.login", {"username": "Admin", "password": "zabbix"})
    group = call("hostgroup.create", {"name": "Demo"}, session)["groupids"][0]
    names = ["Linux by Zabbix agent", "Nginx by Zabbix agent", "ICMP Ping"]
    templates = call("template.get", {"output": ["templateid", "host"], "filter": {"host": names}}, session)
    interface = {"type": 1, "main": 1, "useip": 1, "dns": "", "port": "10050"}
    for number in range(40):
        host = {
            "host": f"server-{number:02d}", "groups": [{"groupid": group}], "interfaces": [{**interface, "ip": f"10.9.0.{number + 1}"}],
            "templates": [{"templateid": templates[number % len(templates)]["templateid"]}], "inventory_mode": 0,
            "inventory": {"os": "Linux", "location": f"Rack {number % 6}"}, "tags": [{"tag": "site", "value": f"s{number % 3}"}],
        }
        call("host.create", host, session)


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def sign_in():
    form = urllib.parse.urlencode({"name": "Admin", "password": "zabbix", "autologin": "1", "enter": "Sign in"}).encode()
    try:
        answer = urllib.request.build_opener(Stay).open(BASE + "/index.php", form)
    except urllib.error.HTTPError as error:
        answer = error
    found = [value.split(";")[0] for value in answer.headers.get_all("Set-Cookie") or [] if value.startswith("zbx_session=")]
    if not found:
        sys.exit("no session: was the password refused?")
    return found[-1]


if sys.argv[2] == "seed":
    seed()
else:
    sessions = [call("user.login", {"username": "Admin", "password": "zabbix"}) for _ in range(4)]
    print(json.dumps({"cookie": [sign_in() for _ in range(4)], "session": sessions}))
