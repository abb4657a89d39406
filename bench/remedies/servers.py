"""Private PostgreSQL, MariaDB and Redis on the database host."""

import pathlib
import pwd
import shutil
import subprocess
import time

from hosts import DATABASE, inside, run

HERE = pathlib.Path(__file__).parent


class Servers:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o755)
        self.started = []
        try:
            self._postgres()
            self._mariadb()
            self._start("redis", "redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--save", "")
        except BaseException:
            self.stop()
            raise

    def stop(self):
        for server in self.started:
            server.terminate()
        for server in self.started:
            server.wait()

    def _of(self, user):
        """A folder of this user."""
        folder = self.folder / user
        folder.mkdir()
        owner = pwd.getpwnam(user)
        shutil.chown(folder, owner.pw_uid, owner.pw_gid)
        return str(folder)

    def _start(self, user, *command):
        log = open(self.folder / f"{user}.log", "w")
        command = inside(DATABASE, *as_user(user), *command)
        self.started.append(subprocess.Popen(command, stdout=log, stderr=log, cwd="/"))

    def _postgres(self):
        folder = self._of("postgres")
        binaries = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        run(*as_user("postgres"), binaries / "initdb", "-D", folder + "/data", "-U", "pages", "--auth=trust", stdout=subprocess.DEVNULL)
        with open(folder + "/data/pg_hba.conf", "a") as rules:
            rules.write("host all all 10.88.0.0/16 scram-sha-256\n")
        self._start("postgres", binaries / "postgres", "-D", folder + "/data", "-k", folder, "-c", "listen_addresses=*", "-c", "autovacuum=off")
        psql = ["psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "pages"]
        until(lambda: subprocess.run([*psql, "-c", "create database pages", "postgres"], stderr=subprocess.DEVNULL).returncode == 0)
        run(*psql, "-c", "alter user pages password 'pages'", "-f", HERE / "schema.sql", "-f", HERE / "postgres.sql", "pages")

    def _mariadb(self):
        folder = self._of("mysql")
        run(*as_user("mysql"), "mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", "--auth-root-authentication-method=normal", stdout=subprocess.DEVNULL)
        self._start("mysql", "mariadbd", "--no-defaults", f"--datadir={folder}/data", f"--socket={folder}/s", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=2")
        client = ["mariadb", "--no-defaults", f"--socket={folder}/s", "-uroot"]
        until(lambda: subprocess.run([*client, "-e", "create database pages"], stderr=subprocess.DEVNULL).returncode == 0)
        run(*client, "-e", "create user pages@'%' identified by 'pages'; grant all on pages.* to pages@'%'")
        text = (HERE / "schema.sql").read_text() + (HERE / "mariadb.sql").read_text()
        run(*client, "pages", input=text, text=True, stdout=subprocess.DEVNULL)


def as_user(user):
    return ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--init-groups"]


def until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit("a server did not start within 30 s")
        time.sleep(0.2)
