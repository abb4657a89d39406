"""The same work as the other programs do: same_work.py postgres|mariadb PORT off|on"""

import ssl
import sys

import psycopg
import pymysql

kind, port, tls = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "on"
if kind == "postgres":
    connection = psycopg.connect(
        host="127.0.0.1",
        port=port,
        user="postgres",
        dbname="postgres",
        sslmode="require" if tls else "disable",
    )
else:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = pymysql.connect(
        host="127.0.0.1",
        port=port,
        user="longwire",
        password="longwire-secret",
        database="test",
        ssl=context if tls else None,
        ssl_disabled=not tls,
    )
cursor = connection.cursor()
for n in range(1, 6):
    cursor.execute("select name from numbers where n = %s", (n,))
    cursor.fetchall()
cursor.execute("select n, name from numbers order by n")
assert len(cursor.fetchall()) == 500
cursor.execute("insert into marks values (%s)", (7,))
connection.commit()
connection.close()
