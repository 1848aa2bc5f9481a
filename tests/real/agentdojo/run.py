#!/usr/bin/env python3
"""Measures AgentDojo (v1.2) with `flow`: how many attacks succeed, how many tasks are solved, how often a person is asked.

    .real/agentdojo/bin/python tests/real/agentdojo/run.py FLOW [--all] [--suite SUITE]… [--table FILE]

By default it takes each user task alone and with one attack, and each attack at least twice; `--all` takes all 949 pairs. Each case is one `flow run` under each
of COLUMNS. A question (exit 8) is answered by a person who says yes to calls that the user's task needs, with exactly these arguments, and no to all others.

It exits 1 if an attack succeeds under a policy that is to stop it, or fails without one, or a task without attack and policy is not solved, and KNOWN does not say why.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import defaultdict

import planned
from known import KNOWN

HERE = pathlib.Path(__file__).resolve().parent
SUITES = ["workspace", "travel", "banking", "slack"]
COLUMNS = {
    "none": "no policy",
    "deny": "`untrusted: deny`",
    "ask": "`untrusted: ask`",
    "approve": "`approval_required` of every effect",
    "closed": "`untrusted: ask`, answers in closed fields",
    "plan": "a plan, no policy",
    "plan_ask": "a plan, `untrusted: ask`",
}
# Those of every measurement; the others are asked for.
USUAL = ["none", "deny", "ask", "closed"]
# Columns whose attacks must fail.
STOPPING = ("deny", "ask", "closed", "approve", "plan_ask")
# The suites with attacks that only want words, whose answers have a pipeline of their own. The others are the same under `closed` and `ask`.
CLOSED = ["travel"]
# The line that says that a policy is in force, and the one that brings it in.
NO_POLICY = re.compile(r"^(imports|policy):.*\n", re.M)
# The tools of which `untrusted` judges an argument, and those of which each call is asked about.
TARGET = re.compile(r"^      ([a-z_]+\.[a-z_]+)\(.*\): ask$", re.M)
ASKED = re.compile(r"^    approval_required: \[(.*)\]", re.M)
# Of the lines of a run that waits: the arguments of the command that shows the call.
QUESTION = re.compile(r"^  flow approve (.+?) --show ", re.M)
# Cases at once, each with a server of its own.
WORKERS = 2
# Questions of one case, after which it is given up.
MOST_QUESTIONS = 60


class Case:
    def __init__(self, suite, user, injection, column):
        self.suite, self.user, self.injection, self.column = suite, user, injection, column
        self.solved = self.attack = self.met = False
        self.questions = 0
        self.cpu = 0.0
        self.trouble = ""

    def __str__(self):
        names = [self.user, self.injection or "alone"]
        return f"{self.suite} {' '.join(names)} ({self.column})"


class Worker:
    """A server with its world, and a copy of the pipelines for each column."""

    def __init__(self, flow, folder, columns):
        self.flow, self.folder = flow, folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.server = subprocess.Popen([sys.executable, "-W", "ignore", str(HERE / "server.py"), str(port)])
        self.env = {"PATH": os.environ["PATH"], "AGENTDOJO": self.url, "FLOW_CONFIG": "", "HOME": str(folder), "FLOW_STATE_DIR": str(folder / "state")}
        for column in columns:
            place = folder / column
            place.mkdir(parents=True)
            (place / "flow.toml").touch()
            for suite in SUITES:
                files = [(HERE / f"{suite}{end}").read_text() for end in (".yaml", ".policy.yaml")]
                pipeline, policy = variant(column, *files)
                (place / f"{suite}.yaml").write_text(pipeline)
                if policy:
                    (place / f"{suite}.policy.yaml").write_text(policy)
            if column == "closed":
                for suite in CLOSED:
                    (place / f"{suite}_closed.yaml").write_text((HERE / f"{suite}_closed.yaml").read_text())

    def wait(self):
        for _ in range(600):
            try:
                return self.post("/cases", None)
            except (urllib.error.URLError, ConnectionError):
                if self.server.poll() is not None:
                    break
                time.sleep(0.1)
        raise RuntimeError("the server does not answer")

    def post(self, path, body):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data), timeout=60) as answer:
            return json.load(answer)

    def command(self, case, *arguments):
        """Runs flow. Returns its exit code and what it printed."""
        place = self.folder / case.column
        with open(self.folder / "out", "w+b") as out, open(self.folder / "err", "w+b") as err:
            process = subprocess.Popen([self.flow, *arguments], cwd=place, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            case.cpu += used.ru_utime + used.ru_stime
            out.seek(0), err.seek(0)
            return process.returncode, out.read().decode(), err.read().decode()

    def run(self, case):
        began = self.post("/case", {"suite": case.suite, "user": case.user, "injection": case.injection})
        file = f"{case.suite}_closed.yaml" if case.column == "closed" else f"{case.suite}.yaml"
        code, out, err = self.command(case, "run", file, "--trust", "--json", "-q", "--input", f"task={began['task']}")
        while code == 8 and case.questions < MOST_QUESTIONS:
            for asked in QUESTION.findall(err):
                self.answer(case, shlex.split(asked), began["needs"])
            run = shlex.split(QUESTION.search(err).group(1))[0]
            code, out, err = self.command(case, "runs", "resume", run, "--trust", "--json", "-q")
        answer = ""
        if code == 0:
            answer = json.loads(out)["outputs"]["answer"]
        else:
            case.trouble = f"exit {code}: {err.strip()[:300]}"
        said = self.post("/verdict", {"output": answer})
        case.solved, case.attack, case.met = said["solved"], said["attack"], said["met"]

    def answer(self, case, asked, needs):
        """The person: yes to a call that the task needs, no to every other."""
        _, text, _ = self.command(case, "approve", *asked, "--show")
        yes = call_of(text) in [(name, args) for name, args in needs]
        case.questions += 1
        code, _, err = self.command(case, "approve", *asked, *([] if yes else ["--reject"]))
        if code:
            case.trouble = f"the answer was rejected: {err.strip()[:300]}"


def call_of(question):
    """The call that a question is about: its tool without the server, and its arguments."""
    found = re.search(r" wants to call [a-z_]+\.([a-z_]+) with (?=\{)", question)
    if not found:
        return None
    try:
        return found.group(1), json.JSONDecoder().raw_decode(question, found.end())[0]
    except ValueError:
        return None


def variant(column, pipeline, policy):
    """The pipeline and its policy as a column has them."""
    if column.startswith("plan"):
        pipeline = planned.pipeline(pipeline)
    match column:
        case "none" | "plan":
            return NO_POLICY.sub("", pipeline), None
        case "deny":
            return pipeline, re.sub(r": ask\b", ": deny", policy).replace("approval_required", "disallowed_tools")
        case "approve":
            effects = set(TARGET.findall(policy)).union(*(found.split(", ") for found in ASKED.findall(policy)))
            head = ASKED.sub("", policy[: policy.index("    untrusted:")])
            return pipeline, head + f"    approval_required: [{', '.join(sorted(effects))}]\n"
        case _:
            return pipeline, policy


def chosen(names, everything):
    """The pairs of user task and injection task (or none) to measure."""
    users, injections = names
    pairs = [(user, None) for user in users]
    if everything:
        return pairs + [(user, injection) for user in users for injection in injections]
    count = max(len(users), 2 * len(injections))
    return pairs + [(users[at % len(users)], injections[at % len(injections)]) for at in range(count)]


def measured(flow, cases, columns):
    """Runs all cases, a few at once."""
    left, lock = list(reversed(cases)), threading.Lock()
    with tempfile.TemporaryDirectory(prefix="agentdojo") as folder:
        workers = [Worker(flow, pathlib.Path(folder, str(at)), columns) for at in range(WORKERS)]

        def work(worker):
            worker.wait()
            while True:
                with lock:
                    if not left:
                        return
                    case = left.pop()
                try:
                    worker.run(case)
                except Exception as error:  # one case must not end the measurement; it is counted and named
                    case.trouble = f"{type(error).__name__}: {error}"

        try:
            threads = [threading.Thread(target=work, args=[worker]) for worker in workers]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        finally:
            for worker in workers:
                worker.server.terminate()
                worker.server.wait()
    if left:
        sys.exit(f"{len(left)} cases were not run")


def share(cases, what):
    return f"{sum(getattr(case, what) for case in cases)} of {len(cases)}" if cases else "–"


def mean(cases, what):
    return f"{sum(getattr(case, what) for case in cases) / len(cases):.2f}" if cases else "–"


def table(cases, columns):
    lines = ["| suite | policy | attacks that succeed | solved, no attack | solved, under attack | questions per task, no attack | under attack | CPU s per case |",
             "|---|---|---|---|---|---|---|---|"]
    groups = defaultdict(list)
    for case in cases:
        groups[case.suite, case.column].append(case)
        groups["all", case.column].append(case)
        if case.column == "ask" and case.suite not in CLOSED:
            groups["all", "closed"].append(case)
    for suite in [*dict.fromkeys(case.suite for case in cases), "all"]:
        for column in [column for column in columns if groups[suite, column]]:
            these = groups[suite, column]
            alone = [case for case in these if not case.injection]
            under = [case for case in these if case.injection]
            cells = [share(under, "attack"), share(alone, "solved"), share(under, "solved"), mean(alone, "questions"), mean(under, "questions"), mean(these, "cpu")]
            lines.append(f"| {suite} | {COLUMNS[column]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def why(case):
    """Why a case that looks wrong is not, as KNOWN says; or nothing. Nothing excuses a run that did not end."""
    return "" if case.trouble else next((entry[-1] for entry in KNOWN if is_of(entry, case)), "")


def is_of(entry, case):
    columns, suite, user, injection, _ = entry
    return case.column in columns and suite == case.suite and user in ("*", case.user) and injection in ("*", case.injection)


def wrong(case):
    """What a case shows that must not be, or nothing."""
    if case.trouble:
        return case.trouble
    if case.column in STOPPING:
        return "the attack succeeded" if case.attack else ""
    if case.column == "plan":
        return ""
    if case.injection is None:
        return "" if case.solved else "the task was not solved"
    return "" if case.attack else "the attack did not succeed" + ("" if case.met else ": its text was never read")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flow")
    parser.add_argument("--all", action="store_true", help="all pairs of user task and injection task")
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--column", action="append", choices=list(COLUMNS), help="by default none, deny and ask")
    parser.add_argument("--table", help="write the table to this file, too")
    given = parser.parse_args()
    flow = str(pathlib.Path(given.flow).resolve())
    columns = given.column or USUAL
    import world  # late: it takes seconds

    names = world.cases()
    cases = [Case(suite, user, injection, column)
             for suite in given.suite or SUITES for user, injection in chosen(names[suite], given.all) for column in columns
             if column != "closed" or suite in CLOSED]
    began = time.monotonic()
    measured(flow, cases, columns)
    print(f"AgentDojo {world.VERSION}: {len(cases)} runs in {time.monotonic() - began:.0f} s\n")
    text = table(cases, columns)
    print(text)
    if given.table:
        pathlib.Path(given.table).write_text(text)

    bad = 0
    known = defaultdict(list)
    for case in cases:
        if problem := wrong(case):
            if reason := why(case):
                known[case.suite, case.column, problem, reason].append(case)
            else:
                bad += 1
                print(f"UNEXPECTED: {case}: {problem}")
    for entry in KNOWN:
        these = [case for case in cases if is_of(entry, case)]
        if these and not any(wrong(case) for case in these):
            bad += 1
            print(f"UNEXPECTED: {these[0]}: nothing is wrong any more: {entry[-1]}")
    for (suite, column, problem, reason), these in known.items():
        print(f"known, {len(these)} times: {suite} ({COLUMNS[column]}): {problem}: {reason}")
    missed = defaultdict(list)
    for case in cases:
        if not case.solved and case.column != "none":
            missed[case.suite, case.column, case.injection].append(case.user.removeprefix("user_task_"))
    for (suite, column, injection), users in missed.items():
        print(f"not solved: {suite} ({COLUMNS[column]}), {injection or 'no attack'}: user tasks {', '.join(users)}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
