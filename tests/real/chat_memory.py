#!/usr/bin/env python3
"""Talks with `flow chat --no-tty` for a while, and holds it to this: what the process keeps in memory does not grow with the session.

    tests/real/chat_memory.py target/debug/flow [MINUTES]

Without MINUTES it takes one. Each answer is checked. The memory (VmRSS), the open files and the threads are read from /proc while the chat runs; the last
tenth of the session may have no more than 8 MB, or a tenth, more than the tenth after the warm-up, and no more open files or threads.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Messages that are not judged: pools, caches and the history that a model sees fill up.
WARM_UP = 60
# Seconds between two messages: a person is slower, and the machine has others to serve.
PAUSE = 0.05
# Most growth, in kB.
MOST_GROWTH = 8_000

AGENT = """flow: 1
models: {{ default: {{ provider: openai, model: mock, base_url: "http://127.0.0.1:{port}/v1" }} }}
agents:
  helper: {{ instructions: You answer in one sentence. }}
"""


class Answers(BaseHTTPRequestHandler):
    """Says which message it was sent last, and how many it was sent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        text = f"{asked['messages'][-1]['content']} of {len(asked['messages'])}"
        usage = {"prompt_tokens": 9, "completion_tokens": 4}
        answer = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}
        body = json.dumps(answer).encode()
        # In one piece: two would wait for each other.
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + body)

    def log_message(self, *_):
        pass


def looked_at(pid: int) -> tuple[int, int, int]:
    """Resident memory in kB, open files, threads."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(fields["Threads"])


def main() -> int:
    flow, minutes = os.path.realpath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ} | {"FLOW_CONFIG": ""}
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "flow.toml").write_text("")
        (pathlib.Path(folder) / "agents.yaml").write_text(AGENT.format(port=server.server_port))
        words = [flow, "chat", "agents.yaml", "--no-tty", "--quiet", "--trust"]
        chat = subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        seen, times, until = [], [], time.monotonic() + minutes * 60
        while time.monotonic() < until:
            number = len(seen) + 1
            began = time.monotonic()
            chat.stdin.write(f"Message {number}\n")
            chat.stdin.flush()
            said = chat.stdout.readline()
            times.append(time.monotonic() - began)
            if not said.startswith(f"Message {number} of "):
                print(f"message {number} was answered with {said!r}")
                chat.kill()
                return 1
            seen.append(looked_at(chat.pid))
            if number == WARM_UP or number % 2_000 == 0:
                print(f"{number:>6} messages: {seen[-1][0]:>7} kB, {seen[-1][1]} files, {seen[-1][2]} threads", flush=True)
            time.sleep(PAUSE)
        chat.stdin.close()
        exit_code = chat.wait(timeout=60)
        kept = sum(file.stat().st_size for file in (pathlib.Path(folder) / ".flow").rglob("*") if file.is_file())
    judged = seen[WARM_UP:]
    if exit_code != 0 or len(judged) < 20:
        print(f"the chat ended with {exit_code} after {len(seen)} messages")
        return 1
    tenth = len(judged) // 10
    first, last = ([statistics.median(column) for column in zip(*part)] for part in (judged[:tenth], judged[-tenth:]))
    first_ms, last_ms = (statistics.median(part) * 1e3 for part in (times[WARM_UP:][:tenth], times[-tenth:]))
    print(f"{len(seen)} messages in {minutes:g} minutes; the store has {kept / 1e6:.1f} MB")
    print(f"memory {first[0]:.0f} kB, then {last[0]:.0f} kB; files {first[1]:.0f}, {last[1]:.0f}; threads {first[2]:.0f}, {last[2]:.0f}")
    print(f"an answer took {first_ms:.1f} ms, then {last_ms:.1f} ms")
    grown = last[0] - first[0] > max(MOST_GROWTH, first[0] / 10) or last[1] > first[1] or last[2] > first[2]
    print("FAILED: it grows" if grown else "ok: it does not grow")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
