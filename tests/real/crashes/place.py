"""A folder with a pipeline in it, and `flow` that is run there, disturbed or not."""

import collections
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from journal import Journal, end_of, questions

STORES = [f"{name}.db{end}" for name in ("runs", "conversations") for end in ("", "-wal", "-shm", "-new", "-new-wal", "-new-shm", "-new-journal")]
# What the journal, its lock and the network are worked with.
CALLS = ["openat", "pwrite64", "write", "fdatasync", "fsync", "ftruncate", "unlink", "rename", "sendto", "writev", "recvfrom"]


@dataclasses.dataclass(frozen=True)
class Fault:
    """What happens at the Nth call of a name in a thread: the process is killed before it; or, of calls about the files of a store, it fails."""

    call: str
    n: int
    error: str = ""
    # All later calls fail, too.
    lasts: bool = False

    def strace(self, folder: pathlib.Path) -> list:
        what = f"error={self.error}" if self.error else "signal=KILL"
        when = f"{self.n}+" if self.lasts else self.n
        files = [word for store in STORES for word in ("-P", str(folder / ".flow" / store))] if self.error else []
        return ["strace", "-f", "-o", "/dev/null", *files, "-e", f"trace={self.call}", "-e", f"inject={self.call}:{what}:when={when}"]


@dataclasses.dataclass
class Ended:
    """What a call of the program gave."""

    exit: int
    out: str
    err: str

    def was_killed(self) -> bool:
        return self.exit in (-9, 137)


class Flow:
    """The program, what its runs act on, and a folder for places."""

    def __init__(self, program: str, receiver, work: str):
        self.program, self.receiver, self.work = os.path.realpath(program), receiver, pathlib.Path(work)
        self.templates = {}

    def place(self, shape, has_journal: bool = True) -> "Place":
        """A new place, as one that an earlier run has left or as one where nothing ran."""
        key = (shape.name, has_journal)
        if key not in self.templates:
            template = Place(self, shape, pathlib.Path(tempfile.mkdtemp(prefix=shape.name, dir=self.work)))
            template.fill()
            if has_journal:
                run = shape.run() + list(shape.earlier) if shape.earlier else ["run", "earlier.yaml", "-q"]
                ended = template.call(*run)
                assert ended.exit == 0, ended
            self.templates[key] = template
        template = self.templates[key]
        folder = pathlib.Path(tempfile.mkdtemp(prefix=shape.name, dir=self.work))
        shutil.copytree(template.folder, folder, dirs_exist_ok=True)
        return Place(self, shape, folder)


class Place:
    """Where one run of a shape is made."""

    def __init__(self, flow: Flow, shape, folder: pathlib.Path):
        self.flow, self.shape, self.folder, self.name = flow, shape, folder, folder.name
        address = flow.receiver.address(self.name)
        self.env = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
        self.env |= {"FLOW_CONFIG": "", "XDG_STATE_HOME": str(folder / ".state"), "RECEIVER": address, "HELPDESK_URL": address}
        self.others = set(Journal(folder / ".flow").runs)

    def fill(self):
        earlier = "flow: 1\nname: earlier\ndescription: Adds.\nsteps: [{ id: a, set: 1 }]\noutputs: { n: steps.a.output }\n"
        for name, text in {"flow.toml": "", "earlier.yaml": earlier, **self.shape.files}.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def start(self, *arguments: str, before=()) -> subprocess.Popen:
        pipe = subprocess.PIPE
        command = [*before, self.flow.program, *arguments]
        return subprocess.Popen(command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)

    def call(self, *arguments: str, before=()) -> Ended:
        process = self.start(*arguments, before=before)
        out, err = process.communicate(timeout=120)
        return Ended(process.returncode, out, err)

    def state(self) -> pathlib.Path:
        """The folder of the store, also where FLOW_STATE_DIR names it."""
        elsewhere = self.env.get("FLOW_STATE_DIR")
        return next(pathlib.Path(elsewhere).glob("*"), pathlib.Path(elsewhere)) if elsewhere else self.folder / ".flow"

    def later(self, *inputs: str):
        """Another run, that comes after the one of this place."""
        before = set(Journal(self.state()).runs)
        ended = self.call(*self.shape.run(), *inputs)
        assert ended.exit == 0, ended
        self.others |= set(Journal(self.state()).runs) - before

    def run(self) -> tuple:
        """The id and the events of the run of this place; none: nothing of it is kept."""
        runs = Journal(self.state()).runs.items()
        own = [(run, events) for run, events in runs if run not in self.others and events and events[0]["pipeline"] == self.shape.pipeline]
        assert len(own) < 2, [run for run, _ in own]
        return own[0] if own else (None, [])

    def next_command(self, together: bool) -> list:
        """What a person does next; nothing: the run has ended."""
        run, events = self.run()
        if not events:
            return self.shape.run()
        if end_of(events):
            return []
        for question in questions(events):
            return ["approve", run, question["step"], *self.shape.answers(question, self.flow.receiver.seen(self.name, run))]
        return ["runs", "resume", "--all" if together else run, "--trust", "-q"]

    def locks(self) -> list:
        """The locks of runs that are kept. A process that is killed before its run began, or while it leaves its conversation, leaves another file."""
        return [run for run in Journal(self.state()).runs if (self.state() / f"{run}.lock").exists()]

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def counted(log: str, of_stores: bool = False) -> list:
    """The points of a traced process: each call of a name in each thread, since strace counts in each; of files only those of the project's state, or
    all calls that are about a store."""
    points, counts = set(), collections.Counter()
    for line in log.splitlines():
        if found := re.match(r"(\d+) +(\w+)\((.*)", line):
            thread, call, arguments = found.groups()
            if of_stores and not re.search(r"/\.flow/(runs|conversations)\.db", arguments):
                continue
            counts[thread, call] += 1
            if call not in ("openat", "unlink", "rename") or ".flow" in arguments:
                points.add((call, counts[thread, call]))
    return sorted(points)
