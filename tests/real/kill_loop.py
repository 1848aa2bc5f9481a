#!/usr/bin/env python3
"""Kills `flow run` at calls to the system that its journal makes, resumes it, and holds it to the guarantee of docs/cli.md.

    tests/real/kill_loop.py target/debug/flow [MOST_POINTS]

After each kill: a step that the journal had as done is not run again, no step runs more than once more, the result is that of a run that was
not killed, and the journal is sound. Needs strace; where tracing is not permitted the script says so, and fails only if FLOW_REQUIRE_TRACE=1.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CALLS = ["openat", "pwrite64", "write", "fdatasync", "fsync", "ftruncate", "unlink"]
STEPS = ["one", "two", "three", "four"]
SEEN = collections.Counter()


class Counts(BaseHTTPRequestHandler):
    """Counts what is posted, by path."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        SEEN[self.path.strip("/")] += 1
        body = json.dumps({"done": self.path}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def pipeline(port: int) -> str:
    steps = "".join(
        f'  - {{ id: {name}, http: "POST http://127.0.0.1:{port}/{name}", body: {{ of: {name} }}, retry: {{ max_attempts: 2, on: [unknown_outcome] }} }}\n'
        for name in STEPS
    )
    told = " ".join(f"{{{{ steps.{name}.output.body.done }}}}" for name in STEPS)
    return f'flow: 1\nname: counts\ndescription: Posts.\nsteps:\n{steps}outputs: {{ text: "{told}" }}\n'


def main() -> int:
    flow, most = os.path.realpath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode != 0:
        print("SKIPPED: system calls cannot be traced here")
        return 1 if os.environ.get("FLOW_REQUIRE_TRACE") == "1" else 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Counts)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ} | {"FLOW_CONFIG": ""}

    def place(has_journal: bool) -> pathlib.Path:
        folder = pathlib.Path(tempfile.mkdtemp(dir=work))
        (folder / "flow.toml").write_text("")
        (folder / "p.yaml").write_text(pipeline(server.server_port))
        if has_journal:
            (folder / "earlier.yaml").write_text("flow: 1\nname: earlier\ndescription: Adds.\nsteps: [{ id: a, set: 1 }]\noutputs: { n: steps.a.output }\n")
            assert call(folder, "run", "earlier.yaml", "-q")[0] == 0
        SEEN.clear()
        return folder

    def call(folder, *arguments, before=()):
        done = subprocess.run([*before, flow, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    run = ["run", "p.yaml", "--trust", "-q"]
    with tempfile.TemporaryDirectory() as work:
        log = pathlib.Path(work) / "trace"
        killed = resumed = tried = 0
        # The thread that makes a journal file calls the system more often than the one that writes into it, and calls are counted in each thread:
        # only where the file is there already, every point of the journal's own thread is reached.
        for has_journal in (False, True):
            exit, expected, told = call(place(has_journal), *run, before=["strace", "-f", "-o", str(log), "-e", "trace=" + ",".join(CALLS)])
            assert exit == 0 and all(SEEN[name] == 1 for name in STEPS), (exit, told, SEEN)
            # `when=` counts in each thread.
            counted = collections.Counter(re.findall(r"^(\d+) +(\w+)\(", log.read_text(), re.M))
            points = sorted({(name, n) for (_, name), count in counted.items() for n in range(1, count + 1)})
            tried += len(points)
            stride = max(1, -(-len(points) // most))
            for name, n in points[::stride]:
                folder = place(has_journal)
                inject = ["strace", "-f", "-o", "/dev/null", "-e", "trace=" + name, "-e", f"inject={name}:signal=KILL:when={n}"]
                exit, out, told = call(folder, *run, before=inject)
                # Threads differ from run to run, so that a late point may not be reached.
                if exit == 0:
                    assert out == expected, (name, n, out)
                    continue
                assert exit in (-9, 137), (name, n, exit, told)
                killed += 1
                exit, out, told = call(folder, "runs", "list", "--json")
                runs = [run for run in (json.loads(out) if out.strip() else []) if run["pipeline"] == "counts"]
                if not runs:
                    assert sum(SEEN.values()) == 0, (name, n, "something was done before anything was written", SEEN)
                    continue
                record = json.loads(call(folder, "runs", "export", runs[0]["run"])[1])
                done = {step["step"] for step in record["steps"] if step["status"] == "succeeded"}
                before = dict(SEEN)
                if record["status"] is None or record["status"] == "running":
                    resumed += 1
                    exit, out, told = call(folder, "runs", "resume", runs[0]["run"], "--trust", "-q")
                    assert (exit, out) == (0, expected), (name, n, exit, out, told)
                for step in STEPS:
                    assert step not in done or SEEN[step] == before.get(step), (name, n, step, "was done, and done again")
                    assert 1 <= SEEN[step] <= 2, (name, n, step, SEEN[step])
                exit, out, told = call(folder, "doctor", "--trust")
                assert f"runs: {1 + has_journal}, all readable" in out, (name, n, out)
        assert killed > 20 and resumed > 5, (killed, resumed)
        print(f"killed at {killed} of {tried} points, resumed {resumed} runs: nothing was lost and nothing done twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
