"""G1: SIGINT, SIGTERM and SIGHUP at random moments of a run that has an MCP server as a child and a call of a model out that nobody answers."""

import concurrent.futures
import pathlib
import random
import signal
import subprocess
import time

from loop import live
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
# The program has 5 s, and 3 s more for what it started. A run that hangs takes longer than this, a machine under load does not.
MOST_SECONDS = 30


def shape() -> Shape:
    head = MODEL + "tools: { rooms: { command: python3, args: [server.py, .], allow: [book], connect_timeout: 60s } }\nagents: { writer: { instructions: You write. } }\n"
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


def threads(process: int) -> list:
    """What each thread of a process that should have ended waits for."""
    found = []
    for thread in pathlib.Path(f"/proc/{process}/task").glob("*"):
        try:
            found.append(((thread / "comm").read_text().strip(), (thread / "wchan").read_text(), (thread / "syscall").read_text().split()[0]))
        except OSError:
            continue
    return found


def one(flow: Flow, own: Shape, result: dict, which: int, after: float) -> float:
    """A run that is signalled after a while. Gives how long it took to end."""
    place = flow.place(own)
    flow.receiver.hanging.add(place.name)
    process = place.start(*own.run())
    time.sleep(after)
    process.send_signal(which)
    sent = time.monotonic()
    try:
        _, told = process.communicate(timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        raise AssertionError((which, f"signalled after {after:.3f} s", process.poll(), threads(process.pid), children(place))) from None
    took = time.monotonic() - sent
    if process.returncode == -which:
        assert not place.run()[1], f"{which} came before the program listened for it, and yet a run had begun"
    else:
        assert process.returncode == EXITS[which], (which, process.returncode, told)
    while left := children(place):
        assert time.monotonic() - sent < MOST_SECONDS, (which, left)
        time.sleep(0.1)
    flow.receiver.hanging.discard(place.name)
    life = live(place, {})
    assert life.result == result, (life.result, result)
    run, _ = place.run()
    assert all(count <= 2 for count in flow.receiver.seen(place.name, run).values())
    place.remove()
    return took


def signalled(flow: Flow, count: int, seed: int) -> dict:
    chance, own = random.Random(seed), shape()
    calm = live(flow.place(own), {})
    # Also where this script was started with `nohup`, or in the background of a shell that ignores Ctrl-C there: what is ignored when a program
    # starts is lost until it listens.
    before = [(which, signal.signal(which, handler)) for which, handler in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler))]
    with concurrent.futures.ThreadPoolExecutor(max_workers=10) as pool:
        runs = [pool.submit(one, flow, own, calm.result, list(EXITS)[n % 3], chance.random() * 2) for n in range(count)]
        longest = max(run.result() for run in runs)
    for which, handler in before:
        signal.signal(which, handler)
    return {"runs": count, "the last one ended after": f"{longest:.1f} s"}
