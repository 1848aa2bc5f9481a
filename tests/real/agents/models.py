"""Endpoints that speak as two providers do, for agent programs: Anthropic's messages and OpenAI's responses, both streamed. The answer is the end of the user's text;
`RUN: command` in it asks once for the program's shell.

    models.py PORT
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../pipelines/twin_review/agents"))
import findings  # noqa: E402


def texts(content):
    if isinstance(content, str):
        return [content]
    return [part.get("text") or "" for part in content or [] if isinstance(part, dict) and "text" in str(part.get("type"))]


def command_in(said):
    return next((line[5:] for line in said.splitlines() if line.startswith("RUN: ")), None)


def review(users, read=""):
    """What a reviewer of `pipelines/twin_review` says, if that is what was asked last: with what it read of the files if it was to read them."""
    asked = next((text for text in reversed(users) if "This is turn " in text or "Write one patch" in text), None)
    if asked is None:
        return None
    if "Write one patch" in asked:
        return findings.PATCH
    number = asked.split("This is turn ")[1].split(" ")[0]
    read = " I read: %s." % read.strip() if read else ""
    return "Turn %s: tickets.py:12 reads before the lock, and bill.py:5 loses the rest.%s\nAGREED" % (number, read)


class Models(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def events(self, events, named):
        lines = [("event: %s\n" % event["type"] if named else "") + "data: " + json.dumps(event) + "\n\n" for event in events]
        body = "".join(lines).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path.split("?")[0].endswith("/messages"):
            return self.events(messages(asked), True)
        if self.path.split("?")[0].endswith("/responses"):
            return self.events(responses(asked), True)
        self.send_error(404)

    def do_GET(self):
        self.send_error(404)


def messages(asked):
    """https://docs.anthropic.com/en/docs/build-with-claude/streaming"""
    turns = asked.get("messages", [])
    last = turns[-1].get("content") if turns else ""
    results = [part for part in last if isinstance(part, dict) and part.get("type") == "tool_result"] if isinstance(last, list) else []
    # Programs put long notes of their own beside what the user said.
    users = [text for turn in turns if turn.get("role") == "user" for text in texts(turn.get("content"))]
    said = ([text for text in users if len(text) < 500 and not text.lstrip().startswith("<")] or [""])[-1]
    reviewed = review(users)
    command, has_shell = command_in(said), any(tool.get("name") == "Bash" for tool in asked.get("tools", []))
    yield {"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "model": asked.get("model"), "content": [], "stop_reason": None, "usage": {"input_tokens": 10, "output_tokens": 1}}}
    if command and has_shell and not results:
        arguments = json.dumps({"command": command, "description": "Run it"})
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": arguments}}
        reason = "tool_use"
    else:
        text = "Tool: " + json.dumps([part.get("content") for part in results]) if results else "Heard: " + said.strip()[-200:]
        text = reviewed or text
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        reason = "end_turn"
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def outputs(output):
    """The text of what a tool gave back: behind its last line of notes."""
    parts = [output] if isinstance(output, str) else texts(output)
    return [part.rsplit("Output:", 1)[-1].strip() for part in parts]


# The shells of Codex, each with the arguments that run a command.
SHELLS = {
    "exec_command": lambda command: {"cmd": command},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-c", command]},
}


def responses(asked):
    """https://platform.openai.com/docs/api-reference/responses-streaming"""
    items = [item for item in asked.get("input", []) if isinstance(item, dict)]
    users = [text for item in items if item.get("role") == "user" for text in texts(item.get("content"))]
    said = ([text for text in users if len(text) < 500 and not text.lstrip().startswith("<")] or [""])[-1].strip()
    asks = [at for at, item in enumerate(items) if item.get("role") == "user"]
    results = [text for item in items[asks[-1] if asks else 0:] if item.get("type") == "function_call_output" for text in outputs(item.get("output"))]
    # A reviewer looks at the line that it speaks of.
    command = command_in(said) or ("sed -n 12p tickets.py" if review(users) else None)
    shell = next((tool.get("name") for tool in asked.get("tools", []) if tool.get("name") in SHELLS), None)
    if command and shell and not results:
        item = {"type": "function_call", "id": "f1", "call_id": "c1", "name": shell, "arguments": json.dumps(SHELLS[shell](command)), "status": "completed"}
    else:
        heard = "Tool: " + " ".join(results) if results else "Heard: " + said[-200:]
        text = review(users, results[-1] if results else "") or heard
        item = {"type": "message", "id": "i1", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None, "total_tokens": 15}
    yield {"type": "response.created", "response": {"id": "r1"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": "r1", "output": [item], "usage": usage}}


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Models).serve_forever()
