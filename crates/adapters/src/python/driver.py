"""Runs the code of a `python` step, inside the sandbox: one JSON request on standard input, one JSON reply on standard output.

How it is started:  PYTHON -I -B -X utf8 -c TEXT, where TEXT is check.py, values.py and this file, one after the other (check.py is needed
for code of a model only).
`-I` leaves PYTHON* variables, the user's own packages and the current folder out; the packages of a virtual environment are found when PYTHON
is its interpreter (so no `-S`). `-B` writes no compiled files, `-X utf8` reads and writes texts as UTF-8 whatever the machine's locale is.

Request: {"code": text, "name": what tracebacks call the code, "variables": {name: JSON value}, "returns": [name], "files": folder for pictures,
    "requires": [package], "is_written_by_model": bool, "limits": {"printed": bytes, "value": bytes}}. Standard input must be closed after it.
Reply: {"returns": {name: value}, "printed": text, "is_printed_cut": bool, "files": [{name, variable, pointer, media_type, width, height}],
    "notes": [sentence], "error": null or {kind, message, type, line, traceback, reasons [{line, message}]}}.
`kind` is one of ERROR_KINDS. With an error, `returns`, `files` and `notes` are empty.

Two processes: this one reads the request, forks, collects what is printed and replies; the author's code runs in the child. So the reply cannot be
mistaken for something printed, by Python or by a library in C, and there is one whether the code ends the process, crashes, closes all
descriptors, or leaves threads and children behind. Without a reply (this process was killed, or its memory ended) the exit code is not 0.

SIGTERM to this process interrupts the code, so that the reply names the line it was in; a second later the code is killed.
Code that was written by a model is read by check.py first. It is no wall between the code and the reply: what is in `returns` is
data from that code, to be checked like all data.
"""

import json
import os
import select
import signal
import sys

ERROR_KINDS = (
    "exception",  # the code raised something
    "syntax",  # it is no Python
    "refused",  # check.py found what a model's code may not do
    "missing_package",  # a package of `requires`
    "missing_import",  # a package that the code imports
    "missing_return",  # a name of `returns` was not set
    "wrong_type",  # a value that is no JSON, no table and no picture
    "too_large",  # more than limits.value, or too many or too large pictures
    "stopped",  # SIGTERM, for example since its time was up
    "ended",  # the process of the code ended without its results
)
STOP_SECONDS = 1.0
MAX_MESSAGE = 500
MAX_TRACEBACK = 8000
MAX_FRAMES = 40
MAX_NAMES = 20
MAX_PACKAGES = 40


class Stopped(BaseException):
    """The step's time is up, or the run ends."""


# ---- The process that replies


class Printed:
    """The first bytes of what was printed, and how many there were."""

    def __init__(self, limit):
        self.limit = limit
        self.kept = bytearray()
        self.count = 0

    def take(self, chunk):
        self.count += len(chunk)
        if len(self.kept) < self.limit:
            self.kept += chunk[: self.limit - len(self.kept)]

    def is_cut(self):
        return self.count > len(self.kept)

    def text(self):
        kept = bytes(self.kept)
        if not self.is_cut():
            return kept.decode("utf-8", "replace")
        # No line, and else no word, is cut: its part could not be told from other texts.
        end = kept.rfind(b"\n", max(0, len(kept) - 4096))
        if end < 0:
            end = max(0, kept.rfind(b" "), kept.rfind(b"\t"), kept.rfind(b"\n"))
        return kept[:end].decode("utf-8", "replace") + "\n… (%d more bytes were printed and are not kept)\n" % (self.count - end)


def main():
    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    limits = request["limits"]
    reply_to = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    printed_from, printed_to = os.pipe()
    results_from, results_to = os.pipe()
    woken_from, woken_to = os.pipe()
    for descriptor in (printed_from, results_from, woken_from, woken_to):
        os.set_blocking(descriptor, False)
    # Before the fork, so that neither an end of the child nor a wish to stop is missed.
    stopping = Stopping()
    signal.set_wakeup_fd(woken_to, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: stopping.stop())
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (reply_to, printed_from, results_from, woken_from, woken_to):
            os.close(descriptor)
        os.dup2(printed_to, 1)
        os.dup2(printed_to, 2)
        os.close(printed_to)
        run_child(request, results_to)
    os.close(printed_to)
    os.close(results_to)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, lambda *_: _send(child, signal.SIGKILL))
    stopping.started(child)
    printed = Printed(limits["printed"])
    text, status = collect(child, printed, printed_from, results_from, woken_from, limits["value"])
    reply = read_results(text, status, stopping.is_wanted)
    reply["printed"] = printed.text()
    reply["is_printed_cut"] = printed.is_cut()
    _write_all(reply_to, json.dumps(reply, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))


class Stopping:
    """Interrupts the child, and kills it when it takes too long: it may catch what interrupts it, or be in a loop of a library."""

    def __init__(self):
        self.child = None
        self.is_wanted = False

    def started(self, child):
        self.child = child
        if self.is_wanted:
            self.stop()

    def stop(self):
        self.is_wanted = True
        if self.child is not None:
            _send(self.child, signal.SIGTERM)
            signal.setitimer(signal.ITIMER_REAL, STOP_SECONDS)


def _send(child, number):
    try:
        os.kill(child, number)
    except OSError:
        pass


def collect(child, printed, printed_from, results_from, woken_from, limit):
    """The bytes of the results (a line of JSON) and how the child ended, until there is one of them."""
    results = bytearray()
    status = None
    sources = [printed_from, results_from, woken_from]
    while status is None and not results.endswith(b"\n"):
        ready = select.select(sources, [], [])[0]
        if printed_from in ready and not _read(printed_from, printed.take, 16):
            sources.remove(printed_from)
        if results_from in ready and not _read(results_from, results.extend, 16):
            sources.remove(results_from)
        if len(results) > 2 * limit + (4 << 20):
            break
        if woken_from in ready:
            _read(woken_from, lambda _: None, 1)
            done, ended = os.waitpid(child, os.WNOHANG)
            status = ended if done else None
    if status is None:
        # The results are here: what the code left running ends with it.
        _send(child, signal.SIGKILL)
        os.waitpid(child, 0)
    else:
        _read(results_from, results.extend, 1 << 20)
    # What is still in the pipe; a process that the code left behind may print for ever.
    _read(printed_from, printed.take, 32)
    return bytes(results), status


def _read(source, take, chunks):
    """Reads at most so many chunks of what is there; false at the end of the file."""
    for _ in range(chunks):
        try:
            chunk = os.read(source, 65536)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        take(chunk)
    return True


def read_results(text, status, is_stopped):
    """The reply without what was printed. Whatever the child wrote, the reply has its form."""
    if text.endswith(b"\n"):
        try:
            results = json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError):
            results = None
        if isinstance(results, dict) and set(results) == {"returns", "files", "notes", "error"}:
            return results
    if is_stopped:
        return failed(failure("stopped", "The code was stopped: its time was up, or the run ended. It did not say where it was."))
    return failed(failure("ended", _how_it_ended(status)))


def failed(error):
    return {"returns": {}, "files": [], "notes": [], "error": error}


def failure(kind, message, type_name=None, line=None, traceback="", reasons=()):
    assert kind in ERROR_KINDS, kind
    return {"kind": kind, "message": message, "type": type_name, "line": line, "traceback": traceback, "reasons": list(reasons)}


def _how_it_ended(status):
    if status is None:
        return "What the code returned could not be read."
    if os.WIFEXITED(status):
        code = os.WEXITSTATUS(status)
        if code == CHANNEL_LOST:
            return "The code closed the file over which its results are returned: let it close only what it opened."
        return "The code ended its process (exit code %d) before its results were returned: let it run to its end." % code
    number = os.WTERMSIG(status)
    reasons = {
        signal.SIGKILL: "The code was killed, most often since it used too much memory.",
        signal.SIGTERM: "The code was stopped from outside.",
        signal.SIGXCPU: "The code used more processor time than it may.",
        signal.SIGXFSZ: "The code wrote a file that is larger than allowed.",
        signal.SIGSYS: "The code did something that the sandbox does not allow.",
        signal.SIGSEGV: "The code crashed: it went too deep into itself, or a library in it failed.",
        signal.SIGABRT: "The code crashed: a library in it gave up, often since its memory ended.",
    }
    return reasons.get(number, "The code crashed (signal %d)." % number)


def _write_all(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


# ---- The process that runs the code

CHANNEL_LOST = 71


def run_child(request, results_to):
    """Runs the code and writes its results; never returns. All that is needed afterwards is kept here, since the code may replace anything."""
    import builtins

    # The code may go to another folder.
    request["files"] = os.path.abspath(request["files"])
    kept_builtins, builtins_of_all = dict(builtins.__dict__), builtins.__dict__
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
    own, leave, write, pid_of = os.getpid(), os._exit, os.write, os.getpid
    streams = sys.stdout, sys.stderr
    # Freed when memory has ended, so that this can be reported.
    reserve = [bytearray(256 << 10)]
    signal.signal(signal.SIGTERM, _interrupt)
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    # Matplotlib draws into files only; libraries for numbers start no threads, each of which would take memory.
    for name, value in (("MPLBACKEND", "Agg"), ("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1"), ("MKL_NUM_THREADS", "1")):
        os.environ.setdefault(name, value)
    try:
        try:
            results = run(request, encode)
        except MemoryError:
            reserve.clear()
            results = failed(failure("exception", "MemoryError: the code used more memory than it may", "MemoryError"))
        except Stopped:
            results = failed(failure("stopped", "The code was stopped while its results were read."))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        builtins_of_all.clear()
        builtins_of_all.update(kept_builtins)
        if pid_of() != own:
            # A child of the code that came back from it: its parent returns the results.
            _flush(streams)
            leave(0)
        data = (results if isinstance(results, str) else encode(results)) + "\n"
        data = data.encode("utf-8", "replace")
        _flush(streams)
        while data:
            data = data[write(results_to, data) :]
        leave(0)
    except OSError:
        leave(CHANNEL_LOST)
    except BaseException:
        leave(1)
    finally:
        leave(1)


def _flush(streams):
    for stream in {id(one): one for one in streams + (sys.stdout, sys.stderr)}.values():
        try:
            stream.flush()
        except BaseException:
            pass


def _interrupt(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def run(request, encode):
    import builtins
    import linecache
    import types

    code, name = request["code"], request["name"]
    missing = missing_packages(request["requires"])
    if missing:
        return failed(failure("missing_package", missing))
    try:
        if request["is_written_by_model"]:
            compiled, findings = read_checked(code, name, request["requires"])
            if findings:
                return failed(refusal(findings))
        else:
            compiled = compile(code, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        return failed(syntax_failure(error))
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        # Zero bytes, or parentheses so deep that the parser gives up.
        return failed(failure("syntax", "The code cannot be read: %s" % _message(error), type(error).__name__))
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    # A module of its own: `import __main__` finds it, and not this program.
    module = types.ModuleType("__main__")
    module.__dict__.update(request["variables"])
    module.__dict__["__builtins__"] = builtins
    kept = dict(builtins.__dict__)
    replaced = sys.modules["__main__"]
    sys.modules["__main__"] = module
    report = Report(name, request["variables"])
    any_error, raised = BaseException, None
    try:
        exec(compiled, module.__dict__)
    except any_error as error:
        raised = error
    # From here on, what the code did to `len` and `open` must not matter.
    builtins.__dict__.clear()
    builtins.__dict__.update(kept)
    sys.modules["__main__"] = replaced
    if raised is not None and not (isinstance(raised, SystemExit) and raised.code in (None, 0)):
        return failed(report.exception(raised))
    return returned(request, module.__dict__, encode, report)


def read_checked(code, name, packages):
    """The code of a model, compiled from the very tree that was checked."""
    import ast

    tree = ast.parse(code, name, "exec")
    findings = check_tree(tree, modules_of(packages))
    return (None, findings) if findings else (compile(tree, name, "exec", dont_inherit=True), [])


def refusal(findings):
    line, first = findings[0]
    more = "" if len(findings) == 1 else " (and %d more)" % (len(findings) - 1)
    reasons = [{"line": line, "message": message} for line, message in findings]
    return failure("refused", "Line %d: %s%s" % (line, first, more), None, line, "", reasons)


def missing_packages(packages):
    """A sentence about all packages that are missing, or None."""
    if not packages:
        return None
    from importlib import metadata

    missing = []
    for package in packages:
        try:
            metadata.distribution(package)
        except (metadata.PackageNotFoundError, ValueError):
            missing.append(package)
    # From Python 3.10 on it is known what is part of it.
    own = [package for package in missing if package in getattr(sys, "stdlib_module_names", ())]
    missing = [package for package in missing if package not in own]
    return " ".join(filter(None, [_part_of_python(own), _not_installed(missing)])) or None


def _part_of_python(modules):
    are, them = ("is", "it") if len(modules) == 1 else ("are", "them")
    return modules and "%s %s part of Python itself: leave %s out of `requires`." % (_quoted(modules), are, them)


def _not_installed(packages):
    are = "is" if len(packages) == 1 else "are"
    if sys.prefix == sys.base_prefix:
        advice = ": make a virtual environment with %s, and let the step use its Python." % " ".join(packages)
    else:
        advice = " in this environment: run `%s -m pip install %s`." % (sys.executable, " ".join(packages))
    return packages and "%s %s not installed%s" % (_quoted(packages), are, advice)


def _quoted(packages):
    return ", ".join("`%s`" % _cut(package, 60) for package in packages)


def modules_of(packages):
    """The names under which packages are imported: `PIL` of `pillow`."""
    from importlib import metadata

    found = set()
    for package in packages:
        distribution = metadata.distribution(package)
        listed = (distribution.read_text("top_level.txt") or "").split()
        if not listed:
            files = [str(file).split("/") for file in distribution.files or ()]
            listed = [parts[0] for parts in files if len(parts) > 1] + [
                parts[0][:-3] for parts in files if len(parts) == 1 and parts[0].endswith(".py")
            ]
        found.update(module for module in listed if module.isidentifier())
    return found


def returned(request, variables, encode, report):
    """What the code set: the text of the results, or the object of a failure."""
    names = request["returns"]
    missing = [name for name in names if name not in variables]
    if missing:
        return failed(failure("missing_return", _missing(missing, names, variables, request["variables"])))
    results = Results(request["files"], request["limits"]["value"])
    values, wrong, is_too_large = {}, [], False
    for name in names:
        try:
            values[name] = results.value(name, variables[name])
        except WrongValue as error:
            wrong.append(str(error))
            is_too_large = is_too_large or isinstance(error, TooLarge)
            if isinstance(error, TooLarge):
                break
        except MemoryError:
            raise
        except Exception as error:
            # A class of the code, or a library, that fails when it is read.
            found = report.exception(error)
            found["message"] = "%s could not be read: %s" % (results.place(), found["message"])
            return failed(dict(found, kind="wrong_type"))
    if wrong:
        return failed(failure("too_large" if is_too_large else "wrong_type", " ".join(wrong[:5])))
    text = encode(values)
    if len(text.encode("utf-8")) > request["limits"]["value"]:
        results.path = [max(values, key=lambda name: len(encode(values[name])))]
        return failed(failure("too_large", results.too_large()))
    rest = {"files": results.files, "notes": [note for _, _, note in results.notes], "error": None}
    # The values are written once; they may be most of the reply.
    return '{"returns":%s,%s' % (text, encode(rest)[1:])


def _missing(missing, names, variables, given):
    import difflib
    import types

    own = [
        name
        for name, value in variables.items()
        if name not in given and name not in names and not name.startswith("__") and not isinstance(value, types.ModuleType)
    ]
    texts = []
    for name in missing:
        near = difflib.get_close_matches(name, own, 1, 0.6)
        texts.append("`%s`" % name + (" (there is `%s`)" % near[0] if near else ""))
    listed = texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " and " + texts[-1]
    return "The code did not set %s: assign a value to %s." % (listed, "it" if len(missing) == 1 else "each")


# ---- What went wrong, in the author's own lines


def syntax_failure(error):
    text = (error.text or "").rstrip("\n")
    shown = ""
    if error.lineno:
        shown = '  File "%s", line %d\n' % (error.filename, error.lineno)
        if text.strip():
            shown += "    %s\n" % _cut(text.strip(), 200)
            column = (error.offset or 1) - 1 - (len(text) - len(text.lstrip()))
            shown += "    %s^\n" % (" " * column) if 0 <= column < 200 else ""
    message = "%s: %s" % (type(error).__name__, _cut(error.msg or "the code is no Python", MAX_MESSAGE))
    return failure("syntax", message, type(error).__name__, error.lineno, shown + message)


class Report:
    """Failures of the code. What it needs is loaded before the code runs."""

    def __init__(self, name, given=()):
        import traceback

        self.name = name
        self.given = sorted(name for name in given)
        self.traceback = traceback
        places = {place.rstrip("/") + "/" for place in sys.path + [sys.prefix, sys.base_prefix] if place.strip("/")}
        self.places = sorted(places, key=len, reverse=True)

    def exception(self, error):
        kind = type(error).__name__
        line = None
        frames = []
        step = error.__traceback__
        while step is not None:
            frames.append(step)
            step = step.tb_next
        own = [number for number, step in enumerate(frames) if step.tb_frame.f_code.co_filename == self.name]
        if own:
            line = frames[own[-1]].tb_lineno
        shown = frames[own[0]] if own else None
        if len(frames) > MAX_FRAMES and shown is not None:
            shown = frames[max(own[0], len(frames) - MAX_FRAMES)]
        if isinstance(error, Stopped):
            where = "" if line is None else " in line %d" % line
            return failure("stopped", "The code was stopped%s: its time was up, or the run ended." % where, None, line, self.text(error, shown))
        if isinstance(error, SystemExit):
            message = "The code ended itself: sys.exit(%s)" % _cut(_safely(repr, error.code), 100)
            return failure("exception", message, kind, line, self.text(error, shown))
        if isinstance(error, ModuleNotFoundError) and error.name and _is_top_level(error.name):
            message = "The code imports `%s`, which is not installed in this environment. Installed: %s." % (_cut(error.name, 60), _installed())
            return failure("missing_import", message, kind, line, self.text(error, shown))
        return failure("exception", _message(error, self.help(error)), kind, line, self.text(error, shown))

    def help(self, error):
        """What there is where the code looked for something else: the variables that it is given, and no files."""
        if isinstance(error, FileNotFoundError):
            begin = "; the code sees no files of the project, only what it is given: "
        elif isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
            begin = "; the code is given "
        else:
            return ""
        names = self.given[:MAX_NAMES]
        more = len(self.given) - len(names)
        return begin + (", ".join(names) or "no variables") + (" and %d more" % more if more else "")

    def text(self, error, shown):
        """The traceback as Python prints it, from the first line of the author's code on, without the machine's folders."""
        try:
            if isinstance(error, Stopped):
                # Its last frame and its name are the driver's own.
                frames = self.traceback.extract_tb(shown, limit=-MAX_FRAMES)
                lines = self.traceback.format_list([frame for frame in frames if frame.name != "_interrupt"])
            else:
                lines = self.traceback.format_exception(type(error), error, shown, limit=-MAX_FRAMES)
        except MemoryError:
            raise
        except BaseException:
            return ""
        text = self.without_places("".join(lines))
        if len(text) > MAX_TRACEBACK:
            text = text[: MAX_TRACEBACK // 4] + "\n  …\n" + text[-MAX_TRACEBACK * 3 // 4 :]
        return text.rstrip("\n").encode("utf-8", "replace").decode("utf-8")

    def without_places(self, text):
        lines = []
        for line in text.split("\n"):
            if line.lstrip(" |+-").startswith('File "'):
                for place in self.places:
                    line = line.replace('File "' + place, 'File "', 1)
            lines.append(line)
        return "\n".join(lines)


def _installed():
    """The packages that code can import besides Python's own, by the names that it imports."""
    names = set()
    for place in sys.path:
        if place.rstrip("/").endswith(("site-packages", "dist-packages")):
            try:
                entries = os.listdir(place)
            except OSError:
                continue
            names.update(entry.removesuffix(".py") for entry in entries if entry.endswith(".py") or "." not in entry)
    names = sorted(name for name in names if name.isidentifier() and not name.startswith("_"))
    more = len(names) - MAX_PACKAGES
    return (", ".join(names[:MAX_PACKAGES]) or "none") + (" and %d more" % more if more > 0 else "")


def _is_top_level(name):
    return name.split(".")[0] not in sys.modules


def _message(error, help=""):
    text = " ".join(_safely(str, error).split())
    name = type(error).__name__
    return (_cut("%s: %s" % (name, text) if text else name, MAX_MESSAGE) + _cut(help, MAX_MESSAGE)).encode("utf-8", "replace").decode("utf-8")


def _safely(show, value):
    """A text about a value whose own class may fail to say it."""
    try:
        return show(value)
    except MemoryError:
        raise
    except BaseException:
        return "(it cannot be shown)"


if __name__ == "__main__":
    main()
