"""The hooks of .pre-commit-hooks.yaml, run by pre-commit: they pass and fail rightly, with the flow that is installed and with one that is built."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from project import BAD, GOOD, ROOT, SAYS, call, commit, repository, write

FLOW = Path(sys.argv[1]).resolve()
PRE_COMMIT = ROOT / ".real/ci/bin/pre-commit"
# A program that starts the real one: what pre-commit builds where no flow is installed, without the ten minutes.
CRATE = '[package]\nname = "flow"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n'
MAIN = """use std::os::unix::process::CommandExt;
fn main() {
    let error = std::process::Command::new(env!("REAL_FLOW")).args(std::env::args_os().skip(1)).exec();
    panic!("{error}");
}
"""


def hooks(folder):
    """The repository that a user's configuration names, with the hooks as they are shipped."""
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", folder)
    write(folder, "Cargo.toml", CRATE)
    write(folder, "src/main.rs", MAIN)
    call(folder, *SAYS, "init", "-q")
    commit(folder)
    return call(folder, "git", "rev-parse", "HEAD").strip()


def configured(folder, source, revision, language, more=""):
    lines = "".join(f"      - {{ id: {name}{language}{more if name == 'flow-validate' else ''} }}\n" for name in ("flow-validate", "flow-test", "flow-fix"))
    write(folder, ".pre-commit-config.yaml", f"repos:\n  - repo: {source}\n    rev: {revision}\n    hooks:\n{lines}")
    call(folder, *SAYS, "add", "-A")


def main():
    call(ROOT, PRE_COMMIT, "validate-manifest", ".pre-commit-hooks.yaml")
    with tempfile.TemporaryDirectory() as home:
        home = Path(home)
        (home / "bin").mkdir()
        (home / "bin/flow").symlink_to(FLOW)
        source, own = home / "hooks", home / "own"
        source.mkdir(), own.mkdir()
        revision = hooks(source)
        repository(own)
        path = f"{home}/bin:{os.environ['PATH']}"

        def run(*hook, exit=0):
            return call(own, PRE_COMMIT, "run", *hook, exit=exit, PATH=path, PRE_COMMIT_HOME=f"{home}/cache", REAL_FLOW=str(FLOW), CI="")

        configured(own, source, revision, ", language: system")
        said = run()
        assert said.count("Passed") == 3, said
        write(own, "pipelines/greeting.yaml", BAD)
        call(own, *SAYS, "add", "-A")
        said = run("flow-validate", exit=1)
        assert "F002" in said and "pipelines/greeting.yaml" in said, said
        unquoted = GOOD.replace('"Hello {{ inputs.who }}."', "{{ inputs.who }}")
        write(own, "pipelines/greeting.yaml", unquoted)
        call(own, *SAYS, "add", "-A")
        said = run("flow-fix", exit=1)
        assert "files were modified by this hook" in said, said
        assert (own / "pipelines/greeting.yaml").read_text() == unquoted.replace("{{ inputs.who }}", '"{{ inputs.who }}"')
        write(own, "pipelines/greeting.yaml", GOOD)
        call(own, *SAYS, "add", "-A")
        assert run().count("Passed") == 3
        write(own, "pipelines/greeting.yaml", GOOD.replace("Hello", "Goodbye"))
        call(own, *SAYS, "add", "-A")
        said = run("flow-test", exit=1)
        assert "greeting.yaml/ana" in said and "{+Goodbye+}" in said, said
        commit(own)

        # Only what the commit touches, though another file is bad.
        write(own, "pipelines/bad.yaml", BAD)
        commit(own)
        configured(own, source, revision, ", language: system", ", args: [--changed-since, HEAD]")
        write(own, "pipelines/greeting.yaml", GOOD)
        call(own, *SAYS, "add", "-A")
        run("flow-validate")
        call(own, "git", "rm", "-q", "-f", "pipelines/bad.yaml")
        configured(own, source, revision, "")
        said = run()
        assert said.count("Passed") == 3, said
    print("pre-commit: three hooks pass and fail rightly, installed and built")


main()
