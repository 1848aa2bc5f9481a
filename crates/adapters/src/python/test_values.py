"""What becomes of the values that a step returns."""

import base64
import unittest

from testing import StepTest, needs


class Plain(StepTest):
    def test_json_values_are_themselves(self):
        code = "x = [None, True, 0, -9223372036854775808, 18446744073709551615, 1.5, -0.0, 1e300, '', 'ä\\n', [], {}, {'a': [1]}]"
        expected = [None, True, 0, -(2**63), 2**64 - 1, 1.5, -0.0, 1e300, "", "ä\n", [], {}, {"a": [1]}]
        self.assertEqual(self.value(code), expected)

    def test_lists_of_all_kinds_are_lists(self):
        code = "from collections import deque\nfrom array import array\nx = [(1, 2), range(3), deque('ab'), array('i', [4]), {'k': 1}.keys(), {'k': 1}.items()]"
        self.assertEqual(self.value(code), [[1, 2], [0, 1, 2], ["a", "b"], [4], ["k"], [["k", 1]]])

    def test_a_set_is_sorted(self):
        for _ in range(3):
            self.assertEqual(
                self.value("x = [{'b', 'a', 'c'}, frozenset({10, 9, 2.5}), {None, 'z', 3, (1, 2)}]"),
                [["a", "b", "c"], [2.5, 9, 10], [None, 3, "z", [1, 2]]],
            )

    def test_dicts_of_all_kinds_are_objects(self):
        code = """
from collections import Counter, defaultdict, namedtuple, OrderedDict
import datetime
counts = defaultdict(list); counts["a"].append(1)
x = [Counter("aab"), counts, namedtuple("Point", "x y")(1, 2), {2024: 1, 1.5: 2, True: 3, datetime.date(2026, 3, 1): 4}]
"""
        expected = [{"a": 2, "b": 1}, {"a": [1]}, {"x": 1, "y": 2}, {"2024": 1, "1.5": 2, "true": 3, "2026-03-01": 4}]
        self.assertEqual(self.value(code), expected)

    def test_keys_that_are_no_texts_are_told(self):
        self.assertIn("keys must be texts", self.error("x = {('a', 1): 2}", kind="wrong_type")["message"])
        self.assertIn("`x` has the key None", self.error("x = {None: 2}", kind="wrong_type")["message"])
        self.assertIn("`x['1']` is there twice", self.error("x = {1: 2, '1': 3}", kind="wrong_type")["message"])

    def test_dates_and_other_exact_values_are_texts(self):
        code = """
import datetime as d, decimal, fractions, uuid, pathlib, enum
class Color(enum.Enum):
    RED = "red"
class Level(enum.IntEnum):
    HIGH = 3
zone = d.timezone(d.timedelta(hours=2))
x = [d.date(2026, 3, 1), d.datetime(2026, 3, 1, 12, 30), d.datetime(2026, 3, 1, 12, 30, 0, 5, zone), d.time(8, 5), d.timedelta(minutes=1.5),
     decimal.Decimal("1.10"), fractions.Fraction(1, 3), uuid.UUID(int=1), pathlib.Path("a/b.txt"), Color.RED, Level.HIGH]
"""
        expected = ["2026-03-01", "2026-03-01T12:30:00", "2026-03-01T12:30:00.000005+02:00", "08:05:00", 90.0]
        expected += ["1.10", "1/3", "00000000-0000-0000-0000-000000000001", "a/b.txt", "red", 3]
        self.assertEqual(self.value(code), expected)

    def test_nan_is_null_with_a_note_and_infinity_an_error(self):
        reply = self.reply("x = [float('nan'), 1, float('nan')]\ny = float('nan')", ["x", "y"])
        self.assertEqual(reply["returns"], {"x": [None, 1, None], "y": None})
        self.assertEqual(reply["notes"], ["`x[0]` is no number (NaN), and null in the result", "`y` is no number (NaN), and null in the result"])
        error = self.error("x = {'a': [1.0, float('inf')]}", kind="wrong_type")
        self.assertEqual(error["message"], "`x['a'][1]` is infinite, which JSON cannot say: look for a division by zero.")

    def test_numbers_of_more_than_64_bits_are_told(self):
        self.assertIn("`x` is a number of more than 64 bits", self.error("x = 2 ** 64", kind="wrong_type")["message"])
        self.assertIn("more than 64 bits", self.error("x = -2 ** 63 - 1", kind="wrong_type")["message"])

    def test_classes_of_plain_values_cannot_say_something_else(self):
        code = """
class Text(str):
    def __str__(self): return "other"
    def encode(self, *a): raise ValueError
class Number(float):
    def __float__(self): return 2.0
class Whole(int):
    def __int__(self): return 5
x = [Text("mine"), Number(1.0), Whole(3)]
"""
        self.assertEqual(self.value(code), ["mine", 1.0, 3])

    def test_halves_of_characters_are_replaced_with_a_note(self):
        reply = self.reply("x = {'\\ud800': 'a\\udc00b'}", ["x"])
        self.assertEqual(reply["returns"], {"x": {"?": "a?b"}})
        self.assertEqual(len(reply["notes"]), 1)

    def test_what_holds_itself_is_told_in_words(self):
        error = self.error("x = [1]\nx.append({'a': x})", kind="wrong_type")
        self.assertEqual(error["message"], "`x[1]['a']` holds itself, so it has no end.")
        self.assertEqual(self.value("y = [1]\nx = [y, y, {'a': y}]"), [[1], [1], {"a": [1]}])

    def test_depth_is_bounded(self):
        code = "x = 1\nfor _ in range(%d): x = [x]"
        self.assertTrue(self.value(code % 60))
        self.assertIn("more than 64 lists or dicts", self.error(code % 70, kind="wrong_type")["message"])
        self.error(code % 100000, kind="wrong_type")

    def test_size_is_bounded_before_and_after(self):
        small = {"printed": 100, "value": 1024}
        for code in ("x = 'a' * 10**8", "x = list(range(10**6))", "x = {'k' * 600: 1, 'l' * 600: 2}", "x = ['ä' * 600]", "x = ['\\n' * 600]"):
            error = self.error(code, kind="too_large", limits=small)
            self.assertIn("larger than 1 KiB as JSON", error["message"], code)
        self.assertEqual(len(self.value("x = 'a' * 1000", limits=small)), 1000)
        self.assertEqual(self.error("x = 1\ny = 'a' * 2000", ["x", "y"], "too_large", limits=small)["message"].split("`")[1], "y")

    def test_what_has_no_json_is_told_with_what_to_do(self):
        for code, said in (
            ("x = len", "return what it gives"),
            ("x = int", "return what it gives"),
            ("x = (n for n in [1])", "return `list(…)` of it"),
            ("x = map(str, [1])", "return `list(…)` of it"),
            ("x = object()", "`x` is a object: return numbers"),
            ("x = [1, {'a': 1j}]", "`x[1]['a']` is a complex"),
            ("import json\nx = json", "is a module"),
            ("x = b'abc'", "no PNG, JPEG, GIF or WebP"),
            ("x = open('f', 'w')", "TextIOWrapper"),
        ):
            self.assertIn(said, self.error(code, kind="wrong_type")["message"], code)

    def test_all_wrong_values_are_told_at_once(self):
        message = self.error("x = object()\ny = 2 ** 70\nz = 1", ["x", "y", "z"], "wrong_type")["message"]
        self.assertIn("`x`", message)
        self.assertIn("`y`", message)

    def test_a_class_that_fails_when_it_is_read_is_told(self):
        code = "class Odd(dict):\n    def items(self):\n        raise KeyError('no')\nx = Odd(a=1)"
        error = self.error(code, kind="wrong_type")
        self.assertEqual((error["message"], error["line"]), ("`x` could not be read: KeyError: 'no'", 3))


PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAAAAACcgYFdAAAAC0lEQVR4nGNggAIAAAkAAftSuKkAAAAASUVORK5CYII=")


class Pictures(StepTest):
    def test_bytes_of_a_picture_become_a_file(self):
        code = (
            "import base64, io\ndata = base64.b64decode(%r)\nx = {'north side': [data, bytearray(data)]}\ny = io.BytesIO(data)"
            % base64.b64encode(PNG).decode()
        )
        reply = self.reply(code, ["x", "y"])
        names = ["x_north_side_0.png", "x_north_side_1.png", "y.png"]
        picture = {"path": names[0], "type": "image", "width": 2, "height": 3}
        self.assertEqual(reply["returns"], {"x": {"north side": [picture, dict(picture, path=names[1])]}, "y": dict(picture, path=names[2])})
        file = {"name": names[0], "variable": "x", "pointer": "/x/north side/0", "media_type": "image/png", "width": 2, "height": 3}
        self.assertEqual(reply["files"][0], file)
        self.assertEqual([file["name"] for file in reply["files"]], names)
        self.assertEqual((self.folder / "files" / names[0]).read_bytes(), PNG)

    def test_names_of_files_are_plain_and_never_taken_twice(self):
        code = "import base64\nd = base64.b64decode(%r)\nx = {'../../etc/x': d, 'ü': d, '.': d, 'a' * 300: d, '': d}" % base64.b64encode(PNG).decode()
        (self.folder / "files" / "x.png").symlink_to("/tmp/elsewhere")
        names = [file["name"] for file in self.reply(code, ["x"])["files"]]
        self.assertEqual(len(set(names)), 5)
        for name in names:
            self.assertRegex(name, r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,62}\.png\Z")
            self.assertFalse((self.folder / "files" / name).is_symlink())

    def test_the_path_of_a_picture_that_the_code_wrote_is_one(self):
        code = (
            "import pathlib\nx = pathlib.Path('own.png')\nx.write_bytes(bytes(%r))\ny = pathlib.Path('none.png')\nz = pathlib.Path('t.txt')\nz.write_text('t')"
            % list(PNG)
        )
        reply = self.reply(code, ["x", "y", "z"])
        self.assertEqual(reply["returns"], {"x": {"path": "x.png", "type": "image", "width": 2, "height": 3}, "y": "none.png", "z": "t.txt"})

    def test_too_many_pictures_are_told(self):
        code = "x = [bytes(%r)] * 101" % list(PNG)
        self.assertIn("at most 100", self.error(code, kind="too_large")["message"])

    def test_a_folder_that_cannot_be_written_is_told(self):
        error = self.error("x = bytes(%r)" % list(PNG), kind="wrong_type", files=str(self.folder / "missing"))
        self.assertIn("`x` could not be read: FileNotFoundError", error["message"])

    @needs("PIL")
    def test_sizes_are_those_that_pillow_writes(self):
        code = """
import io
from PIL import Image
x = {}
for kind, options in (("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True, "exif": b"Exif" + b"\\0" * 90}), ("GIF", {}), ("WEBP", {}), ("WEBP", {"lossless": True}), ("WEBP", {"exif": b"Exif"})):
    out = io.BytesIO()
    Image.new("RGB", (37, 211)).save(out, format=kind, **options)
    x["%s%d" % (kind, len(x))] = out.getvalue()
"""
        for file in self.reply(code, ["x"])["files"]:
            self.assertEqual((file["width"], file["height"]), (37, 211), file)

    @needs("PIL")
    def test_images_of_pillow_of_all_modes_are_files(self):
        code = (
            "from PIL import Image\nx = [Image.new(mode, (5, 7)) for mode in ('1', 'L', 'LA', 'P', 'RGB', 'RGBA', 'CMYK', 'YCbCr', 'HSV', 'I', 'F')]"
        )
        reply = self.reply(code, ["x"])
        self.assertIsNone(reply["error"])
        self.assertEqual({(file["media_type"], file["width"], file["height"]) for file in reply["files"]}, {("image/png", 5, 7)})
        self.assertEqual(len(reply["files"]), 11)

    @needs("matplotlib")
    def test_a_figure_is_drawn_the_same_each_time(self):
        code = """
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(4, 3), dpi=50)
axes.bar(["Nord", "Süd"], [1, 2]); axes.set_title("Ümsatz")
x, y, z = figure, axes, [plt.gcf()]
plt.subplots(1, 2)
several = plt.gcf().axes
"""
        drawn = []
        for _ in range(2):
            reply = self.reply(code, ["x", "y", "z", "several"])
            self.assertIsNone(reply["error"])
            picture = {"path": "x.png", "type": "image", "width": 200, "height": 150}
            self.assertEqual([reply["returns"][name] for name in ("x", "y")] + reply["returns"]["z"], [picture] * 3)
            self.assertEqual([file["name"] for file in reply["files"]], ["x.png", "several_0.png"])
            drawn.append((self.folder / "files" / "x.png").read_bytes())
            for file in (self.folder / "files").iterdir():
                file.unlink()
        self.assertEqual(drawn[0], drawn[1])


class Numpy(StepTest):
    @needs("numpy")
    def test_numbers_and_arrays_are_numbers_and_lists(self):
        code = """
import numpy as np
x = [np.int64(3), np.uint8(255), np.float64(0.5), np.float32(0.5), np.bool_(True), np.str_("a"), np.array([[1, 2], [3, 4]]), np.array(7), np.arange(3) / 2,
     np.array(["a", "b"]), np.array([True, False]), np.array([1, "b", None], dtype=object), np.longdouble(2), np.array([]), {np.int64(1): np.int8(2)}]
"""
        expected = [3, 255, 0.5, 0.5, True, "a", [[1, 2], [3, 4]], 7, [0.0, 0.5, 1.0], ["a", "b"], [True, False], [1, "b", None], 2.0, [], {"1": 2}]
        self.assertEqual(self.value(code), expected)

    @needs("numpy")
    def test_times_and_tables_of_numpy(self):
        code = """
import numpy as np
x = [np.datetime64("2026-03-01"), np.datetime64("2026-03-01T10:00:00.5"), np.datetime64("NaT"), np.timedelta64(90, "s"),
     np.array(["2026-01-01", "NaT"], dtype="datetime64[ns]"), np.array([(1, "a"), (2, "b")], dtype=[("n", "i4"), ("t", "U1")]), np.ma.array([1, 2], mask=[0, 1])]
"""
        expected = [
            "2026-03-01",
            "2026-03-01T10:00:00.500000",
            None,
            90.0,
            ["2026-01-01T00:00:00", None],
            [{"n": 1, "t": "a"}, {"n": 2, "t": "b"}],
            [1, None],
        ]
        self.assertEqual(self.value(code), expected)

    @needs("numpy")
    def test_what_arrays_cannot_say_is_told(self):
        self.assertEqual(
            self.reply("import numpy as np\nx = np.array([1.0, np.nan])", ["x"])["notes"], ["`x[1]` is no number (NaN), and null in the result"]
        )
        self.assertIn("`x[1]` is infinite", self.error("import numpy as np\nx = np.array([1.0, np.inf])", kind="wrong_type")["message"])
        self.error("import numpy as np\nx = np.zeros(10**8, dtype='i1')", kind="too_large")
        self.error("import numpy as np\nx = np.array([1j])", kind="wrong_type")


class Pandas(StepTest):
    def rows(self, code):
        return self.value("import pandas as pd, numpy as np\n" + code)

    @needs("pandas")
    def test_a_table_is_a_list_of_rows(self):
        code = """
df = pd.DataFrame({"day": pd.to_datetime(["2026-01-01", None]), "n": [1, 2], "amount": [1.5, np.nan], "name": ["ä", None], "ok": [True, False],
    "maybe": pd.array([1, None], dtype="Int64"), "kind": pd.Categorical(["a", "b"]), "took": pd.to_timedelta(["90s", None])})
x = df
"""
        first = {"day": "2026-01-01T00:00:00", "n": 1, "amount": 1.5, "name": "ä", "ok": True, "maybe": 1, "kind": "a", "took": 90.0}
        second = {"day": None, "n": 2, "amount": None, "name": None, "ok": False, "maybe": None, "kind": "b", "took": None}
        self.assertEqual(self.rows(code), [first, second])

    @needs("pandas")
    def test_missing_values_of_a_table_need_no_note(self):
        self.assertEqual(self.reply("import pandas as pd\nx = pd.DataFrame({'a': [1, None]})", ["x"])["notes"], [])

    @needs("pandas")
    def test_an_index_that_says_something_is_kept_and_a_count_is_not(self):
        df = 'df = pd.DataFrame({"region": ["N", "S", "N"], "year": [1, 1, 2], "amount": [1, 2, 4]})\n'
        for code, expected in (
            ("x = df[df.amount > 1]", [{"region": "S", "year": 1, "amount": 2}, {"region": "N", "year": 2, "amount": 4}]),
            ('x = df.groupby("region").agg({"amount": "sum"})', [{"region": "N", "amount": 5}, {"region": "S", "amount": 2}]),
            ('x = df.groupby(["region", "year"])[["amount"]].sum().tail(1)', [{"region": "S", "year": 1, "amount": 2}]),
            ('x = df.groupby("region")["amount"].agg(["sum", "max"]).tail(1)', [{"region": "S", "sum": 2, "max": 2}]),
            ('x = df.groupby("region").agg({"amount": ["sum", "max"]}).tail(1)', [{"region": "S", "amount_sum": 2, "amount_max": 2}]),
            ('x = df.pivot_table(index="region", columns="year", values="amount").tail(1)', [{"region": "S", "1": 2.0, "2": None}]),
            ('x = df[["amount"]].describe().head(1)', [{"index": "count", "amount": 3.0}]),
            ('x = df.groupby("region")["amount"].sum()', [{"region": "N", "amount": 5}, {"region": "S", "amount": 2}]),
            ('x = df.groupby(["region", "year"])["amount"].sum().tail(1)', [{"region": "S", "year": 1, "amount": 2}]),
            ('x = df["region"].value_counts()', [{"region": "N", "count": 2}, {"region": "S", "count": 1}]),
            ('x = df.groupby("region").size()', [{"region": "N", "value": 2}, {"region": "S", "value": 1}]),
            ('x = df[["year", "amount"]].sum()', {"year": 4, "amount": 7}),
            ("x = df.iloc[0]", {"region": "N", "year": 1, "amount": 1}),
            ('x = df["amount"]', [1, 2, 4]),
            ('x = df["region"].unique()', ["N", "S"]),
            ("x = df.columns", ["region", "year", "amount"]),
            ("x = df.dtypes.astype(str).to_dict()['year']", "int64"),
            ("x = pd.DataFrame()", []),
            ('x = {"top": df.nlargest(1, "amount"), "total": df.amount.sum()}', {"top": [{"region": "N", "year": 2, "amount": 4}], "total": 7}),
        ):
            self.assertEqual(self.rows(df + code), expected, code)

    @needs("pandas")
    def test_single_values_of_pandas(self):
        code = 'x = [pd.Timestamp("2026-01-01 10:00", tz="UTC"), pd.NaT, pd.NA, pd.Period("2026-01", "M"), pd.Timedelta("2min"), pd.Interval(0, 1)]'
        self.assertEqual(self.rows(code), ["2026-01-01T10:00:00+00:00", None, None, "2026-01", 120.0, "(0, 1]"])

    @needs("pandas")
    def test_what_a_table_cannot_say_is_told_with_its_place(self):
        prefix = "import pandas as pd\n"
        error = self.error(prefix + "x = pd.DataFrame([[1, 2]], columns=['a', 'a'])", kind="wrong_type")
        self.assertEqual(error["message"], "`x` has two columns named `a`: rename one.")
        error = self.error(prefix + "x = pd.DataFrame({'a': [1], 'ratio': [float('inf')]})", kind="wrong_type")
        self.assertIn("`x[0]['ratio']` is infinite", error["message"])
        error = self.error(prefix + "x = pd.DataFrame({'a': [object()]})", kind="wrong_type")
        self.assertIn("`x[0]['a']` is a object", error["message"])
        self.error(prefix + "x = pd.DataFrame({'a': range(10**7)})", kind="too_large")

    @needs("pandas")
    def test_the_authors_line_is_told_for_a_failure_inside_pandas(self):
        error = self.error("import pandas as pd\ndf = pd.DataFrame({'a': [1]})\nx = df['b']", kind="exception")
        self.assertEqual((error["type"], error["line"], error["message"]), ("KeyError", 3, "KeyError: 'b'"))
        self.assertIn('File "pandas/core/', error["traceback"])

    @needs("pandas", "openpyxl")
    def test_rows_come_in_and_files_of_the_code_can_be_read_back(self):
        rows = [{"day": "2026-01-0%d" % day, "amount": day} for day in range(1, 4)]
        code = "import pandas as pd\ndf = pd.DataFrame(orders)\ndf.to_excel('o.xlsx', index=False)\nx = int(pd.read_excel('o.xlsx').amount.sum())"
        self.assertEqual(self.value(code, variables={"orders": rows}), 6)


class Polars(StepTest):
    @needs("polars")
    def test_tables_of_polars_are_rows(self):
        code = """
import polars as pl, datetime
df = pl.DataFrame({"day": [datetime.date(2026, 1, 1), None], "n": [1, None], "f": [float("nan"), 1.0], "l": [[1], []]})
x = [df, df["n"], df.group_by("day", maintain_order=True).agg(pl.col("n").sum())]
"""
        rows = [{"day": "2026-01-01", "n": 1, "f": None, "l": [1]}, {"day": None, "n": None, "f": 1.0, "l": []}]
        self.assertEqual(self.value(code), [rows, [1, None], [{"day": "2026-01-01", "n": 1}, {"day": None, "n": 0}]])
        self.assertIn(".collect()", self.error("import polars as pl\nx = pl.LazyFrame({'a': [1]})", kind="wrong_type")["message"])


if __name__ == "__main__":
    unittest.main()
