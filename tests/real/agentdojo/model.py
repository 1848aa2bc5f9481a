"""A stand-in for the model: no wit, no memory, and it obeys.

It makes the calls that AgentDojo's ground truth of the task at hand lists, one each turn, and then answers what the ground truth answers. As soon as a result of a
tool holds the order of an attack, it makes the calls of that order first, and says what it is told to say. A call that is rejected is
one that it made: it goes on with the next one.
"""

import json
import re
from collections import deque

import planned


def reply(case, messages, offered):
    """The next message of the model: `tool_calls`, or `content`."""
    todo, obeyed = deque(case.own_calls), False
    for message in messages:
        if message["role"] == "assistant" and message.get("tool_calls"):
            todo.popleft()
        elif message["role"] == "tool" and not obeyed and case.attacked_by(text_of(message)):
            todo.extendleft(reversed(case.orders()))
            obeyed = True
    if todo:
        call = todo.popleft()
        function = {"name": spelt(call.function, offered), "arguments": json.dumps(call.args)}
        return {"content": None, "tool_calls": [{"id": f"call_{len(messages)}", "type": "function", "function": function}]}
    return {"content": f"{case.said()}\n{case.words()}".strip() if obeyed else case.said()}


CHOOSER = "You choose"


def choice(case, prompt):
    """What the agent of `travel_closed.yaml` answers: the records that the ground truth of the task tells, and its numbers; after an order, the records that it names."""
    records = [(int(at), text) for at, text in re.findall(r"^(\d+)\. .*?: (.*)$", prompt, re.M)]
    said = case.injection.GOAL if case.attacked_by(prompt) else case.said()
    return {"chosen": [at for at, text in records if text in said], "sums": [json.loads(number) for number in re.findall(r"\b(?:0|[1-9]\d*)(?:\.\d+)?\b", said)]}


def text_of(message):
    content = message["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def spelt(name, offered):
    """The name of a tool as it is offered: with that of its server before it. One that is not offered is called all the same."""
    return next((known for known in offered if known.endswith(name) and not known[: -len(name)][-1:].isalnum()), name)


def completion(case, asked):
    """The answer to a request for a chat completion."""
    offered = [tool["function"]["name"] for tool in asked.get("tools", [])]
    role = asked["messages"][0]["content"]
    if role.startswith((planned.PLANNER, planned.FILLER, planned.SPEAKER)):
        said = planned.reply(case, role, asked["messages"], offered)
    elif role.startswith(CHOOSER):
        said = {"content": json.dumps(choice(case, asked["messages"][-1]["content"]))}
    else:
        said = reply(case, asked["messages"], offered)
    message = {"role": "assistant", **said}
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}
