"""Compares what a `read` step says about files with what pandas, pypdf, pdfplumber and Pillow read in them.

    python3 -m venv .real/profiles && .real/profiles/bin/pip install -r tests/real/profiles/requirements.txt
    .real/profiles/bin/python tests/real/profiles/check.py target/debug/flow

Tables: rows, the first ten of them, and of each column the share of distinct values, least, greatest and the three most frequent values with
their counts. PDFs: pages, text and pictures of each, the lengths of the texts,
and the order in which they are read. Pictures: their size. Broken files: that it is said.

Where both may be right, the file says so in CHOICES, and the comparison follows `read`. What `read` does not do yet stands in MISSING; such a
difference is printed, and one that is no longer there fails the check, so that its line is removed. Everything else that differs fails.
"""

import datetime
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas
import pdfplumber
import pypdf
from PIL import Image

import files
import reading

FLOW = Path(sys.argv[1]).resolve()
PIPELINE = """flow: 1
name: profile
inputs: { files: list }
steps:
  - id: seen
    for_each: inputs.files
    read: "{{ item }}"
outputs:
  seen: "{{ steps.seen.output }}"
"""

CHOICES = {
    "distinct": "distinct values are a share of the cells that are not empty, as nunique() / count(), rounded to one decimal place, near 0 and 100 to two digits",
    "empty": "only an empty cell is empty: NA and null are texts, so pandas reads with keep_default_na=False",
    "texts": "in a delimited file true, false and days are texts, and so is a column with leading zeros",
    "encodings": "a delimited file is UTF-8 or UTF-16; anything else is unreadable, and the sentence says what to do",
    "shown": "in min, max and top_3 control characters are escaped and a text is cut after 200 bytes; a sample shows a cell on one line, too",
    "moments": "a moment of a workbook is written as pandas prints it, one that is formatted as a day as a day; times and durations as hours, minutes and seconds",
    "mixed": "a column of a workbook that holds numbers and texts is one of texts",
    "ties": "among values that are equally frequent the smaller ones come first; pandas leaves their order open",
    "pdf blanks": "the words of a PDF are compared, in their order; which blanks and line ends stand between them is a choice of each reader",
}
MISSING = {}

found = {}


def differs(rule, place, ours, theirs):
    found.setdefault(rule, []).append("%s: read says %s, expected %s" % (place, short(ours), short(theirs)))


def short(value):
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "…"


def same(ours, theirs):
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=0)
    return ours == theirs


def plain(value):
    """A cell of pandas as `read` writes it."""
    if value is None or value is pandas.NaT or isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime.datetime):
        return str(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        seconds = round(value.total_seconds())
        return "%02d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)
    if hasattr(value, "item"):
        return value.item()
    return value


def visible(value):
    """A text as min, max and top_3 show it."""
    if not isinstance(value, str):
        return value
    out = ""
    for sign in value:
        code = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(sign, sign)
        if len((out + code).encode()) > 197:
            return out + "…"
        out += code
    return out


def run(folder, names):
    (folder / "flow.toml").touch()
    (folder / "profile.yaml").write_text(PIPELINE)
    inputs = json.dumps({"files": names})
    done = subprocess.run(
        [FLOW, "run", "profile.yaml", "-q", "--json", "--inputs", "-"], cwd=folder, input=inputs.encode(), capture_output=True, timeout=600
    )
    if done.returncode != 0:
        sys.exit("flow run: exit %d\n%s" % (done.returncode, done.stderr.decode()))
    seen = json.loads(done.stdout)["outputs"]["seen"]
    assert [file["path"] for file in seen] == names, "one answer for each file, in its order"
    return dict(zip(names, seen))


# ---- Tables


def compare_table(place, table, frame):
    if table["row_count"] != len(frame):
        differs("rows", place, table["row_count"], len(frame))
    names = [column["name"] for column in table["columns"]]
    if names != [str(name) for name in frame.columns]:
        differs("columns", place, names, list(frame.columns))
        return
    compare_sample(place, table["sample_markdown"], frame)
    for column in table["columns"]:
        compare_column("%s, column %s" % (place, column["name"]), column, frame[column["name"]])


def compare_column(place, column, series):
    values = [value for value in (plain(value) for value in series.tolist()) if value is not None]
    distinct = 100 * len(set(values)) / len(values) if values else 0.0
    if abs(column["pct_distinct"] - distinct) > 0.05 + 1e-9:
        differs("pct_distinct", place, column["pct_distinct"], distinct)
    elif (column["pct_distinct"] == 0) != (distinct == 0):
        differs("small shares", place, column["pct_distinct"], distinct)
    for name, figure in (("min", min), ("max", max)):
        expected = visible(figure(values)) if values else None
        if not same(column[name], expected):
            differs(name, place, column[name], expected)
    counts = pandas.Series(values, dtype=object).value_counts()
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
    ordered = [(visible(value), count) for value, count in ordered]
    top = column["top_3"]
    shown = [one["value"] if isinstance(one, dict) else one for one in top]
    if len(shown) != len(ordered) or not all(same(ours, value) for ours, (value, _) in zip(shown, ordered)):
        differs("top_3", place, shown, [value for value, _ in ordered])
    counted = [one.get("count") if isinstance(one, dict) else None for one in top]
    if ordered and counted != [count for _, count in ordered]:
        differs("counts" if all(count is None for count in counted) else "top_3", place, counted, [count for _, count in ordered])


def compare_sample(place, sample, frame):
    lines = sample.rstrip("\n").split("\n")
    rows = [cells(line) for line in lines]
    expected = [[str(name) for name in frame.columns], ["---"] * len(frame.columns)]
    expected += [[sample_cell(plain(value)) for value in row] for row in frame.astype(object).head(10).values.tolist()]
    for number, (ours, theirs) in enumerate(zip(rows, expected)):
        wrong = [pair for pair in zip(ours, theirs) if not sample_same(*pair)]
        if wrong or len(ours) != len(theirs):
            differs("sample", "%s, line %d of the sample" % (place, number + 1), wrong[:2] or len(ours), "the same" if wrong else len(theirs))
    if len(rows) != len(expected):
        differs("ten rows" if len(rows) == 7 and len(expected) > 7 else "sample", place, len(rows) - 2, len(expected) - 2)


def cells(line):
    assert line.startswith("| ") and line.endswith(" |"), line
    parts = re.split(r"(?<!\\)((?:\\\\)*)\|", line[1:-1])
    joined = [parts[0]]
    for escapes, part in zip(parts[1::2], parts[2::2]):
        joined[-1] += escapes
        joined.append(part)
    return [re.sub(r"\\([\\|])", r"\1", part[1:-1]) for part in joined]


def sample_cell(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return visible(" ".join(value.split())) if isinstance(value, str) else value


def sample_same(ours, theirs):
    if isinstance(theirs, (int, float)) and not isinstance(theirs, bool):
        return same(float(ours), float(theirs)) if ours else False
    return ours == theirs


# ---- Documents


def compare_document(place, file, path):
    if file["type"] != "document":
        differs("type", place, (file["type"], file["summary"]), "document")
        return
    with pdfplumber.open(path) as document:
        texts = [page.extract_text() for page in document.pages]
    images = [len(page.images) for page in pypdf.PdfReader(path).pages]
    if [page["number"] for page in file["pages"]] != list(range(1, len(texts) + 1)):
        differs("pages", place, len(file["pages"]), len(texts))
        return
    for page, text, count in zip(file["pages"], texts, images):
        where = "%s, page %d" % (place, page["number"])
        is_inside = place == "inside.pdf"
        if page["images"] != count:
            differs("inside forms" if is_inside else "images", where, page["images"], count)
        if page["text"].split() != text.split():
            differs("inside forms" if is_inside else "text", where, around(page["text"], text), around(text, page["text"]))
    lengths = [len(page["text"]) for page in file["pages"]]
    figures = {
        "page_count": len(texts),
        "image_count": sum(images),
        "text_length": sum(lengths),
        "longest_page": max(lengths),
        "median_page": statistics.median(lengths),
    }
    ours = {name: file.get(name) for name in figures}
    if ours != figures:
        differs("document figures" if set(ours.values()) == {None} else "figures", place, ours, figures)


def compare_order(place, file, path, expected):
    text = "\n".join(page["text"] for page in file.get("pages", []))
    seen = reading.difference(path, text, expected)
    if seen is not None:
        differs("reading order", place, text, seen)


def without_blanks(text):
    return "".join(text.split())


def around(text, other):
    """The first words of a text that are not in the other one."""
    text, other = without_blanks(text), without_blanks(other)
    at = next((index for index, (one, two) in enumerate(zip(text, other)) if one != two), min(len(text), len(other)))
    return text[max(0, at - 20) : at + 40]


# ---- The comparison itself


def altered(folder, seen):
    """Every answer that is a little wrong must be noticed; else nothing that this program says would mean anything."""

    def alter(name, *path, value):
        answer = json.loads(json.dumps(seen[name]))
        place = answer
        for key in path[:-1]:
            place = place[key]
        assert place[path[-1]] != value, (name, path)
        place[path[-1]] = value
        return answer

    frame = pandas.read_csv(folder / "few.csv", keep_default_na=False, na_values=[""], dtype={"zip": str, "ok": str, "day": str})
    compare_table("few.csv", seen["few.csv"]["tables"][0], frame)
    columns = seen["few.csv"]["tables"][0]["columns"]
    sample = seen["few.csv"]["tables"][0]["sample_markdown"]
    wrong = [("row_count", 8), ("columns", columns[::-1]), ("columns", columns[1:]), ("sample_markdown", sample.replace("1001", "1002"))]
    wrong += [("sample_markdown", sample.replace("Bern", "bern")), ("sample_markdown", "\n".join(sample.split("\n")[:-2]) + "\n")]
    for number, column in enumerate(columns):
        for key, value in (("min", "0"), ("max", 7.25), ("pct_distinct", column["pct_distinct"] + 0.2), ("top_3", column["top_3"][1:] or [1])):
            wrong.append(("columns", columns[:number] + [dict(column, **{key: value})] + columns[number + 1 :]))
    for key, value in wrong:
        noticed((key, value), compare_table, "few.csv", alter("few.csv", "tables", 0, key, value=value)["tables"][0], frame)
    pages = folder / "pages.pdf"
    text = seen["pages.pdf"]["pages"][0]["text"]
    for path, value in ((("text",), text.replace("revenue", "avenue", 1)), (("text",), ""), (("images",), 7), (("number",), 2)):
        noticed((path, value), compare_document, "pages.pdf", alter("pages.pdf", "pages", 0, *path, value=value), pages)
    ordered = {"pages": [{"text": "Sum 12 500"}]}
    for expected in (["Sum", "12500"], ["12", "500", "Sum"], "Sum 12  500"):
        noticed(expected, compare_order, "pages.pdf", ordered, pages, expected)
    noticed("pages", compare_document, "pages.pdf", alter("pages.pdf", "pages", value=seen["pages.pdf"]["pages"][:-1]), pages)


def noticed(what, compare, *arguments):
    global found
    kept, found = found, {}
    compare(*arguments)
    if not set(found) - set(MISSING):
        sys.exit("a wrong answer is not noticed: %s" % short(what))
    found = kept


def main():
    project = Path(__file__).resolve().parents[3] / "pipelines/analyst/data"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        tables = dict(files.tables(folder))
        books = dict(files.workbooks(folder))
        documents, pictures, broken = list(files.documents(folder)), list(files.pictures(folder)), dict(files.unreadable(folder))
        ordered = dict(reading.documents(folder))
        for name in ("orders.csv", "targets.xlsx", "review.pdf", "chart.png"):
            (folder / name).write_bytes((project / name).read_bytes())
        tables["orders.csv"] = {}
        books["targets.xlsx"] = {"targets_targets": "targets", "targets_regions": "regions"}
        names = [*tables, *books, *documents, *ordered, "review.pdf", *pictures, "chart.png", *broken]
        seen = run(folder, names)
        altered(folder, seen)
        found.clear()
        compared = 0
        for name, options in tables.items():
            options = {"encoding": "utf-8-sig", **options}
            frame = pandas.read_csv(folder / name, keep_default_na=False, na_values=[""], **options)
            if seen[name]["type"] != "table" or len(seen[name]["tables"]) != 1:
                differs("type", name, (seen[name]["type"], seen[name]["summary"]), "table")
                continue
            compare_table(name, seen[name]["tables"][0], frame)
            compared += 1
        for name, sheets in books.items():
            ours = {table["name"]: table for table in seen[name]["tables"]}
            if list(ours) != list(sheets):
                differs("sheets", name, list(ours), list(sheets))
            for table, sheet in sheets.items():
                texts = {"zip": str, "mixed": str}
                frame = pandas.read_excel(folder / name, sheet_name=sheet, keep_default_na=False, na_values=[""], dtype=texts)
                # `read` goes by the number format of a cell: columns whose moments are all midnights are formatted as days here.
                for column in frame.select_dtypes("datetime"):
                    if (frame[column].dropna().dt.normalize() == frame[column].dropna()).all():
                        frame[column] = frame[column].dt.date
                compare_table("%s, sheet %s" % (name, sheet), ours[table], frame)
                compared += 1
        for name in [*documents, "review.pdf"]:
            compare_document(name, seen[name], folder / name)
        for name, expected in ordered.items():
            compare_order(name, seen[name], folder / name, expected)
        for name in [*pictures, "chart.png"]:
            with Image.open(folder / name) as image:
                size = image.size
            if (seen[name]["type"], seen[name]["width"], seen[name]["height"]) != ("image", *size):
                differs("size", name, [seen[name][key] for key in ("type", "width", "height", "summary")], ("image", *size))
        for name, said in broken.items():
            if seen[name]["type"] != "unreadable" or said not in seen[name]["summary"].lower() or len(seen[name]["summary"]) < 20:
                rule = "password" if said == "password" else "unreadable"
                differs(rule, name, (seen[name]["type"], seen[name]["summary"]), "unreadable, with %r" % said)
    missing = [rule for rule in found if rule in MISSING]
    for rule in missing:
        print("not yet: %s (%d differences, such as %s)" % (MISSING[rule], len(found[rule]), found[rule][0]))
    wrong = [line for rule, lines in found.items() if rule not in MISSING for line in ["%s: %s" % (rule, line) for line in lines]]
    wrong += ["MISSING lists %r, which does not differ any more" % rule for rule in MISSING if rule not in found]
    if wrong:
        sys.exit("\n".join(wrong[:60]) + "\n%d differences" % len(wrong))
    print(
        "%d tables, %d documents, %d pictures and %d broken files: read says what pandas, pypdf, pdfplumber and Pillow do"
        % (compared, len(documents) + len(ordered) + 1, len(pictures) + 1, len(broken))
    )


if __name__ == "__main__":
    main()
