"""Reads code that a model wrote before it runs, and rejects what an analysis does not need.

This is a first line and no wall: Python can reach everything from almost anything, and whoever tries long enough finds an expression
that passes. The limit is the sandbox, in which the code runs whatever this check says. What the check gains: plainly hostile code never
starts, and a model that reaches for a file, a process or the network by habit reads in one sentence what to write instead.

Nothing is imported or run for it. Every finding has the line of the code and a sentence for the model and for people.
"""

import ast
import re

_PROCESSES = "it starts or controls processes"
_NETWORK = "the code has no network"
_INTERPRETER = "it opens the interpreter itself"
_RUNS_DATA = "it runs code that is hidden in data"
_RUNS_TEXT = "it runs text as code"
_PARALLEL = "the code is one process with one thread"
_FILES = "files are passed as variables with their `path`; write new ones into the current folder"

# Modules of Python that no analysis needs, with the reason that the author of the code reads.
REJECTED_MODULES = {
    "os": "use `pathlib` for the paths of files that were passed as variables",
    "posix": _PROCESSES, "nt": _PROCESSES, "subprocess": _PROCESSES, "pty": _PROCESSES, "tty": _PROCESSES, "signal": _PROCESSES,
    "resource": _PROCESSES, "fcntl": _PROCESSES, "termios": _PROCESSES, "atexit": _PROCESSES, "syslog": _PROCESSES, "pwd": _PROCESSES,
    "grp": _PROCESSES, "spwd": _PROCESSES, "crypt": _PROCESSES, "commands": _PROCESSES, "sched": _PROCESSES, "mmap": _PROCESSES,
    "multiprocessing": _PARALLEL, "threading": _PARALLEL, "_thread": _PARALLEL, "concurrent": _PARALLEL, "asyncio": _PARALLEL,
    "queue": _PARALLEL, "joblib": _PARALLEL, "select": _PARALLEL, "selectors": _PARALLEL,
    "socket": _NETWORK, "ssl": _NETWORK, "http": _NETWORK, "urllib": _NETWORK, "urllib3": _NETWORK, "requests": _NETWORK,
    "httpx": _NETWORK, "aiohttp": _NETWORK, "ftplib": _NETWORK, "smtplib": _NETWORK, "poplib": _NETWORK, "imaplib": _NETWORK,
    "telnetlib": _NETWORK, "xmlrpc": _NETWORK, "socketserver": _NETWORK, "webbrowser": _NETWORK, "wsgiref": _NETWORK, "nntplib": _NETWORK,
    "sys": _INTERPRETER, "builtins": _INTERPRETER, "importlib": _INTERPRETER, "imp": _INTERPRETER, "pkgutil": _INTERPRETER,
    "runpy": _INTERPRETER, "inspect": _INTERPRETER, "gc": _INTERPRETER, "types": _INTERPRETER, "ctypes": _INTERPRETER,
    "cffi": _INTERPRETER, "code": _INTERPRETER, "codeop": _INTERPRETER, "dis": _INTERPRETER, "ast": _INTERPRETER, "site": _INTERPRETER,
    "sysconfig": _INTERPRETER, "pdb": _INTERPRETER, "bdb": _INTERPRETER, "trace": _INTERPRETER, "faulthandler": _INTERPRETER,
    "tracemalloc": _INTERPRETER, "zipimport": _INTERPRETER, "modulefinder": _INTERPRETER, "pip": _INTERPRETER, "setuptools": _INTERPRETER,
    "ensurepip": _INTERPRETER, "venv": _INTERPRETER, "platform": _INTERPRETER, "weakref": _INTERPRETER, "symtable": _INTERPRETER,
    "pickle": _RUNS_DATA, "_pickle": _RUNS_DATA, "marshal": _RUNS_DATA, "shelve": _RUNS_DATA, "dill": _RUNS_DATA,
    "cloudpickle": _RUNS_DATA, "copyreg": _RUNS_DATA, "dbm": _RUNS_DATA,
    "shutil": _FILES, "glob": _FILES, "tempfile": _FILES, "fileinput": _FILES, "zipfile": _FILES, "tarfile": _FILES, "getpass": _FILES,
    "duckdb": "it opens files and the network by itself; query tables with an `sql` step",
    "sqlite3": "query tables with an `sql` step, or with pandas",
}  # fmt: skip

# What an analysis may import. Packages that the author lists under `requires` are added.
ALLOWED_MODULES = {
    "__future__", "abc", "array", "base64", "binascii", "bisect", "calendar", "cmath", "codecs", "collections", "contextlib", "copy", "csv",
    "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib", "heapq", "html", "io",
    "itertools", "json", "locale", "logging", "math", "numbers", "operator", "pathlib", "pprint", "random", "re", "secrets", "statistics",
    "string", "struct", "textwrap", "time", "traceback", "typing", "typing_extensions", "unicodedata", "uuid", "warnings", "zlib", "zoneinfo",
    "PIL", "dateutil", "matplotlib", "mpl_toolkits", "numpy", "openpyxl", "pandas", "polars", "pyarrow", "pytz", "scipy", "seaborn",
    "sklearn", "statsmodels", "tabulate",
}  # fmt: skip

# Modules of Python that other modules import and so hold as fields: `random._os`, `pd.io.common.os`. Others of REJECTED_MODULES have the names
# of good functions (`np.select`, `np.trace`, `scipy.signal`) and are no way out.
INNER_MODULES = {
    "os", "posix", "subprocess", "pty", "multiprocessing", "threading", "socket", "urllib", "urllib3", "requests", "sys", "builtins",
    "importlib", "inspect", "gc", "ctypes", "pickle", "shutil", "tempfile", "platform", "pkgutil", "runpy", "weakref", "glob",
}  # fmt: skip

# Parts of allowed packages that are not.
REJECTED_SUBMODULES = {
    "numpy.ctypeslib": _INTERPRETER, "numpy.f2py": _PROCESSES, "numpy.distutils": _PROCESSES, "logging.handlers": _NETWORK,
    "logging.config": _RUNS_DATA, "matplotlib.testing": _PROCESSES, "pandas.io.clipboard": _PROCESSES, "sklearn.externals": _RUNS_DATA,
    "scipy.weave": _PROCESSES, "pyarrow.flight": _NETWORK, "pyarrow.fs": _FILES, "PIL.ImageGrab": _PROCESSES, "PIL.ImageShow": _PROCESSES,
}  # fmt: skip

REJECTED_NAMES = {
    "eval": "it runs text as code; use `json.loads`, or `float` for a number",
    "exec": "it runs text as code; write the statements themselves",
    "compile": "it runs text as code; write the statements themselves",
    "__import__": "write an `import` statement",
    "__builtins__": _INTERPRETER,
    "__loader__": _INTERPRETER,
    "__spec__": _INTERPRETER,
    "__file__": "the code is no file; files are passed as variables with their `path`",
    "globals": "name the variable itself",
    "locals": "name the variable itself",
    "vars": "name the fields themselves",
    "setattr": "assign to the field itself",
    "delattr": "use `del` with the field itself",
    "input": "nobody answers while the code runs; values are passed as variables",
    "breakpoint": "nobody answers while the code runs",
    "help": "nobody answers while the code runs",
    "exit": "let the code end by itself",
    "quit": "let the code end by itself",
}

# Names with two underscores that a program reads or calls for good reasons; all others lead to the interpreter.
ALLOWED_DUNDERS = {
    "__name__", "__doc__", "__version__", "__init__", "__post_init__", "__len__", "__str__", "__repr__", "__eq__", "__lt__", "__iter__",
    "__next__", "__enter__", "__exit__", "__call__", "__getitem__", "__contains__", "__add__", "__hash__", "__all__", "__annotations__",
}  # fmt: skip

# Ways from a value to the code that made it. `mro` is what `__mro__` is without underscores.
REJECTED_ATTRIBUTES = {
    "f_globals", "f_locals", "f_builtins", "f_back", "f_code", "gi_frame", "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code",
    "tb_frame", "tb_next", "func_globals", "func_code", "co_code", "co_consts", "mro",
}  # fmt: skip

# Methods that no analysis calls, whatever they are called on.
REJECTED_METHODS = {
    "popen": _PROCESSES, "Popen": _PROCESSES, "check_output": _PROCESSES, "check_call": _PROCESSES, "fork": _PROCESSES,
    "execv": _PROCESSES, "execve": _PROCESSES, "execvp": _PROCESSES, "spawnl": _PROCESSES, "spawnv": _PROCESSES, "posix_spawn": _PROCESSES,
    "import_module": _INTERPRETER, "load_module": _INTERPRETER, "exec_module": _INTERPRETER, "load_extension": _INTERPRETER,
    "read_pickle": _RUNS_DATA, "to_pickle": _RUNS_DATA, "read_clipboard": _PROCESSES, "to_clipboard": _PROCESSES,
    "sympify": _RUNS_TEXT, "parse_expr": _RUNS_TEXT, "get_type_hints": _RUNS_TEXT, "ForwardRef": _RUNS_TEXT,
    "urlopen": _NETWORK, "urlretrieve": _NETWORK, "load_dataset": _NETWORK,
    "read_sql": "query tables with an `sql` step", "read_sql_query": "query tables with an `sql` step",
    "read_sql_table": "query tables with an `sql` step",
    "unlink": _FILES, "rmdir": _FILES, "rmtree": _FILES, "chmod": _FILES, "lchmod": _FILES, "symlink_to": _FILES, "hardlink_to": _FILES,
    "link_to": _FILES, "expanduser": _FILES, "rglob": _FILES, "iterdir": _FILES,
}  # fmt: skip

# Functions whose first argument is the path of a file, by the last part of their name; and all that begin with these words.
PATH_FUNCTIONS = {
    "open", "Path", "PurePath", "PosixPath", "imread", "imsave", "savefig", "save", "savez", "savetxt", "load", "loadtxt", "genfromtxt",
    "fromfile", "tofile", "memmap", "ExcelFile", "ExcelWriter", "HDFStore", "load_workbook", "FileHandler", "write_text", "write_bytes",
    "joinpath", "with_name", "fdopen", "open_code", "FileIO",
}  # fmt: skip
_PATH_PREFIXES = ("read_", "to_", "scan_", "write_", "fetch_")
_PATH_KEYWORDS = {"file", "filename", "path", "fname", "fp", "io", "filepath_or_buffer", "path_or_buf", "excel_writer", "filepath"}

_OUTSIDE = re.compile(r"^\s*(?:/|~|\\|[A-Za-z]:[\\/])|(?:^|[\\/])\.\.(?:[\\/]|$)")
# Folders of the machine, wherever they are written. Others may be pages of a web site, and so data.
_MACHINE = re.compile(r"^(?:/(?:etc|proc|sys|dev|root)(?:/|$)|~/\.)")
_ADDRESS = re.compile(r"^\s*[A-Za-z][A-Za-z0-9+.-]+://")
_DUNDER = re.compile(r"^__\w+__$")
# What is a way into the interpreter when a format or a lookup names it.
_DUNDER_IN_TEXT = re.compile(
    r"__(?:class|bases?|mro|subclasses|globals|builtins|import|dict|code|closure|func|self|getattribute|getattr|reduce|reduce_ex|loader|spec"
    r"|init_subclass|subclasshook|module|wrapped|traceback|context|cause)__"
)
# In a query of pandas, `@name` is a variable of the code: reading on from it calls what a query must not call.
_QUERY_ESCAPE = re.compile(r"__|@\s*\w+\s*[.(\[]|\bimport\b|\blambda\b")

# Functions that read a field by its name. They must be called where they are named, so that the name can be seen.
_READERS = ("getattr", "attrgetter", "methodcaller")

# What hands out the fields that a text names: `string.Formatter`, which `logging` has under another name. `.format` of a text makes a text
# of them, and nothing that could be used.
_FIELD_READERS = ("get_field", "vformat", "StrFormatter")
_NAME_IT = "name the field itself, or use an f-string"

# Of INNER_MODULES those that hardly are the name of a column (`df.os` is one): they are rejected whatever they are read from.
_NEVER_FIELDS = {
    "sys", "posix", "subprocess", "pty", "multiprocessing", "builtins", "importlib", "ctypes", "pickle", "shutil", "pkgutil", "runpy",
}  # fmt: skip


def _leads_out(field):
    """Whether a name of a field, or of fields below each other (`a.b`), leads to an inner part of a package or the interpreter."""
    rejected = (REJECTED_ATTRIBUTES, REJECTED_METHODS, INNER_MODULES)
    return any(part.startswith("_") or any(part in names for names in rejected) for part in field.split("."))


MAX_FINDINGS = 20


def check_tree(tree, packages=()):
    """What is not allowed in a tree of `ast`, as a list of `(line, sentence)` in the order of the lines, at most MAX_FINDINGS.

    `packages` are names of modules that may be imported besides ALLOWED_MODULES."""
    reader = _Reader(set(packages))
    imports = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    reader.has_string = "string" in imports
    reader.visit(tree)
    return sorted(reader.findings, key=lambda finding: finding[0])[:MAX_FINDINGS]


class _Reader(ast.NodeVisitor):
    def __init__(self, packages):
        self.packages = packages
        self.findings = []
        # Names that stand for a module, or for a part of one: `pd`, `plt`, `x` after `x = pd.io`.
        self.modules = set()
        # Whether the code imports `string`, in whatever place and under whatever name.
        self.has_string = False

    def reject(self, node, sentence):
        finding = (getattr(node, "lineno", 1), sentence)
        if finding not in self.findings:
            self.findings.append(finding)

    # Imports

    def module(self, node, name):
        parts = name.split(".")
        top = parts[0]
        within = next((part for part in REJECTED_SUBMODULES if name == part or name.startswith(part + ".")), None)
        hidden = next((part for part in parts if part.startswith("_") and part != "__future__"), None)
        inner = next((part for part in parts[1:] if part in INNER_MODULES), None)
        if within:
            self.reject(node, "`import %s` is not allowed: %s." % (name, REJECTED_SUBMODULES[within]))
        elif top in self.packages and not hidden:
            pass
        elif top in REJECTED_MODULES:
            self.reject(node, "`import %s` is not allowed: %s." % (name, REJECTED_MODULES[top]))
        elif hidden or inner:
            self.reject(node, "`import %s` is not allowed: `%s` is an inner part of a package." % (name, hidden or inner))
        elif top not in ALLOWED_MODULES:
            self.reject(node, "`import %s` is not allowed: `%s` is no module that code of a model may use." % (name, top))

    def visit_Import(self, node):
        for alias in node.names:
            self.module(node, alias.name)
            self.modules.add(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node):
        if node.level:
            self.reject(node, "a relative import is not allowed: the code is no part of a package.")
            return
        name = node.module or ""
        self.module(node, name)
        for alias in node.names:
            if alias.name == "*" and "." in name:
                self.reject(node, "`from %s import *` is not allowed: name what you need." % name)
            elif name.split(".")[0] in REJECTED_MODULES:
                pass
            elif alias.name in INNER_MODULES or alias.name.startswith("_") and alias.name not in ALLOWED_DUNDERS:
                self.reject(node, "`from %s import %s` is not allowed: it is an inner part of `%s`." % (name, alias.name, name))
            elif "%s.%s" % (name, alias.name) in REJECTED_SUBMODULES:
                self.module(node, "%s.%s" % (name, alias.name))
            elif alias.name in REJECTED_METHODS:
                self.reject(node, "`%s` is not allowed: %s." % (alias.name, REJECTED_METHODS[alias.name]))
            elif alias.name in _FIELD_READERS or name == "string" and alias.name in ("Formatter", "*"):
                self.reject(node, "`from %s import %s` is not allowed: %s." % (name, alias.name, _NAME_IT))
            elif alias.name in _READERS and alias.asname:
                self.reject(node, "`%s` under another name is not allowed: %s." % (alias.name, _INTERPRETER))
            self.modules.add(alias.asname or alias.name)

    def visit_Assign(self, node):
        # A part of a module under another name stays one.
        root, _ = _chain(node.value)
        if isinstance(node.value, (ast.Name, ast.Attribute)) and root in self.modules:
            self.modules.update(target.id for target in node.targets if isinstance(target, ast.Name))
        self.generic_visit(node)

    def visit_NamedExpr(self, node):
        root, _ = _chain(node.value)
        if root in self.modules:
            self.modules.add(node.target.id)
        self.generic_visit(node)

    # Names and attributes

    def visit_Name(self, node):
        if node.id in REJECTED_NAMES:
            self.reject(node, "`%s` is not allowed: %s." % (node.id, REJECTED_NAMES[node.id]))
        elif _DUNDER.match(node.id) and node.id not in ALLOWED_DUNDERS:
            self.reject(node, "`%s` is not allowed: %s." % (node.id, _INTERPRETER))
        elif node.id in _READERS:
            self.uncalled(node, node.id)

    def uncalled(self, node, name):
        if not getattr(node, "is_called", False):
            self.reject(node, "`%s` is not allowed as a value: name the field itself." % name)

    def visit_Attribute(self, node):
        name = node.attr
        root, parts = _chain(node)
        if _DUNDER.match(name) and name not in ALLOWED_DUNDERS or name in REJECTED_ATTRIBUTES:
            self.reject(node, "`.%s` is not allowed: %s." % (name, _INTERPRETER))
        elif root in self.modules and name in INNER_MODULES:
            self.reject(node, "`%s.%s` is not allowed: it is an inner part of a package." % (root, ".".join(parts)))
        elif (
            root in self.modules
            and len(parts) == 1
            and name.startswith("_")
            and not _DUNDER.match(name)
            or name[1:] in INNER_MODULES
            and name[0] == "_"
        ):
            self.reject(node, "`.%s` is not allowed: it is an inner part of a package." % name)
        elif name in _READERS:
            self.uncalled(node, name)
        elif name in _FIELD_READERS or name == "Formatter" and self.has_string:
            self.reject(node, "`.%s` is not allowed: %s." % (name, _NAME_IT))
        elif name in _NEVER_FIELDS:
            self.reject(node, "`.%s` is not allowed: it may be an inner part of a package; a column is `[%r]`." % (name, name))
        elif name in REJECTED_METHODS:
            self.reject(node, "`.%s` is not allowed: %s." % (name, REJECTED_METHODS[name]))
        self.generic_visit(node)

    def visit_MatchClass(self, node):
        # `case object(__class__=kind)` reads the field.
        for name in node.kwd_attrs:
            if _leads_out(name):
                self.reject(node, "`%s=` in a pattern is not allowed: %s." % (name, _INTERPRETER))
        self.generic_visit(node)

    # Calls and texts

    def visit_Call(self, node):
        name = _called(node.func)
        node.func.is_called = True
        if name == "getattr" and isinstance(node.func, ast.Name):
            field = _text(node.args[1]) if len(node.args) > 1 else None
            if field is None:
                self.reject(node, "`getattr` with a name that is worked out is not allowed: name the field itself, or use `.agg(name)`.")
            elif _leads_out(field) or field in REJECTED_MODULES:
                self.reject(node, "`getattr(…, %r)` is not allowed: %s." % (field, _INTERPRETER))
        elif name in ("attrgetter", "methodcaller"):
            for argument in node.args[: None if name == "attrgetter" else 1]:
                field = _text(argument)
                if field is None or _leads_out(field):
                    self.reject(node, "`%s` takes only a plain name here: %s." % (name, _INTERPRETER))
        elif name in ("query", "eval") and isinstance(node.func, ast.Attribute):
            self.query(node, name)
        if name in PATH_FUNCTIONS or (name or "").startswith(_PATH_PREFIXES):
            self.paths(node, name)
        for keyword in node.keywords:
            if keyword.arg == "allow_pickle" and not _is_false(keyword.value):
                self.reject(node, "`allow_pickle` is not allowed: %s." % _RUNS_DATA)
            if keyword.arg == "engine" and name in ("query", "eval") and _text(keyword.value) == "python":
                self.reject(node, '`engine="python"` is not allowed in `%s`: %s.' % (name, _RUNS_DATA))
        self.generic_visit(node)

    def query(self, node, name):
        given = node.args[:1] + [keyword.value for keyword in node.keywords if keyword.arg == "expr"]
        for argument in given:
            for text in _texts(argument):
                if _QUERY_ESCAPE.search(text):
                    self.reject(node, "this text of `.%s` is not allowed: it may name columns and variables, and nothing below them." % name)

    def paths(self, node, name):
        places = node.args[:1] + [keyword.value for keyword in node.keywords if keyword.arg in _PATH_KEYWORDS]
        if name in ("joinpath", "Path", "PurePath", "PosixPath"):
            places = node.args
        for place in places:
            # Of a text with parts that are filled in, the beginning decides where it leads.
            for index, text in enumerate(_texts(place)):
                if _ADDRESS.match(text):
                    self.reject(node, "%r is not allowed: %s." % (text[:80], _NETWORK))
                elif index == 0 and _OUTSIDE.search(text) or index and re.search(r"(?:^|[\\/])\.\.(?:[\\/]|$)", text):
                    self.reject(node, "the path %r is not allowed: %s." % (text[:80], _FILES))

    def visit_Constant(self, node):
        for text in _texts(node):
            found = _DUNDER_IN_TEXT.search(text)
            if found:
                self.reject(node, "a text with `%s` is not allowed: %s." % (found.group(), _INTERPRETER))
            elif _MACHINE.search(text):
                self.reject(node, "the path %r is not allowed: %s." % (text[:80], _FILES))

    # What can be defined

    def visit_FunctionDef(self, node):
        if _DUNDER.match(node.name) and node.name in ("__reduce__", "__reduce_ex__", "__getattribute__", "__import__", "__del__"):
            self.reject(node, "`%s` is not allowed: %s." % (node.name, _INTERPRETER))
        self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_BinOp(self, node):
        # `folder / "../x"`, as pathlib writes it.
        if isinstance(node.op, ast.Div):
            for text in _texts(node.right) if _text(node.right) is not None else ():
                if _OUTSIDE.search(text):
                    self.reject(node, "the path %r is not allowed: %s." % (text[:80], _FILES))
        self.generic_visit(node)


def _chain(node):
    """`("pd", ["io", "common"])` of `pd.io.common`; `(None, [])` where something else than a name begins it."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, parts[::-1]) if isinstance(node, ast.Name) else (None, [])


def _called(function):
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else None


def _text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _texts(node):
    """The fixed texts of an expression that makes a text, from left to right; "" where it begins with something that is worked out."""
    if isinstance(node, ast.Constant):
        value = node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else node.value
        return [value] if isinstance(value, str) else []
    if isinstance(node, ast.JoinedStr):
        return [_text(part) or "" for part in node.values]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return (_texts(node.left) or [""]) + _texts(node.right)
    return []


def _is_false(node):
    return isinstance(node, ast.Constant) and node.value is False
