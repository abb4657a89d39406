"""A thread for each request (gunicorn, gthread), psycopg2, a pool of POOL connections. A request holds one from its first statement to its last; of
/each, for one statement."""

import os
import queue

import psycopg2
from flask import Flask, request

app = Flask(__name__)
pool = queue.LifoQueue()


def connect():
    connection = psycopg2.connect("")
    connection.autocommit = True
    return connection


for _ in range(int(os.environ.get("POOL", "8"))):
    pool.put(connect())


def marked(sql):
    """The truth, and what a program that passes identifiers on would add."""
    parent = request.headers.get("traceparent")
    suffix = f" /*traceparent='{parent}'*/" if parent else ""
    return f"/* r={request.args['r']} */ {sql}{suffix}"


@app.route("/same")
def same():
    connection = pool.get()
    try:
        with connection.cursor() as cursor:
            for number in range(5):
                cursor.execute(marked(f"select id, name, stars from items where id = {number + 1}"))
                cursor.fetchone()
    finally:
        pool.put(connection)
    return "done"


@app.route("/each")
def each():
    for number in range(5):
        connection = pool.get()
        try:
            with connection.cursor() as cursor:
                cursor.execute(marked(f"select id, name, stars from items where id = {number + 1}"))
                cursor.fetchone()
        finally:
            pool.put(connection)
    return "done"


@app.route("/mixed")
def mixed():
    connection = pool.get()
    try:
        with connection.cursor() as cursor:
            cursor.execute(marked("begin"))
            cursor.execute(marked("select id, name from items where id = 1"))
            cursor.execute(marked("select count(*) from items where stars = 3"))
            cursor.execute(marked("insert into visits (item) values (3)"))
            cursor.execute(marked("commit"))
    finally:
        pool.put(connection)
    return "done"
