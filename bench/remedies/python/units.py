"""Flask, SQLAlchemy, PyMySQL: six units of work, with pool_pre_ping (page) and without (mended), or with a connection each (fresh)."""

import os
import sys

from flask import Flask
from sqlalchemy import NullPool, create_engine, text
from waitress import serve

URL = f"mysql+pymysql://pages:pages@{os.environ.get('MYSQL_HOST', '10.88.2.2')}:{os.environ.get('MYSQL_TCP_PORT', 3306)}/pages"
ENGINES = {
    "page": create_engine(URL, pool_pre_ping=True),
    "mended": create_engine(URL),
    "fresh": create_engine(URL, poolclass=NullPool),
}
TEXTS = [
    "select name from customers where id = :id",
    "select total from orders where id = :id",
    "select count(*) from orders where id between :id and :id + 20",
    "select city from customers where id = :id",
    "select note from orders where id = :id + 1",
    "select max(total) from orders where id < :id",
]
app = Flask(__name__)


@app.get("/<name>")
def page(name):
    found = []
    for place, statement in enumerate(TEXTS):
        with ENGINES[name].connect() as connection:
            found.append(str(connection.execute(text(statement), {"id": 70 + place}).scalar()))
    return "\n".join(found)


serve(app, host="10.88.1.2", port=int(sys.argv[1]), threads=1)
