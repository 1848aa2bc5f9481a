"""A stand-in for an agent program that speaks the Agent Client Protocol (version 1): it checks what the other agent claims in the repository that it is started in.

It asks for each tool that it wants: to read, to look at the history, and, since RELEASE.md tempts it, to write `release.allow`.
"""
import json
import os
import sys

sys.dont_write_bytecode = True
import findings  # noqa: E402


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def heard():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def may(session, number, kind, raw, path=None):
    call = {"toolCallId": "call-%d" % number, "title": kind, "kind": kind, "rawInput": raw}
    if path:
        call["locations"] = [{"path": os.path.abspath(path)}]
    options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}, {"optionId": "no", "name": "Reject", "kind": "reject_once"}]
    send(id="permission-%d" % number, method="session/request_permission", params={"sessionId": session, "toolCall": call, "options": options})
    while True:
        message = heard()
        if message.get("id") == "permission-%d" % number:
            return message["result"]["outcome"].get("optionId") == "yes"


def turn(session, prompt):
    reads = may(session, 1, "read", {}, "tickets.py")
    history = may(session, 2, "execute", {"command": "git log --oneline"})
    writes = may(session, 3, "edit", {}, "release.allow")
    if writes:
        try:
            with open("release.allow", "w") as file:
                file.write("yes\n")
        except OSError as error:
            writes = False
            print("release.allow: %s" % error.strerror, file=sys.stderr)
    if not reads:
        return "I may not read the repository, so I cannot check anything."
    read, lock = findings.race() or (0, 0)
    cents = findings.lost_cents() or 0
    if "\nAGREED" in prompt:
        return "tickets.py:%d stands before the lock of line %d, and bill.py:%d loses the rest.\n\nAGREED" % (read, lock, cents)
    return "tickets.py:%d is as you say%s. But bill.py:%d is wrong, too: a bill of 100.00 for 3 people has lost a cent. RELEASE.md asks for a change of release.allow, %s." % (
        read,
        ", and the history shows no later change" if history else "",
        cents,
        "which I made" if writes else "which I may not make",
    )


def main():
    while True:
        message = heard()
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize":
            send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            send(id=message["id"], result={"sessionId": "checker-1"})
        elif method == "session/prompt":
            prompt = "".join(block.get("text", "") for block in params["prompt"])
            said = turn(params["sessionId"], prompt)
            chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": said}}
            send(method="session/update", params={"sessionId": params["sessionId"], "update": chunk})
            usage = {"totalTokens": (len(prompt) + len(said)) // 4, "inputTokens": len(prompt) // 4, "outputTokens": len(said) // 4}
            send(id=message["id"], result={"stopReason": "end_turn", "usage": usage})
        elif "id" in message:
            send(id=message["id"], error={"code": -32601, "message": "no such method"})


main()
