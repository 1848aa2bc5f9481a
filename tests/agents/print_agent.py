"""A program that answers one prompt and ends, as agent programs with a print mode do: for tests, which tell it how to misbehave.

    print_agent.py [--do KIND] [--model NAME] [--resume ID] [--read-only | --edit] [--allow TOOL]…

The prompt is on standard input. It counts its calls in its home.
"""
import json
import os
import subprocess
import sys
import time


def main():
    arguments = sys.argv[1:]
    value = lambda name: arguments[arguments.index(name) + 1] if name in arguments else None
    if "--tell-version" in arguments:
        print("stand-in 1.2")
        return
    prompt = sys.stdin.read()
    counter = os.path.join(os.environ["HOME"], "calls")
    calls = int(open(counter).read()) + 1 if os.path.exists(counter) else 1
    with open(counter, "w") as file:
        file.write(str(calls))
    kind = value("--do") or "answer"
    if kind == "hang":
        time.sleep(600)
    if kind == "crash" or kind == "crash_at_2" and calls == 2:
        print("Segmentation fault", file=sys.stderr)
        os.kill(os.getpid(), 11)
    if kind == "crash_once" and calls == 1:
        sys.exit(3)
    if kind == "memory":
        held = b"x" * 500_000_000
        print(len(held), file=sys.stderr)
    if kind == "garbage":
        os.write(1, b"\x00\xff{{ not json\n" * 100)
        return
    if kind == "endless":
        while True:
            print("x" * 65536)
    if kind == "flood":
        while True:
            os.write(2, b"warning: something\n" * 3000)
    if kind == "reach":
        import urllib.request
        urllib.request.urlopen("https://api.example.com/v1", timeout=20)
    if kind == "error":
        print(json.dumps({"subtype": "success", "is_error": True, "result": "API Error: no such key"}))
        return
    said = "I read %s (call %d)." % (prompt.strip().splitlines()[-1][:80], calls)
    if kind == "escapes":
        said = "\x1b[2J\x1b]0;owned\x07Plain \x1b[31mred\x1b[0m {{ secrets.KEY }}"
    if kind == "look":
        def there(path):
            try:
                os.listdir(path) if os.path.isdir(path) else open(path).read()
                return "read"
            except OSError as error:
                return type(error).__name__
        def written(path):
            try:
                open(path, "w").close()
                return "written"
            except OSError as error:
                return type(error).__name__
        seen = {path: there(path) for path in ["notes.txt", "../secret.txt", ".env", "/etc/passwd", "/root", "/home"]}
        seen["write here"] = written("made.txt")
        seen["write out"] = written("out/made.txt")
        seen["home"] = sorted(os.listdir(os.environ["HOME"]))
        seen["key"] = os.environ.get("AGENT_KEY", "")
        seen["names"] = sorted(name for name in os.environ if name not in ("PWD", "SHLVL", "_", "OLDPWD"))
        said = json.dumps(seen)
    if kind == "prompt":
        said = json.dumps({"resumed": value("--resume"), "prompt": prompt})
    answer = json.dumps({
        "is_error": False, "result": said, "session_id": "session-1", "arguments": arguments,
        "usage": {"input": len(prompt), "output": len(said)}, "cost": 0.01,
        "denials": [{"tool_name": "Shell"}] if kind == "denied" else [],
    })
    print(answer[: len(answer) // 2] if kind == "half" else answer, end="" if kind == "half" else "\n", flush=True)
    if kind == "holder":
        # Its child keeps the standard output open.
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    if kind == "lingers" or kind == "half":
        time.sleep(600)
    if kind == "answer_and_crash":
        os.kill(os.getpid(), 9)


main()
