"""Reads what the conformance suite wrote and holds each check to a list of those that may fail.

    checks.py RESULTS EXPECTED
"""

import json
import pathlib
import sys

results, expected = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
lines = [line.split("#")[0].strip() for line in expected.read_text().splitlines()]
may_fail = {line.split(":")[0] for line in lines if line}
passed, failed = set(), {}
files = sorted(results.glob("*/checks.json"))
for file in files:
    for check in json.loads(file.read_text()):
        if check["status"] == "FAILURE":
            failed[check["id"]] = check.get("errorMessage", "")
        elif check["status"] == "SUCCESS":
            passed.add(check["id"])
passed -= failed.keys()
wrong = [f"fails: {name}: {failed[name]}" for name in sorted(failed.keys() - may_fail)]
wrong += [f"passes, but is listed: {name}" for name in sorted(may_fail - failed.keys())]
print(f"2026-07-28: {len(files)} scenarios, {len(passed)} checks passed, {len(failed)} failed, {len(may_fail)} of them as listed")
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(1 if wrong or len(files) < 10 else 0)
