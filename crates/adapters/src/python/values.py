"""Turns what the author's code left in its variables into JSON, and pictures into files.

Nothing is imported for it: a value of pandas can only exist once the code has imported pandas, so the library is looked for among the loaded
modules. What becomes of which value:

    None, bool, int, float, str     themselves; an int of more than 64 bits and an infinite float are errors, NaN is null
    list, tuple, set, range, deque, views of a dict     list; a set is sorted, so that the same set gives the same list
    dict, namedtuple, dataclass     object; keys that are numbers or dates become texts
    date, datetime, time     text as in ISO 8601; timedelta: seconds
    Decimal, Fraction, UUID, Path     text, exactly as Python writes it; Enum: its value
    numpy: numbers and arrays; an array with named fields is a table
    pandas, polars: a DataFrame is a list of rows {column: value}, a Series is a list; empty cells (NaN, NaT, NA) are null
    a Figure or Axes of matplotlib, an image of PIL, bytes of a picture, the Path of a picture     a file, and {path, type, width, height}

An index of pandas that only counts is left out. One with a name, or of texts or dates, says what a row is about: it becomes the first columns of a
table, and of a Series the keys (without a name, as in `df.mean()`) or a column beside the values (with one, as in `df.groupby("region").size()`).
"""

import datetime
import enum
import os
import sys

# JSON readers hold whole numbers in 64 bits, with or without a sign.
_LEAST_INT = -(2**63)
_MOST_INT = 2**64 - 1

MAX_DEPTH = 64
MAX_FILES = 100
MAX_NOTES = 20
MAX_PICTURE_BYTES = 32 << 20


class WrongValue(Exception):
    """A value that cannot be returned; the text is a whole sentence."""


class TooLarge(WrongValue):
    """More than the limit of what the code may return."""


class Results:
    """What is returned: `files` and `notes` grow while values are converted."""

    def __init__(self, folder, limit):
        self.folder = folder
        self.limit = limit
        self.left = limit
        self.files = []
        self.notes = []
        self.path = []
        self.open = set()
        self.figures = {}
        self.in_table = False

    def value(self, name, value):
        """The JSON value of one variable."""
        self.path = [name]
        self.open.clear()
        self.in_table = False
        return self.convert(value)

    # Where we are, for people and as a JSON pointer (RFC 6901)

    def place(self):
        name, rest = self.path[0], self.path[1:]
        shown = "".join("[%s]" % (part if isinstance(part, int) else repr(part)) for part in rest)
        return "`%s`" % _cut(name + shown, 120)

    def pointer(self):
        return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in self.path)

    def note(self, text):
        note = "%s %s" % (self.place(), text)
        # One note for a variable: a list of a million numbers has no million notes.
        name = self.path[0]
        if len(self.notes) < MAX_NOTES and (name, text) not in [(of, what) for of, what, _ in self.notes]:
            self.notes.append((name, text, note))

    def wrong(self, text):
        return WrongValue("%s %s." % (self.place(), text))

    def spend(self, amount):
        """Less than the bytes of the JSON text, so that a value that is far too large ends early; the text itself is measured at the end."""
        self.left -= amount
        if self.left < 0:
            raise TooLarge(self.too_large())

    def too_large(self):
        return "%s makes the results larger than %s as JSON: return a summary, or fewer rows." % (self.place(), _size(self.limit))

    # Values

    def convert(self, value):
        # Most values of a table are one of these: no further call for them.
        kind = type(value)
        if kind is str and value.isascii():
            self.left -= len(value) + 2
        elif value is None or kind is bool:
            self.left -= 4
        elif (kind is int and _LEAST_INT <= value <= _MOST_INT) or (kind is float and value - value == 0.0):
            self.left -= 1
        elif kind is str:
            return self.text(value)
        elif kind is dict or kind is list:
            return self.container(value)
        else:
            return self.other(value)
        if self.left < 0:
            raise TooLarge(self.too_large())
        return value

    def text(self, value):
        value = str.__str__(value)
        self.spend(len(value) + 2)
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            self.note("holds halves of characters, which are shown as ?")
            value = value.encode("utf-8", "replace").decode("utf-8")
        return value

    def integer(self, value):
        value = int.__int__(value)
        self.spend(1)
        if not _LEAST_INT <= value <= _MOST_INT:
            raise self.wrong("is a number of more than 64 bits: return `str(…)` of it")
        return value

    def number(self, value):
        value = float.__float__(value)
        self.spend(1)
        if value != value:
            if not self.in_table:
                self.note("is no number (NaN), and null in the result")
            return None
        if value in (float("inf"), float("-inf")):
            raise self.wrong("is infinite, which JSON cannot say: look for a division by zero")
        return value

    def other(self, value):
        for convert in (self.scalar, self.picture, self.table, self.container):
            converted = convert(value)
            if converted is not _NOT_MINE:
                return converted
        kind = type(value).__name__
        if callable(value):
            raise self.wrong("is a %s: return what it gives, as in `name(…)`" % kind)
        if hasattr(value, "__next__"):
            raise self.wrong("is a %s, which is empty once it was read: return `list(…)` of it" % kind)
        raise self.wrong("is a %s: return numbers, texts, true or false, dates, lists, dicts, tables or pictures" % _cut(kind, 60))

    def scalar(self, value):
        if isinstance(value, enum.Enum):
            return self.convert(value.value)
        pandas = sys.modules.get("pandas")
        if pandas is not None:
            if value is pandas.NaT or value is pandas.NA:
                self.spend(4)
                return None
            if isinstance(value, pandas.Timedelta):
                return self.number(value.total_seconds())
            if isinstance(value, (pandas.Period, pandas.Interval)):
                return self.text(str(value))
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.generic):
            return self.numpy_scalar(numpy, value)
        if isinstance(value, bool):
            return bool(value)
        for kind, convert in ((str, self.text), (int, self.integer), (float, self.number)):
            if isinstance(value, kind):
                return convert(value)
        if isinstance(value, (datetime.date, datetime.time)):
            return self.text(value.isoformat())
        if isinstance(value, datetime.timedelta):
            return self.number(value.total_seconds())
        if _is_a(value, "decimal", "Decimal"):
            if not value.is_finite():
                return self.number(float(value))
            return self.text(str(value))
        if _is_a(value, "fractions", "Fraction") or _is_a(value, "uuid", "UUID"):
            return self.text(str(value))
        return _NOT_MINE

    def numpy_scalar(self, numpy, value):
        if isinstance(value, numpy.datetime64):
            if numpy.isnat(value):
                self.spend(4)
                return None
            if numpy.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D"):
                return self.convert(value.astype("datetime64[D]").item())
            return self.convert(value.astype("datetime64[us]").item())
        if isinstance(value, numpy.timedelta64):
            if numpy.isnat(value):
                self.spend(4)
                return None
            return self.number(float(value / numpy.timedelta64(1, "s")))
        if isinstance(value, numpy.bool_):
            return bool(value)
        if isinstance(value, numpy.integer):
            return self.integer(int(value))
        if isinstance(value, numpy.floating):
            return self.number(float(value))
        if isinstance(value, numpy.str_):
            return self.text(value)
        if isinstance(value, numpy.bytes_):
            return _NOT_MINE
        if isinstance(value, numpy.void) and value.dtype.names:
            return self.convert({name: value[name] for name in value.dtype.names})
        return _NOT_MINE

    # What holds other values

    def container(self, value):
        items = pairs = None
        if isinstance(value, dict):
            pairs = value.items
        elif isinstance(value, tuple) and hasattr(type(value), "_fields"):
            pairs = lambda: list(zip(type(value)._fields, value))  # noqa: E731
        elif _is_dataclass(value):
            pairs = lambda: [(name, getattr(value, name)) for name in type(value).__dataclass_fields__]  # noqa: E731
        elif isinstance(value, (list, tuple, range)) or _is_a(value, "collections", "deque") or _is_a(value, "array", "array"):
            items = lambda: value  # noqa: E731
        elif isinstance(value, (type({}.keys()), type({}.values()), type({}.items()))):
            items = lambda: list(value)  # noqa: E731
        elif isinstance(value, (set, frozenset)):
            return self.within(value, lambda: sorted(self.items(list(value)), key=_order))
        if pairs is not None:
            return self.within(value, lambda: self.pairs(pairs()))
        if items is not None:
            return self.within(value, lambda: self.items(items()))
        return _NOT_MINE

    def within(self, value, convert):
        if id(value) in self.open:
            raise self.wrong("holds itself, so it has no end")
        if len(self.path) > MAX_DEPTH:
            raise WrongValue("`%s` has more than %d lists or dicts inside each other." % (self.path[0], MAX_DEPTH))
        self.open.add(id(value))
        converted = convert()
        self.open.discard(id(value))
        return converted

    def items(self, values):
        self.spend(2)
        converted = []
        self.path.append(0)
        for index, value in enumerate(values):
            self.path[-1] = index
            converted.append(self.convert(value))
        self.path.pop()
        return converted

    def pairs(self, pairs):
        self.spend(2)
        converted = {}
        self.path.append("")
        for key, value in pairs:
            name = key if type(key) is str and key.isascii() else self.key(key)
            self.path[-1] = name
            if name in converted:
                raise self.wrong("is there twice: two keys read the same as texts")
            self.spend(len(name) + 4)
            converted[name] = self.convert(value)
        self.path.pop()
        return converted

    def key(self, key):
        if type(key) is str:
            return self.text(key)
        name = self.scalar(key) if not isinstance(key, (type(None), bool)) else key
        if name is _NOT_MINE or name is None:
            self.path.pop()
            raise self.wrong("has the key %s: keys must be texts, numbers or dates" % _cut(repr(key), 60))
        return name if isinstance(name, str) else str(name).lower() if isinstance(name, bool) else str(name)

    # Tables and arrays

    def table(self, value):
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.ndarray):
            return self.array(numpy, value)
        pandas = sys.modules.get("pandas")
        if pandas is not None:
            if isinstance(value, pandas.DataFrame):
                return self.pandas_table(value)
            if isinstance(value, pandas.Series):
                return self.pandas_series(value)
            if isinstance(value, (pandas.Index, pandas.api.extensions.ExtensionArray)):
                return self.cells(lambda: self.items(value.tolist()))
        polars = sys.modules.get("polars")
        if polars is not None:
            if isinstance(value, polars.LazyFrame):
                raise self.wrong("is a query that has not run: return `.collect()` of it")
            if isinstance(value, polars.DataFrame):
                columns = [(name, value.get_column(name).to_list()) for name in value.columns]
                return self.cells(lambda: self.rows(columns, value.height))
            if isinstance(value, polars.Series):
                return self.cells(lambda: self.items(value.to_list()))
        return _NOT_MINE

    def cells(self, convert):
        outer, self.in_table = self.in_table, True
        converted = convert()
        self.in_table = outer
        return converted

    def array(self, numpy, value):
        self.spend(value.size)
        if value.ndim > MAX_DEPTH - len(self.path):
            raise self.wrong("has too many dimensions")
        if value.dtype.names and value.ndim == 1:
            columns = [(name, list(value[name])) for name in value.dtype.names]
            return self.cells(lambda: self.rows(columns, len(value)))
        if value.dtype.kind in "mMVS":
            return self.convert(list(value) if value.ndim else value[()])
        if isinstance(value, numpy.ma.MaskedArray):
            return self.cells(lambda: self.convert(value.tolist()))
        return self.within(value, lambda: self.convert(value.tolist()))

    def pandas_table(self, frame):
        self.spend(frame.shape[0] * frame.shape[1])
        names = [self.column(name) for name in frame.columns]
        columns = [(name, frame.iloc[:, place].tolist()) for place, name in enumerate(names)]
        return self.cells(lambda: self.rows(_index_columns(frame.index, names) + columns, len(frame)))

    def column(self, name):
        if isinstance(name, tuple):
            # Columns of two levels, as `.agg` makes them: `amount_sum`.
            return "_".join(self.key(part) for part in name if part != "")
        self.path.append("")
        name = self.key(name)
        self.path.pop()
        return name

    def pandas_series(self, series):
        index = _index_columns(series.index, [])
        values = series.tolist()
        self.spend(len(values))
        if not index:
            return self.cells(lambda: self.items(values))
        if len(index) == 1 and series.index.name is None and series.index.is_unique:
            return self.cells(lambda: self.pairs(zip(index[0][1], values)))
        names = [name for name, _ in index]
        name = self.column(series.name) if series.name is not None else "value"
        columns = index + [(name if name not in names else "value", values)]
        return self.cells(lambda: self.rows(columns, len(series)))

    def rows(self, columns, count):
        names = [name for name, _ in columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise self.wrong("has two columns named %s: rename one" % ", ".join("`%s`" % _cut(name, 60) for name in twice))
        self.spend(count * sum(len(name) + 4 for name in names))
        rows = [{} for _ in range(count)]
        self.path += [0, ""]
        for name, values in columns:
            self.path[-1] = name
            for index, value in enumerate(values):
                self.path[-2] = index
                rows[index][name] = self.convert(value)
        del self.path[-2:]
        return rows

    # Pictures

    def picture(self, value):
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self.bytes_of(bytes(value))
        if _is_a(value, "io", "BytesIO"):
            return self.bytes_of(value.getvalue())
        if isinstance(value, os.PathLike) and _is_a(value, "pathlib", "PurePath"):
            return self.path_of(value)
        if _is_a(value, "matplotlib.figure", "Figure"):
            return self.figure(value)
        if _is_a(value, "matplotlib.axes", "Axes") or type(value).__name__ in ("FacetGrid", "PairGrid", "JointGrid", "ClusterGrid"):
            return self.figure(value.figure)
        if _is_a(value, "PIL.Image", "Image"):
            return self.pil_image(value)
        return _NOT_MINE

    def bytes_of(self, data):
        if picture_size(data) is None:
            raise self.wrong("is bytes that are no PNG, JPEG, GIF or WebP: return `.decode()` of a text, or the picture")
        return self.file(data)

    def path_of(self, path):
        try:
            # A pipe would wait for its other end.
            data = b""
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read(MAX_PICTURE_BYTES + 1)
        except (OSError, ValueError):
            return self.text(str(path))
        return self.text(str(path)) if picture_size(data) is None else self.file(data)

    def figure(self, figure):
        if id(figure) not in self.figures:
            import io

            # Without the name of the library's version the same figure has the same bytes.
            out = io.BytesIO()
            figure.savefig(out, format="png", metadata={"Software": None})
            # The figure is held, so that no other one gets its id.
            self.figures[id(figure)] = (figure, self.file(out.getvalue()))
        return dict(self.figures[id(figure)][1])

    def pil_image(self, image):
        import io

        if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
            image = image.convert("RGB")
        out = io.BytesIO()
        image.save(out, format="PNG")
        return self.file(out.getvalue())

    def file(self, data):
        media_type, width, height = picture_size(data)
        if len(data) > MAX_PICTURE_BYTES:
            raise TooLarge("%s is a picture of more than %s: make it smaller." % (self.place(), _size(MAX_PICTURE_BYTES)))
        if len(self.files) >= MAX_FILES:
            raise TooLarge("%s would be picture %d: at most %d can be returned." % (self.place(), MAX_FILES + 1, MAX_FILES))
        name = self.file_name(media_type.split("/")[1].replace("jpeg", "jpg"))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(os.path.join(self.folder, name), flags, 0o600), "wb") as file:
            file.write(data)
        self.spend(100)
        variable = self.path[0]
        self.files.append({"name": name, "variable": variable, "pointer": self.pointer(), "media_type": media_type, "width": width, "height": height})
        return {"path": name, "type": "image", "width": width, "height": height}

    def file_name(self, ending):
        words = "_".join(str(part) for part in self.path)
        words = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "_-") else "_" for sign in words).strip("_-")[:60] or "picture"
        taken = [file["name"] for file in self.files]
        name, number = "%s.%s" % (words, ending), 1
        while name in taken or os.path.lexists(os.path.join(self.folder, name)):
            number += 1
            name = "%s_%d.%s" % (words, number, ending)
        return name


_NOT_MINE = object()


def _is_a(value, module, name):
    """Whether a value is of a class of a module that the code has loaded; never loads it."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _is_dataclass(value):
    return isinstance(getattr(type(value), "__dataclass_fields__", None), dict)


def _order(value):
    """A key that orders JSON values of any kinds: numbers as numbers, everything else by kind and text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ("1", value, "")
    return ("0" if value is None or isinstance(value, bool) else "2", 0, repr(value))


def _index_columns(index, names):
    """The columns that an index becomes; none where it only counts."""
    levels = getattr(index, "nlevels", 1)
    if levels > 1:
        found = [(index.names[level], index.get_level_values(level).tolist()) for level in range(levels)]
    elif index.name is None and (index.dtype.kind in "iu" or len(index) == 0):
        return []
    else:
        found = [(index.name, index.tolist())]
    columns = []
    for level, (name, values) in enumerate(found):
        fallback = "index" if levels == 1 else "level_%d" % level
        columns.append((fallback if name is None else str(name), values))
    # `groupby(..., as_index=True)` beside a column of that name: the column already says it.
    return [column for column in columns if column[0] not in names]


def picture_size(data):
    """`(media type, width, height)` of the bytes of a picture, from its head, or None.

    PNG: W3C PNG 11.2.1; GIF89a 18; JPEG: ITU-T T.81 B.2.2; WebP: RFC 9649 2.5 to 2.7."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and len(data) >= 24:
        return ("image/png", int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return ("image/gif", int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp_size(data)
    if data[:3] == b"\xff\xd8\xff":
        return _jpeg_size(data)
    return None


def _webp_size(data):
    kind = data[12:16]
    if kind == b"VP8X":
        return ("image/webp", int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1)
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return ("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        return ("image/webp", int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF)
    return None


def _jpeg_size(data):
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in range(0xC0, 0xD0) and marker not in (0xC4, 0xC8, 0xCC):
            return ("image/jpeg", int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big"))
        elif marker == 0x01 or marker in range(0xD0, 0xD9):
            at += 2
        else:
            at += 2 + max(int.from_bytes(data[at + 2 : at + 4], "big"), 2)
    return None


def _cut(text, length):
    return text if len(text) <= length else text[: length - 1] + "…"


def _size(amount):
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if amount >= size and amount % size == 0:
            return "%d %s" % (amount // size, unit)
    return "%d bytes" % amount
