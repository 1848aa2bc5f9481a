"""Disks that fail: at each call that the store makes, for once or for good; a disk of a few kilobytes; files that may not grow. A run ends with 6
and says why, or succeeds; later it continues as after a kill."""

import random
import subprocess

from loop import Life, Reference, Schedule, check, live, reference
from place import Ended, Fault, Flow, Place, counted

ERRORS = {
    "openat": ["EROFS", "EMFILE", "ENOSPC", "EIO", "EINTR"],
    "pwrite64": ["ENOSPC", "EIO", "EINTR"],
    "fdatasync": ["EIO", "ENOSPC"],
    "fsync": ["EIO"],
    "ftruncate": ["EIO", "ENOSPC"],
    "unlink": ["EIO", "EROFS"],
    "rename": ["ENOSPC", "EIO"],
}
# Bytes that a file, or a disk, may have.
ROOM = [4_096, 16_384, 32_768, 40_960, 49_152, 65_536, 98_304, 131_072]


def schedules(flow: Flow, shapes: list, most: int, seed: int) -> list:
    chance = random.Random(seed)
    found = []
    states = [(shape, has_journal) for shape in shapes for has_journal in (True, False)]
    for shape, has_journal in states:
        calm = reference(flow, shape, has_journal)
        points = [
            (command, Fault(call, n, error, lasts))
            for command, log in enumerate(calm.logs)
            for call, n in counted(log, of_stores=True)
            for error in ERRORS.get(call, [])
            for lasts in (False, True)
            if not (lasts and error == "EINTR")
        ]
        share = -(-most // len(states)) if most else len(points)
        chosen = chance.sample(points, min(share, len(points)))
        found += [Schedule(shape, has_journal, calm, {command: fault}, False) for command, fault in chosen]
    return found


def new_stores(flow: Flow, shape) -> list:
    """A disk that is full at each write while a store is made: what is left is a store, or none."""
    calm = reference(flow, shape, False)
    making = calm.logs[0].split("rename(")[0]
    points = [Fault(call, n, "ENOSPC") for call, n in counted(making, of_stores=True) if call == "pwrite64"]
    assert len(points) > 20, points
    return [Schedule(shape, False, calm, {0: fault}, False) for fault in points]


def small_files(flow: Flow, shape) -> list:
    """Files that may not grow beyond a size (`ulimit -f`)."""
    lives = []
    for has_journal in (True, False):
        calm = reference(flow, shape, has_journal)
        for most in ROOM:
            place = flow.place(shape, has_journal)
            ended = place.call(*shape.run(), before=["prlimit", f"--fsize={most}"])
            lives.append(continued(place, ended, calm))
    return lives


def small_disks(flow: Flow, shape) -> list:
    """A disk of a few kilobytes that is full, and larger afterwards. None where nothing can be mounted."""
    lives, calm = [], reference(flow, shape, False)
    for most in ROOM:
        disk = flow.work / f"disk{most}"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={most}", "tmpfs", disk], capture_output=True).returncode != 0:
            return []
        try:
            place = flow.place(shape, False)
            place.env["FLOW_STATE_DIR"] = str(disk)
            ended = place.call(*shape.run())
            subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
            lives.append(continued(place, ended, calm))
        finally:
            subprocess.run(["umount", disk], check=True)
    return lives


def continued(place: Place, ended: Ended, calm: Reference) -> Life:
    """A run for which there was no room, and what continues it when there is."""
    assert ended.exit in (0, 6) and "panicked" not in ended.err, ended
    assert ended.exit == 0 or "cannot be used" in ended.err, ended
    life = live(place, {}, calm)
    life.faults += ended.exit == 6
    check(place, life, calm)
    return life
