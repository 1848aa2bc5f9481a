"""J7: several processes at one run, one store, one conversation. Nothing is lost; who is second is told who is first, and ends with 2."""

import json
import random
import re
import time

from journal import Journal, end_of, repeats
from place import Flow, Place


def all_ended(processes: list) -> list:
    """Number, outputs and exit of each process."""
    return [(process.pid, *process.communicate(timeout=120), process.returncode) for process in processes]


def one_run(flow: Flow, shape, rounds: int, seed: int) -> dict:
    """Processes that continue one killed run: one does, the others name it; after `kill -9` of that one, the next has the run."""
    chance, held = random.Random(seed), 0
    for _ in range(rounds):
        place = flow.place(shape)
        flow.receiver.hanging.add(place.name)
        first = place.start(*shape.run())
        started(place, 1)
        first.kill()
        first.communicate()
        run, _ = place.run()
        contenders = [place.start("runs", "resume", run, "--trust", "-q") for _ in range(2)]
        # The winner is in its call, or on the way to it; the other one ends.
        loser = next_ended(contenders)
        winner = next(process for process in contenders if process is not loser)
        _, told = loser.communicate()
        assert loser.returncode == 2 and f"process {winner.pid}" in told, (loser.returncode, told, winner.pid)
        held += 1
        if chance.random() < 0.5:
            winner.kill()
            winner.communicate()
            winner = place.start("runs", "resume", run, "--trust", "-q")
        flow.receiver.hanging.discard(place.name)
        out, told = winner.communicate(timeout=60)
        assert winner.returncode == 0, (winner.returncode, told)
        _, events = place.run()
        assert end_of(events)["status"] == "succeeded" and not repeats(events)
        counts = flow.receiver.seen(place.name, run)
        assert all(count <= 3 for count in counts.values()) and not place.locks(), (counts, place.locks())
        place.remove()
    return {"runs": rounds, "second process refused": held}


def next_ended(processes: list):
    """The first of these processes that ends."""
    for _ in range(6_000):
        for process in processes:
            if process.poll() is not None:
                return process
        time.sleep(0.01)
    raise AssertionError("both processes continue with one run")


def started(place: Place, count: int):
    """Waits until as many effects have reached the receiver."""
    for _ in range(6_000):
        with place.flow.receiver.lock:
            if sum(place.flow.receiver.effects[place.name].values()) >= count:
                return
        time.sleep(0.01)
    raise AssertionError("the run did not act")


def one_store(flow: Flow, shape, count: int, seed: int) -> dict:
    """Many processes at one store, some of them killed; `runs resume --all` continues those."""
    chance = random.Random(seed)
    place = flow.place(shape, has_journal=False)
    processes = [place.start(*shape.run()) for _ in range(count)]
    killed = set()
    for process in chance.sample(processes, count // 4):
        started(place, chance.randint(1, 3 * count))
        process.kill()
        killed.add(process.pid)
    ended = all_ended(processes)
    assert all(exit == 0 or pid in killed for pid, _, _, exit in ended), ended
    place.call("runs", "resume", "--all", "--trust", "-q")
    runs = Journal(place.state()).runs
    succeeded = sum(exit == 0 for *_, exit in ended)
    assert succeeded <= len(runs) <= count, (succeeded, len(runs))
    with flow.receiver.lock:
        effects = dict(flow.receiver.effects[place.name])
    for run, events in runs.items():
        assert end_of(events).get("status") == "succeeded" and not repeats(events), run
        own = [n for key, n in effects.items() if key.startswith(run)]
        assert len(own) == 4 and max(own) <= 2, (run, own)
    assert sum(n > 1 for n in effects.values()) <= len(killed), effects
    # A process that is killed between the last event of its run and its own end leaves the file of a lock that nobody has.
    assert len(place.locks()) <= len(killed) and all(run in runs for run in place.locks()), place.locks()
    place.remove()
    return {"runs": count, "killed": len(killed)}


def one_conversation(flow: Flow, shape, rounds: int, seed: int) -> dict:
    """Messages of one conversation at once, one of them killed: the others wait for their turn, and each knows what was said before it."""
    chance, kills = random.Random(seed), 0
    for _ in range(rounds):
        place = flow.place(shape)
        words = ["alpha", "beta", "gamma"]
        processes = [place.start(*shape.run(), "--input", f"message={word}") for word in words]
        victim = chance.choice([None, *processes])
        if victim:
            started(place, 1)
            victim.kill()
            kills += 1
        ended = all_ended(processes)
        assert all(exit == 0 or victim and pid == victim.pid for pid, _, _, exit in ended), ended
        place.call("runs", "resume", "--all", "--trust", "-q")
        done = [events[0] for run, events in Journal(place.state()).runs.items() if run not in place.others]
        said = [json.loads(line)["text"] for line in place.call("conversations", "export", shape.conversation).out.splitlines()]
        kept = said[0::2]
        assert kept[0] == "one" and sorted(kept[1:]) == sorted(start["conversation"]["message"]["text"] for start in done), (said, done)
        assert len(done) >= 2 + (victim is None), done
        known = {start["conversation"]["message"]["text"]: len(start["conversation"]["messages"]) for start in done}
        for word, answer in zip(said[0::2], said[1::2]):
            told = int(re.search(r"I know (\d+)", answer).group(1))
            assert word == "one" or told == known[word], (word, answer, known)
        if not victim:
            assert sorted(known.values()) == [2, 4, 6], known
        place.remove()
    return {"runs": 3 * rounds, "killed": kills}
