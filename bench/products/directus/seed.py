"""Collections of authors, articles, tags and comments with relations, 200 articles, and an editor with a role, a policy and a token."""
import json
import urllib.error
import urllib.request

BASE = "http://10.88.1.2:8055"
token = None


def call(path, body, method="POST"):
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(BASE + path, json.dumps(body).encode(), headers, method=method)
    try:
        answer = urllib.request.urlopen(request).read()
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{path}: {error.read().decode()}")
    return json.loads(answer)["data"] if answer else None


def collection(name, /, **columns):
    fields = [{"field": "id", "type": "integer", "schema": {"is_primary_key": True, "has_auto_increment": True}, "meta": {"hidden": True}}]
    fields += [{"field": field, "type": kind, "schema": {}, "meta": {}} for field, kind in columns.items()]
    call("/collections", {"collection": name, "schema": {}, "meta": {}, "fields": fields})


def relation(many, field, one, alias=None, junction=None, special="o2m"):
    if alias:
        call(f"/fields/{one}", {"field": alias, "type": "alias", "meta": {"special": [special]}})
    meta = {"one_field": alias, "junction_field": junction}
    call("/relations", {"collection": many, "field": field, "related_collection": one, "meta": meta, "schema": {"on_delete": "SET NULL"}})


token = call("/auth/login", {"email": "admin@example.org", "password": "demodemo"})["access_token"]
collection("authors", name="string", email="string")
collection("tags", name="string")
collection("articles", title="string", text="text", status="string", published="dateTime", author="integer")
collection("comments", text="text", article="integer", author="integer")
collection("articles_tags", articles_id="integer", tags_id="integer")
relation("articles", "author", "authors", "articles")
relation("comments", "article", "articles", "comments")
relation("comments", "author", "authors")
relation("articles_tags", "articles_id", "articles", "tags", "tags_id", "m2m")
relation("articles_tags", "tags_id", "tags", None, "articles_id")
call("/items/authors", [{"name": f"Author {n}", "email": f"author{n}@example.org"} for n in range(20)])
call("/items/tags", [{"name": f"Tag {n}"} for n in range(15)])
articles = [
    {"title": f"Printer on floor {n}", "text": f"It printed {n} pages. " * 20, "status": ("draft", "published", "archived")[n % 3],
     "published": f"2026-{n % 10 + 1:02d}-{n % 27 + 1:02d}T08:00:00", "author": n % 20 + 1, "tags": [{"tags_id": (n + k) % 15 + 1} for k in range(3)],
     "comments": [{"text": f"Comment {k}", "author": (n + k) % 20 + 1} for k in range(n % 6)]}
    for n in range(200)
]
call("/items/articles", articles)
policy = call("/policies", {"name": "Editor", "icon": "edit", "admin_access": False, "app_access": True})["id"]
rights = [{"policy": policy, "collection": name, "action": action, "fields": ["*"], "permissions": {}}
          for name in ("authors", "tags", "articles", "comments", "articles_tags") for action in ("create", "read", "update")]
call("/permissions", rights)
role = call("/roles", {"name": "Editor", "policies": [{"policy": policy}]})["id"]
call("/users", {"email": "editor@example.org", "password": "demodemo", "first_name": "Editor", "role": role, "token": "demo-editor", "status": "active"})
