"""The GitHub action: its file against GitHub's schema, its steps run by bash as a runner does; and the examples of docs/ci.md against the schemas of the services."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ruamel.yaml
from project import BAD, GOOD, ROOT, call, commit, repository, write

FLOW = Path(sys.argv[1]).resolve()
ACTION = ruamel.yaml.YAML(typ="safe").load((ROOT / "action.yml").read_text())
SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}


def filled(text, inputs):
    """A value of the action, with its inputs. Only `${{ inputs.NAME }}` may stand there, and never in a script."""
    return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: inputs[found[1]], text)


class Job:
    """One use of the action in a repository; `exit` is what its steps ended with."""

    def __init__(self, workspace, programs, **given):
        inputs = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        inputs.update({name.replace("_", "-"): value for name, value in given.items()})
        self.exit, self.said, self.err = 0, "", ""
        with tempfile.TemporaryDirectory() as home:
            files = {name: Path(home) / name for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
            for file in files.values():
                file.touch()
            variables = {"PATH": programs, "HOME": home, "GITHUB_ACTIONS": "true", "CI": "true", "RUNNER_TEMP": home, "GITHUB_WORKSPACE": str(workspace)}
            variables |= {"GITHUB_ACTION_PATH": str(ROOT)} | {name: str(file) for name, file in files.items()}
            for step in ACTION["runs"]["steps"]:
                assert "${{" not in step["run"], "an input in a script would be code"
                script = Path(home) / "step.sh"
                script.write_text(step["run"])
                own = {name: filled(value, inputs) for name, value in step.get("env", {}).items()}
                folder = workspace / filled(step.get("working-directory", "."), inputs)
                command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", script]
                done = subprocess.run(command, cwd=folder, env=variables | own, capture_output=True, text=True, timeout=600, check=False)
                self.said += done.stdout
                self.err += done.stderr
                if done.returncode:
                    self.exit = done.returncode
                    break
                for line in files["GITHUB_ENV"].read_text().splitlines():
                    name, _, value = line.partition("=")
                    variables[name] = value
            self.summary = files["GITHUB_STEP_SUMMARY"].read_text()


def examples():
    """The files in the manual, by the service that reads them."""
    page = (ROOT / "docs/ci.md").read_text()
    found = re.findall(r"`(\.github/workflows/[a-z]+\.yml|\.gitlab-ci\.yml|\.pre-commit-config\.yaml)`:\n```yaml\n(.*?)```", page, re.S)
    assert {name for name, _ in found} >= {".github/workflows/flow.yml", ".gitlab-ci.yml", ".pre-commit-config.yaml"}, found
    check = ROOT / ".real/ci/bin/check-jsonschema"
    call(ROOT, check, "--builtin-schema", "vendor.github-actions", "action.yml")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "example.yml"
        for name, text in found:
            file.write_text(text)
            if name == ".pre-commit-config.yaml":
                call(folder, ROOT / ".real/ci/bin/pre-commit", "validate-config", file)
                continue
            schema = SCHEMAS["gitlab" if "gitlab" in name else "github"]
            call(folder, check, "--builtin-schema", schema, file)
            used = re.findall(r"^ {10}([a-z-]+):", text, re.M)
            assert "github" not in name or set(used) >= {"changed-since"} and set(used) <= set(ACTION["inputs"]) | {"fetch-depth", "sarif_file"}, used
        file.write_text("jobs: 1\n")
        call(folder, check, "--builtin-schema", SCHEMAS["github"], file, exit=1)
    return len(found)


def main():
    count = examples()
    with tempfile.TemporaryDirectory() as home:
        home = Path(home)
        (home / "bin").mkdir()
        (home / "bin/flow").symlink_to(FLOW)
        with_flow = f"{home}/bin:{os.environ['PATH']}"
        own = home / "own"
        own.mkdir()
        repository(own, "team/")
        good = Job(own, with_flow, working_directory="team", sarif="../flow.sarif", junit="../flow.xml")
        assert (good.exit, "::error" in good.said) == (0, False), good.said + good.err
        assert good.summary.startswith("## flow test\n\n**1 passed, 0 failed**"), good.summary
        assert json.loads((own / "flow.sarif").read_text())["runs"][0]["results"] == [] and "testsuites" in (own / "flow.xml").read_text()

        write(own, "team/pipelines/greeting.yaml", GOOD.replace("Hello", "</details>`@team`"))
        changed = Job(own, with_flow, working_directory="team")
        assert changed.exit == 1 and "| 1 | **differs** | `pipelines/goldens/greeting/ana/outputs.json` |" in changed.summary, changed.summary
        commit(own)

        write(own, "team/pipelines/bad, 100%.yaml", BAD)
        bad = Job(own, with_flow, working_directory="team", test="false", sarif="../flow.sarif")
        assert bad.exit == 1 and "::error file=team/pipelines/bad%2C 100%25.yaml,line=5,col=1,title=F002::" in bad.said, bad.said
        result = json.loads((own / "flow.sarif").read_text())["runs"][0]["results"][0]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "team/pipelines/bad%2C%20100%25.yaml", result
        given = Job(own, os.environ["PATH"], path=str(FLOW), working_directory="team", changed_since="HEAD", test="false")
        assert given.exit == 1 and "1 of 2 files is touched" in given.err, given.err
        (own / "team/pipelines/bad, 100%.yaml").unlink()
        none = Job(own, with_flow, working_directory="team", changed_since="HEAD")
        assert none.exit == 0 and "0 of 1 file are touched" in none.err, none.err

        for hostile in ("$(touch started); \"`touch started`'\n--help", "-x\n--format=json"):
            odd = Job(own, with_flow, working_directory="team", paths=hostile, changed_since="")
            assert odd.exit == 4 and "does not exist" in odd.err, odd.err
        unknown = Job(own, with_flow, working_directory="team", changed_since="--output=x")
        assert unknown.exit == 2 and "is no commit of this repository" in unknown.err, unknown.err
        assert not list(home.rglob("started"))

        # Without flow the action builds it. What cargo would do is shown by .ci/run.
        write(home, "tools/cargo", f'#!/bin/sh\necho "$@" > {home}/asked\nmkdir -p "$6/bin"\nln -s {FLOW} "$6/bin/flow"\n')
        (home / "tools/cargo").chmod(0o755)
        built = Job(own, f"{home}/tools:/usr/bin:/bin", working_directory="team", test="false")
        assert built.exit == 0, built.err
        assert (home / "asked").read_text().startswith(f"install --locked --path {ROOT} --root "), (home / "asked").read_text()
    print(f"the action: its steps find, build and run flow, and report; {count} examples of the manual fit the schemas of their services")


main()
