"""Reads files that were made to do harm, or are very large, and measures what it takes.

    python3 tests/real/hostile_files.py target/debug/flow [MB]

Each file is read by a run of its own, in a process of its own. The run must end by itself with what is expected: a table, or a sentence that says why not. No process
may use more than 640 MB of memory; the time is printed and not judged. MB is the size of the largest CSV file, 64 if not given; it is written to the folder
for temporary files and deleted. Needs Linux, for the peak memory of a process, and nothing but Python.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from pathlib import Path

FLOW = Path(sys.argv[1]).resolve()
LARGE_MB = int(sys.argv[2]) if len(sys.argv) > 2 else 64
MOST_MB = 640
PIPELINE = """flow: 1
name: hostile
inputs: { file: text }
steps:
  - id: seen
    read: "{{ inputs.file }}"
    timeout: 30m
outputs:
  type: "{{ steps.seen.output.type }}"
  summary: "{{ steps.seen.output.summary }}"
  tables: "{{ steps.seen.output.tables }}"
  figures: "{{ steps.seen.output.page_count }} {{ steps.seen.output.image_count }} {{ steps.seen.output.text_length }}"
"""


# ---- Archives


def archive(entries, **options):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name, content, **options)
    return out.getvalue()


def overlapping(name, unpacked, times):
    """An archive whose list names one packed file many times, under other names: small, and huge when it is unpacked."""
    single = archive({name: b"\0" * unpacked})
    start = single.index(b"PK\x01\x02")
    entry = single[start : single.index(b"PK\x05\x06")]
    entries = b"".join(
        entry[:28] + len(other).to_bytes(2, "little") + entry[30:46] + other for other in [name.encode()] + [b"f%d" % n for n in range(times - 1)]
    )
    end = b"PK\x05\x06" + bytes(4) + times.to_bytes(2, "little") * 2 + len(entries).to_bytes(4, "little") + start.to_bytes(4, "little") + bytes(2)
    return single[:start] + entries + end


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(sheet, **more):
    """A workbook with this sheet; `more` are further parts."""
    links = "http://schemas.openxmlformats.org/package/2006/relationships"
    parts = {
        "_rels/.rels": '<Relationships xmlns="%s"><Relationship Id="r" Type="%s/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        % (links, RELATIONS),
        "xl/workbook.xml": '<workbook xmlns="%s" xmlns:r="%s"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>' % (MAIN, RELATIONS),
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="%s"><Relationship Id="r1" Type="%s/worksheet" Target="worksheets/sheet1.xml"/>'
        '<Relationship Id="r2" Type="%s/sharedStrings" Target="sharedStrings.xml"/></Relationships>' % (links, RELATIONS, RELATIONS),
        "xl/worksheets/sheet1.xml": '<worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>' % (MAIN, sheet),
    }
    parts.update({name.replace("_", "/", 1) + ".xml": content for name, content in more.items()})
    return archive(parts)


def offices():
    yield "bomb.xlsx", overlapping("xl/workbook.xml", 10 << 20, 1_000), "unpacks to more than"
    yield "bomb.docx", overlapping("word/document.xml", 10 << 20, 1_000), "unpacks to more than"
    yield "zeros.xlsx", archive({"xl/workbook.xml": b"0" * (300 << 20)}), "unpacks to more than"
    yield "many.xlsx", archive({"f%d" % n: b"" for n in range(70_000)}), "packs 70000 files"
    yield "out.xlsx", archive({"../../out.xml": b"x"}), "leads out of the archive"
    good = workbook('<row r="1"><c r="A1"><v>1</v></c></row>')
    yield "cut.xlsx", good[: len(good) // 2], "damaged"
    flags = bytearray(good)
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = good.find(mark)
        while at >= 0:
            flags[at + place] |= 1
            at = good.find(mark, at + 1)
    yield "locked.xlsx", bytes(flags), "password"
    yield "old.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096), "without a password"
    yield "old.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096), ""
    yield "no_sheet.xlsx", archive({"xl/workbook.xml": b"<workbook/>"}), ""
    laughs = '<!DOCTYPE w [<!ENTITY a "ha">%s]>' % "".join('<!ENTITY a%d "%s">' % (n, "&a%s;" % (n - 1 or "") * 10) for n in range(1, 10))
    yield "laughs.docx", archive({"word/document.xml": laughs + "<w:document><w:p><w:t>&a9;</w:t></w:p></w:document>"}), "Word document of"
    yield "deep.docx", archive({"word/document.xml": "<w:p>" * 400_000 + "x"}), ""
    yield "cut.docx", archive({"word/document.xml": "<w:document><w:p><w:t>Hi</w:t>"})[:-10], "damaged"
    last = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="A1048576"><v>2</v></c></row>'
    yield "far.xlsx", workbook(last), "Table of 1048575 rows"
    yield "wide.xlsx", workbook('<row r="1"><c r="XFD1"><v>1</v></c></row>'), "more than 2000 columns"
    strings = '<sst xmlns="%s">%s</sst>' % (MAIN, "<si><t>%s</t></si>" % ("x" * 90) * 600_000)
    yield "strings.xlsx", workbook('<row r="1"><c r="A1" t="s"><v>0</v></c></row>', xl_sharedStrings=strings), "more than"


# ---- PDFs


def pdf(objects, **trailer):
    """A PDF of these numbered objects; the first one is the catalog."""
    out = bytearray(b"%PDF-1.5\n")
    places = {}
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n" % number + (body if isinstance(body, bytes) else body.encode()) + b"\nendobj\n"
    start, size = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    out += b"".join(b"%010d 00000 n \n" % places[n] if n in places else b"0000000000 65535 f \n" for n in range(1, size))
    return bytes(out) + b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer.get("more", b""), start)


def stream(content, keys="", packed=True):
    content = content if isinstance(content, bytes) else content.encode()
    if packed:
        content, keys = zlib.compress(content, 9), keys + "/Filter/FlateDecode"
    return b"<<%s/Length %d>>\nstream\n" % (keys.encode(), len(content)) + content + b"\nendstream"


FONT = "<</Type/Font/Subtype/Type1/BaseFont/Courier>>"
HELLO = "BT /F 12 Tf 50 700 Td (Hello) Tj ET"


def page(content, resources="", **more):
    """A PDF of one page."""
    objects = {
        1: "<</Type/Catalog/Pages 2 0 R>>",
        2: "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>%s>>>>" % resources,
        4: stream(content),
        5: FONT,
    }
    objects.update({int(name[1:]): body for name, body in more.items()})
    return pdf(objects)


def packed_objects(count, size):
    """Streams of objects that unpack to far more than they are."""
    objects = {1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[3 0 R]/Count 1>>", 3: "<</Type/Page/Parent 2 0 R>>"}
    return {**objects, **{n: stream(b" " * size, "/Type/ObjStm/N 0/First 0") for n in range(10, 10 + count)}}


def documents():
    good = page(HELLO)
    yield "good.pdf", good, "PDF document of 1 page."
    yield "cut.pdf", good[: len(good) // 2], ""
    yield "claims.pdf", good.replace(b"/Count 1", b"/Count 1000000"), "PDF document of 1 page."
    yield "kids.pdf", pdf(
        {1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[%s]/Count 1000000>>" % ("3 0 R " * 1_000_000), 3: "<</Type/Page/Parent 2 0 R>>"}
    ), ""
    pages = {n: "<</Type/Page/Parent 2 0 R>>" for n in range(3, 100_003)}
    kids = "<</Type/Pages/Kids[%s]/Count 100000>>" % " ".join("%d 0 R" % n for n in pages)
    yield "many.pdf", pdf({1: "<</Type/Catalog/Pages 2 0 R>>", 2: kids, **pages}), "more than 2000 pages"
    yield "circle.pdf", pdf({1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Parent 2 0 R/Kids[2 0 R 2 0 R]/Count 2>>"}), "no pages"
    yield "parents.pdf", pdf(
        {1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Parent 3 0 R/Kids[3 0 R]/Count 1>>", 3: "<</Type/Page/Parent 2 0 R/Contents 4 0 R>>"}
    ), "PDF document of 1 page"
    form = "/Type/XObject/Subtype/Form"
    yield "itself.pdf", page("/X Do " + HELLO, "/XObject<</X 6 0 R>>", o6=stream("/X Do", form)), "PDF document of 1 page."
    doubled = {"o%d" % n: stream("/X Do /X Do", form + "/Resources<</XObject<</X %d 0 R>>>>" % (n + 1)) for n in range(6, 46)}
    yield "doubled.pdf", page("/X Do " + HELLO, "/XObject<</X 6 0 R>>", **doubled), "too much is drawn there"
    chain = {"o%d" % n: stream("/X Do", form + "/Resources<</XObject<</X %d 0 R>>>>" % (n + 1), packed=False) for n in range(6, 50_006)}
    yield "chain.pdf", page("/X Do " + HELLO, "/XObject<</X 6 0 R>>", **chain), "PDF document of 1 page."
    yield "drawn.pdf", page("0 0 m " * 50_000_000), "too much is drawn there"
    yield "numbers.pdf", page("[" + "0 " * 4_000_000 + "] TJ"), "PDF document of 1 page"
    yield "nested.pdf", page("[" * 1_000_000), "PDF document of 1 page"
    yield "objects.pdf", pdf(packed_objects(200, 30 << 20)), "unpacks to far more than its size"
    yield "parts.pdf", pdf({1: "<</Type/Catalog/Pages 2 0 R>>", 2: "[%s]" % ("0 " * 14_000_000)}), "too many parts"
    inside = b"9 0 " + b"0 " * 7_000_000
    yield "packed.pdf", pdf({**packed_objects(0, 0), 10: stream(inside, "/Type/ObjStm/N 1/First 4")}), "unpacks to far more than its size"
    letters = stream("1 beginbfrange <00> <FF> <0041> endbfrange\n" * 4_000_000)
    yield "letters.pdf", page(HELLO, "", o5="<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/ToUnicode 6 0 R>>", o6=letters), "PDF document of 1 page"
    locked = "<</Filter/Standard/V 2/R 3/Length 128/P -44/O<%s>/U<%s>>>" % ("ab" * 32, "cd" * 32)
    ids = b"/Encrypt 9 0 R/ID[<%s><%s>]" % (b"ef" * 16, b"ef" * 16)
    objects = {1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[3 0 R]/Count 1>>", 3: "<</Type/Page/Parent 2 0 R>>", 9: locked}
    yield "locked.pdf", pdf(objects, more=ids), "password"


# ---- Tables


def tables():
    yield "wide.csv", lambda file: file.write(b",".join(b"c%d" % n for n in range(1_000_000)) + b"\n1\n"), "has more than 2000 columns"
    yield "wide.tsv", lambda file: file.write(b"\t" * 100_000_000 + b"\n1\n"), "has more than 2000 columns"
    yield "long.csv", lambda file: file.write(b"a,b\n1," + b"x" * (100 << 20) + b"\n"), "is longer than 8 MB"

    def open_quote(file):
        file.write(b'a,b\n1,"')
        for _ in range(LARGE_MB):
            file.write(b"x,y\n" * (1 << 18))

    yield "quote.csv", open_quote, "Perhaps a quotation mark is not closed"

    def large(file):
        number = 0
        while file.tell() < LARGE_MB << 20:
            rows = (b"%d,%d,%s,%.3f,name of customer %d\n" % (n, n % 97, b"NSOW"[n % 4 : n % 4 + 1], n / 7, n * 7919 % 1_000_003) for n in range(number, number + 50_000))
            file.write(b"".join(rows))
            number += 50_000

    yield "large.csv", lambda file: (file.write(b"id,group,side,share,customer\n"), large(file)), "Table of"


# ---- The runs


def run(folder, name):
    done = subprocess.Popen(
        [FLOW, "run", "hostile.yaml", "-q", "--json", "--input", "file=" + name], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said = done.stdout.read().decode()
    _, status, usage = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    return done.returncode, said, usage.ru_maxrss // 1024


def aside(work):
    """Does work in a process of its own: the peak memory of a process that is started begins with that of the one that starts it."""
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = json.dumps(work()).encode()
            with open(written, "wb") as out:
                out.write(result)
        finally:
            os._exit(0)
    os.close(written)
    with open(read, "rb") as source:
        result = source.read()
    os.waitpid(child, 0)
    return json.loads(result)


def write(path, content):
    with open(path, "wb") as file:
        content(file)


def write_all(folder):
    made = []
    for name, content, expected in [*offices(), *documents()]:
        (folder / name).write_bytes(content)
        made.append((name, expected))
    return made


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "flow.toml").touch()
        (folder / "hostile.yaml").write_text(PIPELINE)
        made = aside(lambda: write_all(folder))
        for name, content, expected in [*((name, None, expected) for name, expected in made), *tables()]:
            if content is not None:
                aside(lambda: write(folder / name, content))
            size = (folder / name).stat().st_size
            began = time.monotonic()
            code, said, peak = run(folder, name)
            took = time.monotonic() - began
            (folder / name).unlink()
            sentence = said
            if code == 0:
                outputs = json.loads(said)["outputs"]
                sentence = "%s: %s" % (outputs["type"], outputs["summary"])
                if name == "large.csv":
                    first, group = outputs["tables"][0]["columns"][:2]
                    if first["pct_distinct"] != 100 or group["max"] != 96:
                        wrong.append("large.csv: wrong figures: %r" % outputs["tables"][0]["columns"])
            print("%-14s %11d bytes  exit %d  %5d MB  %6.1f s  %s" % (name, size, code, peak, took, " ".join(sentence.split())[:150]), flush=True)
            if code not in (0, 1, 5, 6) or "panic" in said or "internal error" in said:
                wrong.append("%s: exit %d: %s" % (name, code, said[:500]))
            if expected not in said:
                wrong.append("%s: %r is not said: %s" % (name, expected, said[:500]))
            if peak > MOST_MB:
                wrong.append("%s: %d MB of memory, more than %d" % (name, peak, MOST_MB))
    if wrong:
        sys.exit("\n".join(wrong))
    print("every file was read, or it was said why not")


if __name__ == "__main__":
    main()
