"""The pipelines that are killed: one for each way in which a run can act, and those that ship with `flow`.

How to add one: a function that returns its files, and its line in SHAPES.
"""

import dataclasses
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODEL = 'models: { default: { provider: openai, model: mock, base_url: "{{ env.RECEIVER }}/v1" } }\n'
TOOL = 'tools: { order: { http: "POST {{ env.RECEIVER }}/order", description: Orders., arguments: { id: text }, body: { id: "{{ with.id }}" } } }\n'


def post(name: str, more: str = "") -> str:
    return f'  - {{ id: {name}, http: "POST {{{{ env.RECEIVER }}}}/{name}", body: {{ of: {name} }}{more} }}\n'


def told(*names: str) -> str:
    return " ".join(f"{{{{ steps.{name}.output.body.done }}}}" for name in names)


def pipeline(name: str, head: str, steps: str, output: str) -> str:
    return f'flow: 1\nname: {name}\ndescription: Is killed.\n{head}steps:\n{steps}outputs: {{ text: "{output}" }}\n'


def linear() -> dict:
    names = ["one", "two", "three", "four"]
    return {"p.yaml": pipeline("victim", "", "".join(map(post, names)), told(*names))}


def for_each() -> dict:
    each = post("each", ', for_each: "range(0, 6)", max_parallel: 2') + post("last")
    return {"p.yaml": pipeline("victim", "", each, "{{ steps.each.output | length }} {{ steps.each.output[5].body.done }} " + told("last"))}


def agent() -> dict:
    head = MODEL + TOOL + "agents: { clerk: { instructions: You order., tools: [order] } }\n"
    steps = post("before") + "  - { id: ask, agent: clerk, prompt: step ask }\n" + post("after")
    return {"p.yaml": pipeline("victim", head, steps, "{{ steps.ask.output }} " + told("before", "after"))}


def plan() -> dict:
    head = MODEL + TOOL + "agents: { planner: { instructions: You plan. }, writer: { instructions: You write. } }\n"
    steps = "  - { id: work, plan: planner, prompt: step work, may_use: [order, writer] }\n" + post("after")
    return {"p.yaml": pipeline("victim", head, steps, "{{ steps.work.output.by_use.writer }} {{ steps.work.output.invoked | join }} " + told("after"))}


def call() -> dict:
    inner = pipeline("inner", "inputs: { of: text }\n", post("left") + post("right"), "{{ inputs.of }} " + told("left", "right"))
    steps = post("before") + '  - { id: in, call: inner.yaml, with: { of: "{{ steps.before.output.body.done }}" } }\n' + post("after")
    return {"p.yaml": pipeline("victim", "", steps, "{{ steps.in.output.text }} " + told("after")), "inner.yaml": inner}


def approval() -> dict:
    ask = "  - { id: ask, approval: Go on?, form: { nights: { type: integer, minimum: 1 } } }\n"
    return {"p.yaml": pipeline("victim", "", post("before") + ask + post("after"), "{{ steps.ask.output.nights }} " + told("before", "after"))}


def once() -> dict:
    return {"p.yaml": pipeline("victim", "", post("before") + post("pay", ", once: true") + post("after"), told("before", "pay", "after"))}


def gate() -> dict:
    card = "scorecards: { card: { criteria: [{ id: better, description: The text is better., check: { contains: better } }] } }\n"
    head = MODEL + card + "agents: { writer: { instructions: You write. } }\n"
    steps = "  - { id: draft, agent: writer, prompt: step draft }\n  - { id: check, gate: card, of: steps.draft.output, refine: draft }\n"
    return {"p.yaml": pipeline("victim", head, post("before") + steps + post("after"), "{{ steps.check.output }} " + told("before", "after"))}


def conversation() -> dict:
    head = MODEL + (
        'tools: { chat: { http: "POST {{ env.RECEIVER }}/chat" } }\n'
        "agents: { writer: { instructions: You remember. } }\n"
        "inputs: { who: { type: text, default: maria }, message: { type: text, default: two } }\n"
        'conversation: { id: "{{ inputs.who }}", message: inputs.message }\n'
    )
    steps = '  - { id: say, agent: writer, prompt: "step say {{ inputs.message }}", history: true }\n  - { id: deliver, send: chat, of: steps.say.output }\n'
    return {"p.yaml": pipeline("victim", head, steps + post("after"), "{{ steps.say.output }} " + told("after"))}


def shipped(*folders: str) -> dict:
    files = {}
    for folder in folders:
        of = ROOT / folder
        files |= {str(file.relative_to(ROOT)): file.read_text() for file in of.rglob("*") if file.is_file()}
    return files


@dataclasses.dataclass
class Shape:
    """A pipeline that is killed, and how a person deals with it."""

    name: str
    files: dict
    pipeline: str = "victim"
    file: str = "p.yaml"
    inputs: tuple = ()
    # Steps that must not run again unasked.
    once: tuple = ()
    # A run that comes before the one that is killed.
    earlier: tuple = ()
    conversation: str = ""

    def run(self) -> list:
        return ["run", self.file, "--trust", "-q", *self.inputs]

    def answers(self, question: dict, happened: dict) -> list:
        """The answer to a question: whoever looks at the receiver knows whether a step in doubt has happened."""
        step = question["step"]
        if step not in self.once:
            return ["--field", "nights=3"]
        output = {"status": 200, "headers": {}, "body": {"done": step}}
        return ["--happened", json.dumps(output)] if happened.get(f"{step}-1") else []


def shapes() -> list:
    return [
        Shape("linear", linear()),
        Shape("for_each", for_each()),
        Shape("agent", agent()),
        Shape("plan", plan()),
        Shape("call", call()),
        Shape("approval", approval()),
        Shape("once", once(), once=("pay",)),
        Shape("gate", gate()),
        Shape("conversation", conversation(), earlier=("--input", "message=one"), conversation="maria"),
        Shape(
            "timesheet",
            shipped("pipelines/timesheet", "channels", "style_guides"),
            pipeline="timesheet",
            file="pipelines/timesheet/pipeline.yaml",
            inputs=("--now", "2026-11-18T09:00:00Z", "--input", "message=How am I doing?", "--channel", "email"),
        ),
        Shape("tickets", shipped("pipelines/examples/tickets"), pipeline="tickets", file="pipelines/examples/tickets/pipeline.yaml"),
        Shape(
            "shop",
            {name.removeprefix("starter/"): text for name, text in shipped("starter").items()},
            pipeline="shop",
            file="pipelines/shop/pipeline.yaml",
            inputs=("--input", "message=When do you open on Saturday?"),
        ),
    ]
