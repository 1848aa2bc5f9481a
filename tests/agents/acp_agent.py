"""A program that speaks the Agent Client Protocol, version 1, on its standard input and output: for tests, which tell it how to misbehave.

    acp_agent.py [--do KIND]

`--do obey`: it does what its prompt tells it, as `RUN: command`, `EDIT: path`, `READ: path` or `FETCH: url`, after it has asked for the permission.
"""
import json
import os
import sys
import time

KIND = sys.argv[sys.argv.index("--do") + 1] if "--do" in sys.argv else "answer"
COUNTER = os.path.join(os.environ["HOME"], "calls")
CALLS = int(open(COUNTER).read()) + 1 if os.path.exists(COUNTER) else 1


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def heard():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def say(session, text):
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": session, "update": chunk})


def permitted(session, kind, raw, path=None):
    call = {"toolCallId": "t1", "title": "Do it", "kind": kind, "rawInput": raw}
    if path:
        call["locations"] = [{"path": os.path.abspath(path)}]
    always = "yes" if KIND == "twins" else "always"
    options = [
        {"optionId": always, "name": "Always", "kind": "allow_always"},
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    if KIND == "option":
        options.insert(0, {"optionId": "hour", "name": "For an hour", "kind": "allow_hour"})
    send(id="p1", method="session/request_permission", params={"sessionId": session, "toolCall": call, "options": options})
    if KIND == "asks_and_dies":
        os._exit(7)
    if KIND == "asks_and_ends":
        return "not waited for"
    while True:
        message = heard()
        if message.get("id") == "p1":
            outcome = message.get("result", {}).get("outcome", {})
            return outcome.get("optionId", outcome.get("outcome"))


def answer(session, prompt):
    if KIND == "hang":
        time.sleep(600)
    if KIND == "crash" or KIND == "crash_at_2" and CALLS == 2:
        print("Segmentation fault", file=sys.stderr, flush=True)
        os.kill(os.getpid(), 11)
    if KIND == "noise":
        for _ in range(200):
            print("not a message", flush=True)
    if KIND == "blank":
        while True:
            print("", flush=True)
    if KIND == "endless":
        while True:
            say(session, "x" * 65536)
    if KIND == "flood":
        while True:
            os.write(2, b"warning: something\n" * 3000)
    if KIND == "reach":
        import urllib.request
        try:
            urllib.request.urlopen("https://api.example.com/v1", timeout=20)
        except OSError:
            os._exit(1)
    if KIND == "huge":
        print("x" * 40_000_000, flush=True)
    if KIND == "asks":
        for number in range(2000):
            send(id="f%d" % number, method="fs/read_text_file", params={"sessionId": session, "path": "/etc/passwd"})
            heard()
    if KIND in ("refuse", "banana", "no_reason"):
        say(session, "A text that may be cut")
        return {"refuse": "refusal", "banana": "banana", "no_reason": None}[KIND]
    if KIND == "long":
        say(session, "x" * 9_000_000)
        return "end_turn"
    if KIND == "parts":
        for content in ({"type": "text", "text": "Known. "}, {"type": "hologram", "text": "New."}, "bare", {"type": "image", "data": "", "mimeType": "image/png"}):
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            send(method="session/update", params={"sessionId": session, "update": update})
        send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": "mood", "mood": "good"}})
        say(session, "Known, too.")
        return "end_turn"
    if KIND == "escapes":
        say(session, "\x1b[2JPlain \x1b[31mred\x1b[0m {{ secrets.KEY }}")
        return "end_turn"
    if KIND == "read":
        send(id="f1", method="fs/read_text_file", params={"sessionId": session, "path": "/etc/passwd"})
        say(session, "read: " + json.dumps(heard().get("error", {}).get("code")))
        return "end_turn"
    if KIND == "strangers":
        say("another", "This is not for you. ")
        did = str(permitted("another", "think", {}))
        say(session, "Mine: " + did)
        return "end_turn"
    did = []
    for line in prompt.splitlines() if KIND in ("obey", "twins", "obey_and_crash", "asks_and_dies", "asks_and_ends", "option") else []:
        if line.startswith("RUN: "):
            did.append("run " + str(permitted(session, "execute", {"command": line[5:]})))
        if line.startswith("EDIT: "):
            did.append("edit " + str(permitted(session, "edit", {}, line[6:])))
        if line.startswith("READ: "):
            did.append("read " + str(permitted(session, "read", {"file_path": line[6:]})))
        if line.startswith("FETCH: "):
            did.append("fetch " + str(permitted(session, "fetch", {"url": line[7:]})))
    if KIND == "obey_and_crash":
        os.kill(os.getpid(), 11)
    say(session, "I read ")
    say(session, prompt.strip().splitlines()[-1][:80] + " (call %d)." % CALLS + "".join(" " + one + "." for one in did))
    return "end_turn"


def main():
    with open(COUNTER, "w") as file:
        file.write(str(CALLS))
    print("A banner that is no message", flush=True)
    while True:
        message = heard()
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize":
            version = 2 if KIND == "version" else 1
            send(id=message["id"], result={"protocolVersion": version, "agentCapabilities": {"loadSession": True}})
        elif method == "session/new":
            if KIND == "auth":
                send(id=message["id"], error={"code": -32000, "message": "Authentication required"})
            elif KIND == "no_session":
                send(id=message["id"], result={"id": "s-1"})
            else:
                send(id=message["id"], result={"sessionId": "s-%d" % CALLS})
        elif method == "session/load":
            say(params["sessionId"], "what was said before")
            send(id=message["id"], result={})
        elif method == "session/prompt":
            prompt = "".join(block.get("text", "") for block in params["prompt"])
            reason = answer(params["sessionId"], prompt)
            cost = {"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": {"amount": 1e300 if KIND == "dear" else 0.02, "currency": "USD"}}
            send(method="session/update", params={"sessionId": params["sessionId"], "update": cost})
            if KIND == "tells_and_crashes":
                os.kill(os.getpid(), 9)
            send(id=message["id"], result={"stopReason": reason, "usage": {"totalTokens": 12, "inputTokens": 8, "outputTokens": 4}})
        elif "id" in message:
            send(id=message["id"], error={"code": -32601, "message": "no such method"})


main()
