"""Kills runs and what continues them, and holds each run to what docs/cli.md promises: whatever was killed, the result is that of a run that
was not; what is recorded as done is not done again; an effect repeats only with its key, at most once for each kill; a `once` step never."""

import collections
import dataclasses
import json
import random
import re

from journal import Done, end_of, repeats
from place import CALLS, Fault, Flow, Place, counted

# More commands than a run can need.
MOST = 12


@dataclasses.dataclass
class Life:
    """What a run came to, and what it took."""

    commands: list = dataclasses.field(default_factory=list)
    faults: int = 0
    resumes_hit: int = 0
    repeated: int = 0
    result: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Reference:
    """A run that nothing disturbs: its result, and what was traced of each of its commands."""

    life: Life
    logs: list
    effects: set
    order: list


class Watch:
    """Sees to it that what is recorded as done is not done again."""

    def __init__(self, place: Place, reference: Reference):
        self.place, self.reference, self.done = place, reference, {}

    def look(self):
        run, events = self.place.run()
        receiver = self.place.flow.receiver
        seen, asked = receiver.seen(self.place.name, run), receiver.asked(self.place.name)
        if not events:
            assert not seen, f"something was done before anything was recorded: {seen}"
            return
        now = {**seen, **asked}
        for what, count in self.done.items():
            assert now[what] == count, f"{what} was done, and is done again: {now[what]} times instead of {count}"
        done = Done(events)
        self.done |= {what: count for what, count in seen.items() if what in done.effects}
        for step, count in done.replies.items():
            answered = [call for call in self.reference.order if call.split()[1] == step][:count]
            self.done |= {call: asked[call] for call in answered}


def live(place: Place, faults: dict, reference: Reference = None, together: bool = False, log: str = "") -> Life:
    """Does what a person would until the run has ended. `faults`: which command meets which."""
    life, watch = Life(), Watch(place, reference) if reference else None
    for number in range(MOST):
        command = place.next_command(together)
        if not command:
            break
        life.commands.append(command[0] if command[0] != "runs" else "resume")
        fault = faults.get(number)
        trace = ["strace", "-f", "-y", "-s", "48", "-o", f"{log}{number}", "-e", "trace=" + ",".join(CALLS)] if log else []
        ended = place.call(*command, before=fault.strace(place.folder) if fault else trace)
        told = (number, command, fault, ended)
        if fault and not fault.error and ended.was_killed() or fault and fault.error and ended.exit == 6:
            life.faults += 1
            life.resumes_hit += number > 0
            assert ended.exit != 6 or ended.err.strip() and "panicked" not in ended.err, told
        else:
            assert ended.exit in (0, 8), told
        if watch:
            watch.look()
    run, events = place.run()
    end = end_of(events)
    assert end, f"the run has not ended after {life.commands}"
    told = place.call("runs", "resume", run, "--trust", "-q")
    assert told.exit == 0 and not repeats(events), (told, repeats(events))
    said = []
    if place.shape.conversation:
        # The next message keeps what a process left that was killed after the last event.
        place.later("--input", "message=three")
        said = place.call("conversations", "export", place.shape.conversation).out.splitlines()
    assert not place.locks(), place.locks()
    texts = [(message["role"], message["text"]) for message in map(json.loads, said)]
    life.result = {"status": end["status"], "outputs": json.dumps(end["outputs"]), "told": told.out, "said": texts}
    return life


def reference(flow: Flow, shape, has_journal: bool) -> Reference:
    """Makes a run that nothing disturbs, and traces it."""
    place = flow.place(shape, has_journal)
    log = str(flow.work / f"{place.name}.trace")
    life = live(place, {}, log=log)
    run, _ = place.run()
    effects = flow.receiver.seen(place.name, run)
    asked = flow.receiver.asked(place.name)
    assert all(count == 1 for count in [*effects.values(), *asked.values()]), (effects, asked)
    logs = [open(f"{log}{number}").read() for number in range(len(life.commands))]
    if shape.name == "linear":
        synced_before_effects(logs[0], len(effects))
    return Reference(life, logs, set(effects), flow.receiver.order[place.name])


def synced_before_effects(log: str, count: int):
    """J4: what acts outside leaves only when all that was written to the journal before it is on the disk."""
    is_dirty, sent = False, 0
    for line in log.splitlines():
        if re.search(r" pwrite64\(\d+<[^>]*runs\.db-wal>", line):
            is_dirty = True
        elif re.search(r" f(data)?sync\(\d+<[^>]*runs\.db-wal>\) += 0|<\.\.\. f(data)?sync resumed>.*= 0", line):
            is_dirty = False
        elif re.search(r' (sendto|write|writev)\(.*"POST /', line):
            sent += 1
            assert not is_dirty, f"an effect left before its record was on the disk: {line}"
    assert sent == count, f"{sent} of {count} effects were seen in the trace"


def check(place: Place, life: Life, reference: Reference):
    """Holds a run that was disturbed to one that was not."""
    assert life.result == reference.life.result, (life.result, reference.life.result)
    run, _ = place.run()
    receiver = place.flow.receiver
    effects, asked = receiver.seen(place.name, run), receiver.asked(place.name)
    assert set(effects) == reference.effects, (effects, reference.effects)
    assert set(asked) == set(reference.order), (asked, reference.order)
    for what, count in {**effects, **asked}.items():
        assert count <= 1 + life.faults, f"{what} happened {count} times in {life.faults} faults"
        life.repeated += count - 1
    for step in place.shape.once:
        assert effects[f"{step}-1"] == 1, effects


@dataclasses.dataclass
class Schedule:
    """What disturbs one run."""

    shape: object
    has_journal: bool
    reference: Reference
    faults: dict
    together: bool

    def play(self, flow: Flow) -> Life:
        place = flow.place(self.shape, self.has_journal)
        life = live(place, self.faults, self.reference, self.together)
        check(place, life, self.reference)
        place.remove()
        return life


def schedules(flow: Flow, shapes: list, most: int, seed: int) -> list:
    """Of all points of each shape as many, evenly; every other run is killed once more when it is resumed, some a third time."""
    chance = random.Random(seed)
    found = []
    states = [(shape, has_journal) for shape in shapes for has_journal in (True, False)]
    for shape, has_journal in states:
        calm = reference(flow, shape, has_journal)
        points = [(command, Fault(*point)) for command, log in enumerate(calm.logs) for point in counted(log)]
        share = -(-most // len(states)) if most else len(points)
        for command, fault in chance.sample(points, min(share, len(points))):
            faults = {command: fault}
            for more in range(chance.choice([0, 1, 1, 2])):
                point = chance.choice(points)[1]
                faults[command + 1 + more] = Fault(point.call, chance.randint(1, point.n))
            found.append(Schedule(shape, has_journal, calm, faults, chance.random() < 0.3))
    return found


def summed(lives: list) -> collections.Counter:
    """What lives came to, in numbers."""
    total = collections.Counter()
    for life in lives:
        total.update(runs=1, faults=life.faults, resumes_hit=life.resumes_hit, repeated=life.repeated)
    return total
