"""seed.py BASE seed APP.json: a realm with 300 users in 10 groups, 20 clients, and its events kept; prints APP.json with a user and a group in it.
seed.py BASE sign-in: an administrator's token for each of four clients (vars.json)."""
import json
import sys
import urllib.parse
import urllib.request

BASE = sys.argv[1]


def send(method, path, body, headers):
    answer = urllib.request.urlopen(urllib.request.Request(BASE + path, body, headers, method=method)).read()
    return json.loads(answer) if answer else None


def tokens(realm, client, user, password):
    form = {"grant_type": "password", "client_id": client, "username": user, "password": password, "scope": "openid"}
    path = f"/realms/{realm}/protocol/openid-connect/token"
    return send("POST", path, urllib.parse.urlencode(form).encode(), {"Content-Type": "application/x-www-form-urlencoded"})


def admin(method, path, body=None):
    token = tokens("master", "admin-cli", "admin", "demo")["access_token"]
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    return send(method, "/admin/realms" + path, json.dumps(body).encode() if body else None, headers)


def user(number):
    first, last = f"{('Ana', 'Ben', 'Cleo', 'Dan', 'Eva')[number % 5]}", f"Smith{number % 23}"
    more = {"credentials": [{"type": "password", "value": "demo"}]} if number < 4 else {}
    return {
        "username": f"user-{number}", "firstName": first, "lastName": last, "email": f"user-{number}@example.org", "emailVerified": True, "enabled": True,
        "groups": [f"/team-{number % 10}"], "realmRoles": ["staff"], **more,
    }


def seed():
    admin("PUT", "/master", {"accessTokenLifespan": 36000})
    clients = [{"clientId": f"shop-{number}", "publicClient": True, "directAccessGrantsEnabled": True, "redirectUris": ["http://10.88.1.2:3000/*"]} for number in range(20)]
    admin("POST", "", {
        "realm": "demo", "enabled": True, "accessTokenLifespan": 36000, "eventsEnabled": True, "eventsExpiration": 864000, "clients": clients,
        "groups": [{"name": f"team-{number}"} for number in range(10)], "roles": {"realm": [{"name": "staff"}]}, "users": [user(number) for number in range(300)],
    })


if sys.argv[2] == "seed":
    seed()
    found = admin("GET", "/demo/users?exact=true&username=user-20")[0]["id"]
    print(open(sys.argv[3]).read().replace("USER", found).replace("GROUP", admin("GET", "/demo/groups")[0]["id"]))
else:
    print(json.dumps({"admin": [tokens("master", "admin-cli", "admin", "demo")["access_token"] for _ in range(4)]}))
