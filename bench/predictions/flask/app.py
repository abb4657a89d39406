"""Python, synchronous: Flask under gunicorn, psycopg2; each of its threads has a connection of its own."""

import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg2
from flask import Flask

app = Flask(__name__)
own = threading.local()
SELECT = "select id, name, stars from items where id = %s"
helpers = ThreadPoolExecutor(4)


def cursor():
    if not hasattr(own, "connection"):
        own.connection = psycopg2.connect("sslmode=" + os.environ["PGSSLMODE"])
        own.connection.autocommit = True
        own.cursor = own.connection.cursor()
    return own.cursor


def item():
    return random.randint(1, 1000)


def look_up(number):
    cursor().execute(SELECT, (number,))
    return cursor().fetchone()


@app.route("/one", methods=["GET", "POST"])
def one():
    return [look_up(item())]


@app.route("/eight", methods=["GET", "POST"])
def eight():
    return [look_up(item()) for _ in range(8)]


@app.route("/parallel", methods=["GET", "POST"])
def parallel():
    return list(helpers.map(look_up, [item() for _ in range(4)]))


@app.route("/transaction", methods=["GET", "POST"])
def transaction():
    number, sql = item(), cursor()
    sql.execute("begin")
    row = look_up(number)
    sql.execute("update items set stars = stars + 1 where id = %s", (number,))
    sql.execute("insert into visits (item) values (%s)", (number,))
    sql.execute("commit")
    return [row]
