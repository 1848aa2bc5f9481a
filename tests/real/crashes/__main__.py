"""Kills runs, breaks their disk, starts many at once and interrupts them, and holds `flow` to what it promises of runs that were cut off.

    python3 tests/real/crashes target/debug/flow [--points 300 | --all] [--only kills,faults,together,signals] [--shape NAME] [--seed 1]

Needs strace; where tracing is not permitted the script says so, and fails only if FLOW_REQUIRE_TRACE=1.
"""

import argparse
import collections
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time

import faults
import loop
import signals
import together
from place import Flow
from receiver import Receiver
from shapes import shapes


def played(flow: Flow, schedules: list) -> dict:
    """Plays schedules side by side; gives what they came to, for each shape."""
    total = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2 * (os.cpu_count() or 1)) as pool:
        under_way = {pool.submit(schedule.play, flow): schedule for schedule in schedules}
        for future in concurrent.futures.as_completed(under_way):
            schedule = under_way[future]
            try:
                life = future.result()
            except Exception:
                journal = "after an earlier run" if schedule.has_journal else "in a new store"
                print(f"FAILED: {schedule.shape.name}, {journal}, together: {schedule.together}, {schedule.faults}", file=sys.stderr)
                for other in under_way:
                    other.cancel()
                raise
            total[schedule.shape.name].update(loop.summed([life]))
    return total


def table(what: str, total: dict, began: float):
    print(f"\n{what}: {time.monotonic() - began:.0f} s")
    print("shape           points  hit  hit in a resume  repeated calls")
    whole = collections.Counter()
    for name, counts in total.items():
        whole.update(counts)
        print(f"{name:14} {counts['runs']:7} {counts['faults']:4} {counts['resumes_hit']:16} {counts['repeated']:15}")
    print(f"{'all':14} {whole['runs']:7} {whole['faults']:4} {whole['resumes_hit']:16} {whole['repeated']:15}", flush=True)
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flow")
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--all", action="store_true", help="every point")
    parser.add_argument("--only", default="kills,faults,together,signals")
    parser.add_argument("--shape")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True).returncode != 0:
        print("SKIPPED: system calls cannot be traced here")
        return 1 if os.environ.get("FLOW_REQUIRE_TRACE") == "1" else 0
    parts, points = given.only.split(","), 0 if given.all else given.points
    of = {shape.name: shape for shape in shapes()}
    chosen = [of[given.shape]] if given.shape else list(of.values())
    with tempfile.TemporaryDirectory() as work:
        flow = Flow(given.flow, Receiver(), work)
        if "kills" in parts:
            began = time.monotonic()
            whole = table("kills", played(flow, loop.schedules(flow, chosen, points, given.seed)), began)
            assert whole["faults"] > whole["runs"] * 0.8 and whole["resumes_hit"] > whole["runs"] * 0.2, whole
        if "faults" in parts:
            began = time.monotonic()
            some = [of[name] for name in ("linear", "agent", "approval", "conversation")] if not given.shape else chosen
            total = played(flow, faults.schedules(flow, some, points // 4, given.seed) + faults.new_stores(flow, of["linear"]))
            total["ulimit -f"] = loop.summed(faults.small_files(flow, of["linear"]))
            total["small disk"] = loop.summed(faults.small_disks(flow, of["linear"]))
            whole = table("faults of the disk", total, began)
            assert whole["faults"] > whole["runs"] * 0.3, whole
        scale = 4 if given.all else 1
        for name, work_ in [
            ("together", lambda: together.one_run(flow, of["linear"], 5 * scale, given.seed)),
            ("together", lambda: together.one_store(flow, of["linear"], 20 * scale, given.seed)),
            ("together", lambda: together.one_conversation(flow, of["conversation"], 5 * scale, given.seed)),
            ("signals", lambda: signals.signalled(flow, 12 * scale, given.seed)),
        ]:
            if name in parts:
                began = time.monotonic()
                figures = work_()
                print(f"{name}: {', '.join(f'{what}: {count}' for what, count in figures.items())}; {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
