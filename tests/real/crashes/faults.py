"""Disks that fail: at each call that the store makes, for once or for good; a disk of a few kilobytes; files that may not grow. A run ends with 6
and says why, or succeeds; later it continues as after a kill."""

import random
import resource
import subprocess

from loop import Life, Schedule, check, live, reference
from place import Fault, Flow

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
            for command, of in enumerate(calm.points)
            for call, n in of
            for error in ERRORS.get(call, [])
            for lasts in (False, True)
            if not (lasts and error == "EINTR")
        ]
        share = -(-most // len(states)) if most else len(points)
        chosen = chance.sample(points, min(share, len(points)))
        found += [Schedule(shape, has_journal, calm, {command: fault}, False) for command, fault in chosen]
    return found


def small_files(flow: Flow, shape) -> list:
    """J6: files that may not grow beyond a size (`ulimit -f`)."""

    def bounded(most):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    return [full(flow, shape, has_journal, lambda place, most=most: place.call(*shape.run(), preexec_fn=bounded(most))) for most in ROOM for has_journal in (True, False)]


def small_disks(flow: Flow, shape) -> list:
    """J6: a disk of a few kilobytes that is full, and larger afterwards. None where nothing can be mounted."""
    lives = []
    for most in ROOM:
        disk = flow.work / f"disk{most}"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={most}", "tmpfs", disk], capture_output=True).returncode != 0:
            return []
        try:

            def begin(place):
                (place.folder / ".flow").symlink_to(disk / "state")
                ended = place.call(*shape.run())
                subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
                return ended

            lives.append(full(flow, shape, False, begin))
        finally:
            subprocess.run(["umount", disk], check=True)
    return lives


def full(flow: Flow, shape, has_journal: bool, begin) -> Life:
    """A run for which there is no room, and what continues it when there is."""
    place, calm = flow.place(shape, has_journal), reference(flow, shape, has_journal)
    ended = begin(place)
    assert ended.exit in (0, 6) and "panicked" not in ended.err, ended
    assert ended.exit == 0 or "full" in ended.err or "large" in ended.err, ended
    life = live(place, {}, calm)
    life.faults += ended.exit == 6
    check(place, life, calm)
    place.remove()
    return life
