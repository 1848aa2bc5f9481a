"""Makes the files that are profiled: tables, workbooks, PDFs and pictures, always the same ones."""

import csv
import datetime
import io
import random

import matplotlib
import openpyxl
import pypdf
from PIL import Image, ImageDraw
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle
from reportlab.lib.styles import getSampleStyleSheet

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.backends.backend_pdf import PdfPages  # noqa: E402

NOTES = [
    "plain",
    "with, comma",
    'with "quotes"',
    "two\nlines",
    "tab\there",
    "Grüße aus Köln",
    "日本語",
    "emoji 🙂",
    " spaced ",
    "a|b\\c",
    "NA",
    "null",
    "-",
]


def some_rows(count, seed):
    """Rows with every kind of cell, with ties and with empty cells."""
    chosen = random.Random(seed)
    for number in range(count):
        yield {
            "id": 1000 + number,
            "zip": "%05d" % chosen.randrange(0, 99999),
            "day": (datetime.date(2025, 1, 1) + datetime.timedelta(days=chosen.randrange(90))).isoformat(),
            "city": chosen.choice(["Köln", "Bern", "Aarhus", "Łódź", "", "Bern"]),
            "hours": chosen.choice(["8", "7.5", "0", "-1.25", "", "8"]),
            "count": chosen.choice(["1", "2", "3", ""]),
            "ok": chosen.choice(["true", "false"]),
            "note": chosen.choice(NOTES),
            "nothing": "",
            "same": "x",
        }


def write_csv(path, rows, columns=None, encoding="utf-8", end="\n", **options):
    rows = list(rows)
    with open(path, "w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, columns or list(rows[0]), lineterminator=end, **options)
        writer.writeheader()
        writer.writerows(rows)


def tables(folder):
    """The delimited files, each with what pandas must know to read it: the delimiter and which columns hold texts that look like something else.

    `read` takes columns of `true` and `false` in such a file for texts, leading zeros for identifiers, and no word for an empty cell."""
    texts = {"zip": str, "ok": str, "day": str}
    write_csv(folder / "mixed.csv", some_rows(400, 1))
    yield "mixed.csv", {"dtype": texts}
    write_csv(folder / "few.csv", some_rows(7, 2))
    yield "few.csv", {"dtype": texts}
    write_csv(folder / "mark.csv", some_rows(50, 3), encoding="utf-8-sig", end="\r\n")
    yield "mark.csv", {"dtype": texts}
    write_csv(folder / "wide_letters.csv", some_rows(20, 9), encoding="utf-16")
    yield "wide_letters.csv", {"dtype": texts, "encoding": "utf-16"}
    write_csv(folder / "long.csv", ({"text": letter * 500, "control": "a\tb\r\nc" + letter} for letter in "xyxäz"))
    yield "long.csv", {}
    identifiers = [
        {"card": "411111111111111%d" % n, "phone": "+4915100%d" % n, "grouped": "1,%03d" % n, "small": "%de-05" % (n + 1)} for n in range(5)
    ]
    write_csv(folder / "identifiers.csv", identifiers)
    yield "identifiers.csv", {"dtype": {"phone": str, "grouped": str}}
    write_csv(folder / "tabs.tsv", some_rows(50, 4), delimiter="\t")
    yield "tabs.tsv", {"dtype": texts, "sep": "\t"}
    comma = [dict(row, hours=row["hours"].replace(".", ",")) for row in some_rows(50, 5)]
    write_csv(folder / "decimal.csv", comma, delimiter=";")
    yield "decimal.csv", {"dtype": texts, "sep": ";", "decimal": ","}
    write_csv(folder / "quoted.csv", some_rows(50, 6), quoting=csv.QUOTE_ALL)
    yield "quoted.csv", {"dtype": texts}
    (folder / "empty.csv").write_text("a,b\n")
    yield "empty.csv", {}
    (folder / "single.csv").write_text("n\n3\n1\n2\n3\n")
    yield "single.csv", {}
    big = random.Random(7)
    write_csv(
        folder / "numbers.csv", ({"a": big.randrange(10**14), "b": round(big.uniform(-1e6, 1e6), 4), "c": big.gauss(0, 1)} for _ in range(2000))
    )
    yield "numbers.csv", {}
    wide = {"column %d" % number: number for number in range(300)}
    write_csv(folder / "wide.csv", [wide, wide])
    yield "wide.csv", {}


def workbooks(folder):
    """The workbooks; of each the sheets that `read` describes."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "hours"
    sheet.append(["person", "hours", "day", "moment", "paid", "zip", "note", "none", "mixed", "start", "took", "share"])
    chosen = random.Random(8)
    for number in range(120):
        day = datetime.date(2025, 1, 1) + datetime.timedelta(days=chosen.randrange(40))
        moment = datetime.datetime(2025, 1, 1 + number % 28, number % 24, number % 60)
        row = ["p%d" % (number % 9), chosen.choice([8, 7.5, None]), day, moment, chosen.choice([True, False]), "00%d" % (number % 5)]
        took = datetime.timedelta(minutes=37 * (number % 60))
        row += [chosen.choice(NOTES), None, chosen.choice([1, "n/a", 2.5]), datetime.time(number % 24, 30), took, number / 200]
        sheet.append(row)
        sheet.cell(sheet.max_row, 12).number_format = "0.0%"
    other = book.create_sheet("Targets 2026")
    other.append(["region", "target"])
    for region, target in (("Nord", 100), ("Süd", 250), ("Ost", 100)):
        other.append([region, target])
    book.save(folder / "book.xlsx")
    yield "book.xlsx", {"book_hours": "hours", "book_targets_2026": "Targets 2026"}
    single = openpyxl.Workbook()
    single.active.append(["a", "b"])
    for number in range(25):
        single.active.append([number % 4, "t%d" % (number % 3)])
    single.save(folder / "single_sheet.xlsx")
    yield "single_sheet.xlsx", {"single_sheet": "Sheet"}


def picture(width, height, mode="RGB", color="#1f5f8b"):
    image = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(image).rectangle([width // 4, height // 4, width // 2, height - 1], fill=color)
    return image.convert(mode)


def documents(folder):
    """The PDFs. Letters beyond Latin-1 need a font that holds them; matplotlib ships one."""
    pdfmetrics.registerFont(TTFont("Sans", matplotlib.get_data_path() + "/fonts/ttf/DejaVuSans.ttf"))

    page = Canvas(str(folder / "pages.pdf"), pagesize=A4, invariant=1)
    for number in range(1, 6):
        page.setFont("Helvetica", 12)
        for line in range(number * 4):
            page.drawString(72, 760 - 18 * line, "Page %d, line %d: revenue of 12,%03d euros (up 3 %%)." % (number, line, line))
        for count in range(number - 1):
            page.drawImage(ImageReader(picture(60 + count, 40)), 72 + 80 * count, 80)
        page.showPage()
    page.showPage()
    page.save()
    yield "pages.pdf"

    page = Canvas(str(folder / "letters.pdf"), pagesize=A4, invariant=1)
    page.setFont("Sans", 12)
    for line, text in enumerate(["Grüße aus Köln und Łódź", "Ελληνικά, русский", "10 € — “quoted”…", "naïve façade: 50 ‰"]):
        page.drawString(72, 760 - 20 * line, text)
    page.save()
    yield "letters.pdf"

    style = getSampleStyleSheet()["BodyText"]
    table = Table([["Region", "Staff", "Cost"]] + [["R%d" % n, str(n), "%d,%03d" % (n, 7 * n)] for n in range(12)])
    table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)]))
    words = " ".join("word%d" % n for n in range(900))
    story = [Paragraph(words, style), table, Paragraph("The <b>bold</b> end &amp; more.", style)]
    SimpleDocTemplate(str(folder / "flowing.pdf"), pagesize=A4, invariant=1).build(story)
    yield "flowing.pdf"

    page = Canvas(str(folder / "images.pdf"), pagesize=A4, invariant=1)
    jpeg = io.BytesIO()
    picture(120, 90).save(jpeg, "JPEG")
    same, clear = ImageReader(picture(50, 50)), ImageReader(picture(64, 32, "RGBA"))
    for image, place in ((ImageReader(jpeg), 600), (same, 500), (same, 400), (clear, 300)):
        page.drawImage(image, 72, place, mask="auto")
    page.drawString(72, 780, "Four pictures, three of them different.")
    page.showPage()
    page.drawImage(same, 72, 400)
    page.save()
    yield "images.pdf"

    page = Canvas(str(folder / "inside.pdf"), pagesize=A4, invariant=1)
    page.beginForm("frame")
    page.drawImage(ImageReader(picture(44, 44)), 0, 0)
    page.drawString(0, 60, "A picture in a form.")
    page.endForm()
    page.doForm("frame")
    page.showPage()
    page.drawString(72, 760, "A picture between the letters:")
    page.drawInlineImage(picture(20, 20), 72, 700)
    page.save()
    yield "inside.pdf"

    with PdfPages(folder / "chart.pdf", metadata={"CreationDate": None}) as pages:
        for title in ("Revenue by region", "Returns by product"):
            figure, axes = plt.subplots(figsize=(5, 3))
            axes.bar(["Nord", "Süd", "Ost"], [3, 1, 2])
            axes.set_title(title)
            pages.savefig(figure)
            plt.close(figure)
    yield "chart.pdf"


def pictures(folder):
    for name, mode, options in (
        ("a.png", "RGB", {}),
        ("clear.png", "RGBA", {}),
        ("grey.png", "L", {}),
        ("colors.png", "P", {}),
        ("a.jpg", "RGB", {}),
        ("steps.jpeg", "RGB", {"progressive": True}),
        ("turned.jpg", "RGB", {"exif": turned()}),
        ("a.gif", "P", {}),
        ("a.webp", "RGB", {}),
        ("exact.webp", "RGBA", {"lossless": True}),
        ("a.bmp", "RGB", {}),
        ("a.tif", "RGB", {}),
    ):
        picture(317, 203, mode).save(folder / name, **options)
        yield name


def turned():
    """The camera was held upright: the pixels lie on their side."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def locked(path):
    writer = pypdf.PdfWriter(clone_from=path)
    writer.encrypt("secret")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def unreadable(folder):
    """Files that are not what their ending says, or are broken; what `read` must say about each, in small letters."""
    data = (folder / "pages.pdf").read_bytes()
    for name, content, said in (
        ("cut.pdf", data[: len(data) // 3], "damaged"),
        ("none.pdf", b"no pdf at all", "not a pdf"),
        ("none.png", b"no picture", "picture"),
        ("zero.png", b"", ""),
        ("none.xlsx", b"PK\x03\x04 and no more", ""),
        ("ragged.csv", b"a,b\n1,2\n3\n", "line 3"),
        ("latin.csv", "a,b\nKöln,2\n".encode("latin-1"), "utf-8"),
        ("locked.pdf", locked(folder / "pages.pdf"), "password"),
    ):
        (folder / name).write_bytes(content)
        yield name, said
