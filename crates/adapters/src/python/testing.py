"""Starts the driver as `flow` does, for the tests beside it.

    python3 -m unittest discover -s crates/adapters/src/python

The interpreter that runs the tests runs the steps. Tests that need a library are skipped where it is missing, and say so; with
FLOW_REQUIRE_PYTHON=1 they fail instead.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PARTS = ("check.py", "values.py", "driver.py")
FOLDER = pathlib.Path(__file__).resolve().parent
DRIVER = "\n".join((FOLDER / part).read_text(encoding="utf-8") for part in PARTS)
COMMAND = [sys.executable, "-I", "-B", "-X", "utf8", "-c", DRIVER]


def request(code, returns=(), **changes):
    asked = {
        "code": code,
        "name": "steps.chart",
        "variables": {},
        "returns": list(returns),
        "files": "",
        "requires": [],
        "is_written_by_model": False,
        "limits": {"printed": 2000, "value": 1 << 20},
    }
    asked.update(changes)
    return asked


class StepTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        (self.folder / "home").mkdir()
        (self.folder / "files").mkdir()

    def start(self):
        environment = {"HOME": str(self.folder / "home"), "PYTHONPATH": str(FOLDER), "PYTHONSTARTUP": "x"}
        pipe = subprocess.PIPE
        return subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self.folder / "home", env=environment)

    def raw(self, code, returns=(), **changes):
        """`(exit code, standard output, standard error)` of a step."""
        changes.setdefault("files", str(self.folder / "files"))
        process = self.start()
        out, err = process.communicate(json.dumps(request(code, returns, **changes)).encode(), timeout=120)
        return process.returncode, out, err

    def reply(self, code, returns=(), **changes):
        code, out, err = self.raw(code, returns, **changes)
        self.assertEqual((code, err), (0, b""), "the driver itself failed")
        return json.loads(out.decode("utf-8"))

    def values(self, code, returns=("x",), **changes):
        reply = self.reply(code, returns, **changes)
        self.assertIsNone(reply["error"])
        return reply["returns"]

    def value(self, code, **changes):
        return self.values(code, **changes)["x"]

    def error(self, code, returns=("x",), kind=None, **changes):
        reply = self.reply(code, returns, **changes)
        self.assertIsNotNone(reply["error"], "no error, but %r" % reply)
        self.assertEqual((reply["returns"], reply["files"], reply["notes"]), ({}, [], []), "an error comes alone")
        if kind is not None:
            self.assertEqual(reply["error"]["kind"], kind, reply["error"])
        return reply["error"]


def needs(*modules):
    """Skips a test where a library is missing, unless FLOW_REQUIRE_PYTHON=1."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing and os.environ.get("FLOW_REQUIRE_PYTHON") != "1":
        reason = "skipped: %s missing in %s" % (", ".join(missing), sys.executable)
        print(reason, file=sys.stderr)
        return unittest.skip(reason)
    return lambda test: test
