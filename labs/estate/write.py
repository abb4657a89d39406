"""Writes labs/estate.toml and labs/estate-job.toml: every placement of the services in three places is a variant.

A placement's name gives the place of each service: office (o), near (n) or far (f).
"""
import itertools
import os

PLACES = "onf"
RTT = {"on": 4, "of": 20, "nf": 14}
HERE = os.path.dirname(os.path.abspath(__file__))


def rtt(a, b):
    return 0 if a == b else RTT.get(a + b) or RTT[b + a]


def variants(services, pairs, fixed, more=""):
    for places in itertools.product(PLACES, repeat=len(services)):
        at = dict(zip(services, places)) | fixed
        links = [f'links.{a}-{b}.rtt = "{rtt(at[a], at[b])}ms"' for a, b in pairs]
        yield "".join(places) + more, links


def write(name, text, lines, names):
    with open(f"{HERE}/../{name}.toml", "w") as out:
        out.write(text + "\n[variants]\n" + "".join(lines))
        out.write("\n[[sweep]]\nvariant = [\n" + "".join(f'    "{one}",\n' for one in names) + "]\n")


PAGES = [("users", "shop"), ("shop", "stock"), ("shop", "catalog"), ("stock", "orders")]
JOB = [("job", "orders")]


def hosts(pairs):
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    quoted = ", ".join(f'"{name}"' for name in names)
    text = f"hosts = [{quoted}]\n"
    for a, b in pairs:
        text += f'\n[links.{a}-{b}]\nbetween = ["{a}", "{b}"]\n'
    return text


def database(name):
    return f"""
[services.{name}]
host = "{name}"
kind = "mariadb"
settings.database = "estate"
settings.user = "estate"
settings.password = "estate"
setup = "mariadb --socket=$MYSQL_UNIX_PORT -u root estate < estate/{name}.sql"
"""


def web(name):
    return f"""
[services.{name}-php]
host = "{name}"
kind = "php-fpm"
settings.workers = 4

[services.{name}]
host = "{name}"
kind = "nginx"
settings.root = "estate/{name}"
settings.php = "{name}-php"
ready = {{ url = "http://{name}/index.php" }}
"""


def pages():
    text = """# A page of a shop that asks a second service and two databases, with each of these in every one of three places: 81 placements,
# all measured. The figures of `longwire plan` are compared with it (docs/plan.md). Written by labs/estate/write.py.

name = "estate"
""" + hosts(PAGES) + database("catalog") + database("orders") + web("stock") + web("shop") + """
[workload]
kind = "http"
host = "users"
url = "http://shop/index.php"

[measure]
operations = 10
repeat = 3
settle = 2
warmup = 30
baseline_operations = 100
baseline_every = 27
"""
    placed = list(variants(["shop", "stock", "catalog", "orders"], PAGES, {"users": "o"}))
    fixed = [
        (f"{n}-{fix}", l + [f'workload.url = "http://shop/index.php?fixed={fix}"'])
        for fix in ["in", "kept", "mysqli"]
        for n, l in placed
        if n in FIXED
    ]
    placed += fixed
    write("estate", text, [f"{n} = {{ {', '.join(l)} }}\n" for n, l in placed], [n for n, _ in placed])


def job():
    text = """# A job that writes one of the databases of labs/estate.toml, both in each of three places. It has the hosts and links of
# labs/estate.toml too, so that addresses are the same in both. Written by labs/estate/write.py.

name = "estate-job"
""" + hosts(PAGES + JOB) + database("orders") + """
[workload]
kind = "sql"
host = "job"
target = "mysql://estate:estate@orders/estate"
statements = [
    "BEGIN",
    "SELECT amount FROM stock WHERE product = 7",
    "UPDATE stock SET amount = amount + 1 WHERE product = 7",
    "INSERT INTO purchase (product) VALUES (7)",
    "COMMIT",
]

[measure]
operations = 30
repeat = 3
settle = 2
warmup = 30
baseline_operations = 200
"""
    placed = list(variants(["job", "orders"], JOB, {}))
    write("estate-job", text, [f"{n} = {{ {', '.join(l)} }}\n" for n, l in placed], [n for n, _ in placed])


FIXED = ["oono", "oofo"]
pages()
job()
