"""The programs whose pages are predicted: how each is prepared once, and how it is started."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HTTP_PORT = 20984


def prepare(stack, kept):
    """Fetches and builds what `stack` needs into `kept`, unless it is there."""
    directory = kept / stack
    if (directory / "ready").exists():
        return
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(HERE / stack, directory)
    PREPARE[stack](directory)
    (directory / "ready").touch()


def command(stack, kept):
    """What starts it; its database is in the environment, it serves HTTP on HTTP_PORT of 127.0.0.1."""
    directory = kept / stack
    return {
        "flask": [directory / "venv/bin/gunicorn", "--log-level=error", f"--chdir={directory}", "--workers=4",
                  f"--bind=127.0.0.1:{HTTP_PORT}", "app:app"],
        "starlette": [directory / "venv/bin/uvicorn", "--log-level=error", f"--app-dir={directory}",
                      f"--port={HTTP_PORT}", "app:app"],
        "django": [directory / "venv/bin/gunicorn", "--log-level=error", f"--chdir={directory}", "--workers=4",
                   f"--bind=127.0.0.1:{HTTP_PORT}", "app:app"],
        "fastapi": [directory / "venv/bin/uvicorn", "--log-level=error", f"--app-dir={directory}",
                    f"--port={HTTP_PORT}", "app:app"],
        "express": ["node", directory / "app.js"],
        "java": ["java", "-cp", f"{directory}:{directory}/jars/*", "Pages"],
        "hibernate": ["java", "-cp", f"{directory}:{directory}/jars/*", "Pages"],
        "go": [directory / "pages"],
        "php": ["sh", directory / "start.sh", directory],
        "sequel": ["puma", "--quiet", "--environment=production", "--threads=4:4", f"--bind=tcp://127.0.0.1:{HTTP_PORT}", directory / "config.ru"],
    }[stack]


def python(directory):
    run([sys.executable, "-m", "venv", directory / "venv"])
    run([directory / "venv/bin/pip", "--quiet", "install", "--requirement", directory / "requirements.txt"])


def node(directory):
    run(["npm", "install", "--silent", "--no-fund", "--no-audit"], cwd=directory)


def java(directory):
    jars = directory / "jars"
    run(["mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], cwd=directory)
    run(["javac", "-cp", f"{jars}/*", "-d", directory, *sorted(directory.glob("*.java"))])


def go(directory):
    run(["go", "build", "-o", "pages", "."], cwd=directory)


def run(words, cwd=None):
    subprocess.run([str(word) for word in words], cwd=cwd, check=True, env=os.environ | {"GOFLAGS": "-mod=mod"})


def nothing(_directory):
    """Its libraries are Debian's: scripts/setup.sh stacks."""


PREPARE = {"flask": python, "starlette": python, "django": python, "fastapi": python, "express": node, "java": java, "hibernate": java,
           "go": go, "php": nothing, "sequel": nothing}
