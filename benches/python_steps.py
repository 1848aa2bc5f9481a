"""The cost of a `python` step in the sandbox: twenty in a row beside twenty bare starts of the interpreter.

    cargo build --release
    python3 benches/python_steps.py target/release/flow [FILES]

Each step is `x = 1`. A run with one step is taken off a run with twenty-one, so that the start of `flow`, its check and the trial of the sandbox do not count; they are
printed by themselves. With FILES, a `program` step is measured, too, in a project that holds as many files: its folder is searched for what the program may
not read.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FLOW = Path(sys.argv[1]).resolve()
FILES = int(sys.argv[2]) if len(sys.argv) > 2 else 0
STEPS = 20
TIMES = 5


def steps(count, kind):
    step = "  - { id: s%d, python: x = 1, returns: [x]%s }" if kind == "python" else '  - { id: s%d, program: ["true"], reads_only: true%s }'
    lines = [step % (n, ", needs: [s%d]" % (n - 1) if n else "") for n in range(count)]
    return "flow: 1\nname: %s_%d\nsteps:\n" % (kind, count) + "\n".join(lines) + "\n"


def seconds(command, folder, **environment):
    took = []
    for _ in range(TIMES):
        began = time.monotonic()
        done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        took.append(time.monotonic() - began)
        if done.returncode != 0:
            sys.exit("%s: exit %d\n%s" % (command, done.returncode, done.stderr.decode()))
    return statistics.median(took)


def each(folder, kind, **environment):
    """Milliseconds of one step, and of a run with one step."""
    one, many = (seconds([FLOW, "run", "%s_%d.yaml" % (kind, n), "-q", "--trust"], folder, **environment) for n in (1, STEPS + 1))
    return 1000 * (many - one) / STEPS, 1000 * one


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "flow.toml").touch()
        for kind in ("python", "program"):
            for count in (1, STEPS + 1):
                (folder / ("%s_%d.yaml" % (kind, count))).write_text(steps(count, kind))
        bare = 1000 * seconds(["sh", "-c", "for n in $(seq %d); do python3 -I -c 'x = 1'; done" % STEPS], folder) / STEPS
        print("bare python3 -I       %6.1f ms a start" % bare)
        for sandbox in ("landlock", "bubblewrap"):
            step, one = each(folder, "python", FLOW_SANDBOX=sandbox)
            print("python, %-12s  %6.1f ms a step, %.2f of the bare start; a run of one step %.0f ms" % (sandbox, step, step / bare, one))
        if FILES:
            for sandbox in ("landlock", "bubblewrap"):
                few, _ = each(folder, "program", FLOW_SANDBOX=sandbox)
                print("program, %-12s %6.1f ms a step" % (sandbox, few), end="", flush=True)
                data = folder / "data"
                if not data.exists():
                    for number in range(FILES):
                        if number % 1000 == 0:
                            (data / str(number // 1000)).mkdir(parents=True)
                        (data / str(number // 1000) / ("%d.txt" % number)).touch()
                many, _ = each(folder, "program", FLOW_SANDBOX=sandbox)
                print("; in a project of %d files %.1f ms" % (FILES, many))


if __name__ == "__main__":
    main()
