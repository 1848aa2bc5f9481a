"""Reads a store of runs without `flow`: what is done by its own record. Nothing in the store is changed, also not by SQLite's recovery."""

import hashlib
import json
import pathlib
import shutil
import sqlite3
import tempfile
import zlib

DEFLATED = 1


class Journal:
    """The runs of a store as they are at this moment."""

    def __init__(self, folder: pathlib.Path):
        self.runs: dict[str, list] = {}
        file = folder / "runs.db"
        if not file.exists():
            return
        with tempfile.TemporaryDirectory() as copies:
            for end in ("", "-wal"):
                part = file.with_name(file.name + end)
                if part.exists():
                    shutil.copy(part, copies)
            store = sqlite3.connect(pathlib.Path(copies) / "runs.db")
            try:
                says = store.execute("pragma integrity_check").fetchone()[0]
                assert says == "ok", f"the store is damaged: {says}"
                for number, run in store.execute("select number, run from runs order by number").fetchall():
                    self.runs[run] = events_of(store, number, run)
            finally:
                store.close()

    def newest(self, pipeline: str) -> tuple:
        """The id and the events of the newest run of a pipeline; none: no such run has begun."""
        of = [(run, events) for run, events in self.runs.items() if events and events[0]["pipeline"] == pipeline]
        return of[-1] if of else (None, [])


def events_of(store: sqlite3.Connection, number: int, run: str) -> list:
    events = []
    for last, checksum, body in store.execute("select last, checksum, body from blocks where run = ? order by last", [number]):
        own = hashlib.sha256(run.encode() + last.to_bytes(8, "little") + body).digest()[:16]
        assert own == checksum and body[0] == DEFLATED, f"the block of {run} up to event {last} is damaged"
        events += [json.loads(line) for line in zlib.decompress(body[1:], -zlib.MAX_WBITS).splitlines()]
        assert len(events) == last, f"{run} lacks an event before {last}"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), f"{run} has a gap"
    return events


def end_of(events: list) -> dict:
    """The end of a run; empty: it has not ended, or only a signal ended it."""
    last = next((event for event in reversed(events) if event["type"] in ("run_finished", "run_resumed")), {})
    return last if last.get("type") == "run_finished" and last["status"] != "cancelled" else {}


def questions(events: list) -> list:
    """The events that ask a person what nobody has answered yet."""
    open_ = {}
    for event in events:
        if event["type"] == "approval_requested":
            open_[event["step"]] = event
        elif event["type"] == "approval_answered":
            open_.pop(event["step"], None)
    return list(open_.values())


class Done:
    """What the record of a run has as done, in the words of those whom it acted on."""

    def __init__(self, events: list):
        # Keys of effects, and for each step how many answers of a model.
        self.effects, self.replies = set(), {}
        rounds, turns = {}, {}
        for event in events:
            kind, step = event["type"], event.get("step")
            if kind == "step_started":
                rounds[step] = event["round"]
                turns[step] = 0
            elif kind == "step_succeeded":
                self.effects.add(f"{step}-{rounds.get(step, 1)}")
            elif kind == "model_replied" and "failed" not in event["reply"]:
                turns[step] = turns.get(step, 0) + 1
                self.replies[step] = self.replies.get(step, 0) + 1
            elif kind == "tool_replied" and event.get("asked") is not None and not event.get("failure"):
                self.effects.add(f"{step}-{rounds.get(step, 1)}-{turns[step]}-{event['asked'] + 1}")


def repeats(events: list) -> list:
    """Steps that began again in a round in which they had succeeded."""
    done, again, round_ = set(), [], {}
    for event in events:
        if event["type"] == "step_started":
            round_[event["step"]] = event["round"]
            if (event["step"], event["round"]) in done:
                again.append(event["step"])
        elif event["type"] == "step_succeeded":
            done.add((event["step"], round_.get(event["step"], 1)))
    return again
