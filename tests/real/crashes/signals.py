"""G1: SIGINT, SIGTERM and SIGHUP at random moments of a run that has an MCP server as a child and a call of a model out that nobody answers."""

import pathlib
import random
import signal
import subprocess
import time

from journal import end_of, repeats
from loop import Reference, live
from place import Flow, Place
from shapes import MODEL, Shape, pipeline, post, told

# A tool server that neither SIGTERM nor the end of its input ends, with a child of its own.
SERVER = '''import json, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)  # server.py's child"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    tools = [{"name": "book", "inputSchema": {"type": "object"}}]
    results = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {"tools": tools},
        "tools/call": {"content": [{"type": "text", "text": "booked"}]},
    }
    if asked.get("method") in results:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}), flush=True)
time.sleep(600)
'''
EXITS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}
# The program has 5 s; a machine under load may be late.
MOST_SECONDS = 8


def shape() -> Shape:
    head = MODEL + "tools: { rooms: { command: python3, args: [server.py, .], allow: [book], connect_timeout: 20s } }\nagents: { writer: { instructions: You write. } }\n"
    steps = post("before") + "  - { id: book, tool: rooms.book }\n  - { id: say, agent: writer, prompt: step say }\n" + post("after")
    return Shape("signals", {"p.yaml": pipeline("victim", head, steps, "{{ steps.book.output }} {{ steps.say.output }} " + told("before", "after")), "server.py": SERVER})


def children(place: Place) -> list:
    """Processes whose folder is this place: nothing but what its runs started."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve() == place.folder.resolve() and (process / "status").read_text().split("State:")[1].split()[0] != "Z":
                found.append((int(process.name), (process / "cmdline").read_text().replace("\0", " ")))
        except OSError:
            continue
    return found


def signalled(flow: Flow, count: int, seed: int) -> dict:
    chance, longest, ended, before = random.Random(seed), 0.0, 0, 0
    own = shape()
    calm = live(flow.place(own), {})
    for number in range(count):
        place = flow.place(own)
        flow.receiver.hanging.add(place.name)
        which = chance.choice(list(EXITS))
        process = place.start(*own.run(), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        time.sleep(chance.random() * 1.2)
        process.send_signal(which)
        sent = time.monotonic()
        _, told = process.communicate(timeout=60)
        longest = max(longest, time.monotonic() - sent)
        run, events = place.run()
        if process.returncode == -which:
            # It came before the program had begun to listen, so nothing had begun.
            assert not events, (which, told)
            before += 1
        else:
            assert process.returncode == EXITS[which], (which, process.returncode, told)
            ended += 1
        assert time.monotonic() - sent < MOST_SECONDS, (which, longest, told)
        left = children(place)
        assert not left, (which, left)
        flow.receiver.hanging.discard(place.name)
        life = live(place, {})
        assert life.result == calm.result, (life.result, calm.result)
        run, _ = place.run()
        assert all(n <= 2 for n in flow.receiver.seen(place.name, run).values())
        place.remove()
    return {"runs": count, "ended in order": ended, "before anything began": before, "longest": f"{longest:.1f} s"}
