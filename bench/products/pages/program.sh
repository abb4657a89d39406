#!/bin/bash
# program.sh STACK: becomes the program; PGHOST and PGPORT say where its database is.
own=$PRODUCTS/$1
export HOST=10.88.1.2 PORT=8000 PGUSER=$1 PGDATABASE=$1 PGPASSWORD=demo PGSSLMODE=disable
case $1 in
flask | django) exec "$own/venv/bin/gunicorn" --log-level=error --chdir="$own" --workers=4 --bind=$HOST:$PORT app:app ;;
express) exec node "$own/app.js" ;;
go) exec "$own/pages" ;;
esac
