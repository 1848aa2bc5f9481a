"""What runs act on: it counts each effect and each call of a model, and answers the same in every run."""

import collections
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver:
    """One server for all places; each place has an address of its own, so that places count apart."""

    def __init__(self):
        self.effects = collections.defaultdict(collections.Counter)
        self.calls = collections.defaultdict(collections.Counter)
        self.order = collections.defaultdict(list)
        self.hanging = set()
        self.lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def do_POST(self):
                length = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(length) or b"null")
                _, place, what, *name = self.path.split("/")
                if what == "v1":
                    answer = receiver.model(place, body)
                else:
                    with receiver.lock:
                        receiver.effects[place][self.headers.get("idempotency-key", "no key")] += 1
                    answer = {"done": "/".join([what, *name])}
                while place in receiver.hanging:
                    time.sleep(0.05)
                said = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                """Whoever called was killed."""

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def address(self, place: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{place}"

    def model(self, place: str, request: dict) -> dict:
        """A chat endpoint. The system message names the agent, the first line of the prompt the step."""
        messages = request["messages"]
        last = next(message["content"] for message in reversed(messages) if message["role"] == "user")
        known = json.dumps([{key: message.get(key) for key in ("role", "content", "tool_calls")} for message in messages], sort_keys=True)
        call = f"{last.splitlines()[0]} {hashlib.sha256(known.encode()).hexdigest()[:8]}"
        with self.lock:
            if call not in self.calls[place]:
                self.order[place].append(call)
            self.calls[place][call] += 1
        return {"model": "mock", "choices": [answer(messages, last)], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}

    def seen(self, place: str, run: str) -> dict:
        """How often each effect of a run happened, by its idempotency key without the id of the run. No run: all that happened."""
        with self.lock:
            of = self.effects[place].items()
            return {key.removeprefix(f"{run}-"): count for key, count in of if not run or not key.startswith("r_") or key.startswith(run)}

    def asked(self, place: str) -> dict:
        """How often the model was asked each thing."""
        with self.lock:
            return dict(self.calls[place])


def said(text: str) -> dict:
    return {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


def wants(turn: int, calls: list) -> dict:
    asked = [
        {"id": f"call_{turn}_{place}", "type": "function", "function": {"name": tool, "arguments": json.dumps(with_)}}
        for place, (tool, with_) in enumerate(calls)
    ]
    return {"message": {"role": "assistant", "content": None, "tool_calls": asked}, "finish_reason": "tool_calls"}


def answer(messages: list, prompt: str) -> dict:
    """What the model says: it follows from the messages alone."""
    agent = messages[0]["content"]
    results = [message["content"] for message in messages if message["role"] == "tool"]
    if "You order." in agent:
        if len(results) < 2:
            return wants(1, [("order", {"id": "1"}), ("order", {"id": "2"})])
        return wants(2, [("order", {"id": "3"})]) if len(results) < 3 else said("Ordered: " + " ".join(results))
    if "You plan." in agent:
        steps = [{"id": f"w{n}", "use": "order", "with": {"id": str(n)}, "prompt": None, "depends_on": []} for n in (1, 2)]
        steps.append({"id": "tell", "use": "writer", "prompt": "step work/tell", "with": None, "depends_on": ["w1", "w2"]})
        return said(json.dumps({"strategy": "parallel", "reasoning": "They are apart.", "steps": steps}))
    if "You remember." in agent:
        return said(f"I know {sum(message['role'] != 'system' for message in messages) - 1} messages.")
    return said("A better text." if "\n" in prompt else "A text.")
