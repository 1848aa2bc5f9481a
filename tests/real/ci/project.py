"""A small project in a repository, as a user has it, and the calls that a check makes in it."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GOOD = """flow: 1
name: greeting
inputs: { who: { type: text, default: Ana } }
steps: [{ id: s, set: "Hello {{ inputs.who }}." }]
outputs: { greeting: "{{ steps.s.output }}" }
tests: [{ id: ana, golden: true }]
"""
BAD = GOOD.replace("outputs:", "outptus:")
GOLDEN = '{\n  "greeting": "Hello Ana."\n}\n'
SAYS = "git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"


def call(folder, *arguments, exit=0, **variables):
    """Calls a program, which must end with this code, and returns what it said."""
    done = subprocess.run(arguments, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=600, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == exit, f"{arguments}: exit {done.returncode}, not {exit}\n{said}"
    return said


def write(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def commit(folder):
    call(folder, *SAYS, "add", "-A")
    call(folder, *SAYS, "commit", "-q", "--no-verify", "-m", "a")


def repository(folder, at=""):
    """A repository with the project in it, all of which is in order."""
    write(folder, f"{at}flow.toml", "")
    write(folder, f"{at}pipelines/greeting.yaml", GOOD)
    write(folder, f"{at}pipelines/goldens/greeting/ana/outputs.json", GOLDEN)
    call(folder, *SAYS, "init", "-q")
    commit(folder)
