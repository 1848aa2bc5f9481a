"""PDFs that draw their texts in another order and in other pieces than these are read in, and what `read` must say of each.

`None`: the words that pdfplumber finds, in its order. A list: these words, since pdfplumber says something else; the reason stands beside it.
A text: exactly this, since its blanks put each cell below its column.
"""

import textwrap

import pdfplumber
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

SHEET = ["Day|Project|Hours|Break", "Mon|Alpha|8|0.5", "Tue|Beta||", "Wed||7.5|0.5", "Thu|Alpha||1", "Fri|Beta|6|"]
PROSE = "The contract begins on the first day of the month after both sides signed it. Either side may end it with a notice of three months."
LINES = textwrap.wrap(PROSE, 42)


def text(x, y, words, operators="/F1 10 Tf", matrix="1 0 0 1"):
    words = "".join(letter if letter < "\x7f" else "\\%03o" % ord(letter) for letter in str(words))
    return "BT %s %s %s %s Tm (%s) Tj ET\n" % (operators, matrix, x, y, words)


def glyphs(y, words, font, name, size, apart=0.0, x=50.0):
    drawn = []
    for letter in words:
        if letter != " ":
            drawn.append(text("%.3f" % x, y, letter, "/%s %d Tf" % (font, size)))
        x += stringWidth(letter, name, size) + apart
    return "".join(drawn)


WORDS = ["Line 1 costs 12 500 EUR", "Line 2 costs 7,50 EUR", "Grüße aus Köln für 1.234,00"]
BODY = [text(50, 700 - 14 * number, line) for number, line in enumerate(WORDS)]
CELLS = [(x, row.split("|")[column], y) for column, x in enumerate((50, 100, 200, 260)) for row, y in zip(SHEET, range(700, 0, -14))]
COLUMNS = ["".join(text(x, 690 - 12 * at, line) for at, line in enumerate(LINES)) for x in (50, 310)]
HEADING = "A title that stands over both of the columns and is as wide as the two of them together"
TABLE = ["Item Count Price", "Ink 12 500", "Pen 7 80"]
BELOW = "".join(text(x, 560 - 12 * at, cell) for at, row in enumerate(TABLE) for x, cell in zip((50, 250, 450), row.split()))
RIGHT = [(x - stringWidth(str(n), "Helvetica", 10), 700 - 12 * r, n) for r in range(5) for x, n in ((100, 12 + r), (140, 10**r), (200, 9000 * r))]
FLIPPED = "".join(text(200, y, "Row %d" % y, "/F1 50 Tf", "1 0 0 -1") for y in (300, 370)) + text(200, 440, "77", "/F1 -50 Tf", "-1 0 0 1")
ASKEW = [(50 + 60 * c - r * 0.2, 700 - 14 * r + c, "w%d-%d" % (r, c)) for r in range(6) for c in range(6)]
PAGES = {
    "by column, with empty cells": (
        "".join(text(x, y, cell) for x, cell, y in CELLS if cell),
        "Day     Project          Hours     Break\nMon     Alpha            8         0.5\nTue     Beta\n"
        "Wed                      7.5       0.5\nThu     Alpha                      1\nFri     Beta             6",
    ),
    "footer and header last and first": (text(500, 30, "Page 1 of 9") + text(50, 30, "Acme") + "".join(BODY) + text(50, 800, "Report 2026"), None),
    "lines in reverse": ("".join(BODY[::-1]), None),
    "one object, each line placed": (
        "BT /F1 10 Tf 14 TL 1 0 0 1 50 700 Tm (12) Tj 1 0 0 1 50 680 Tm (500) Tj 0 -20 Td (8) Tj 60 0 Td (9) Tj T* (7) Tj ET",
        None,
    ),
    "a figure with bold digits": ("BT 50 700 Td /F1 10 Tf (Sum 1) Tj /F2 10 Tf (2.5) Tj /F1 10 Tf (00,00 EUR) Tj ET", None),
    "letter by letter": (glyphs(700, "Total 12.500,00 EUR 1111", "F3", "Courier", 12), None),
    # It joins words that are less than 3 points apart.
    "letter by letter, close": (glyphs(700, "ill 1111 WAVE 777", "F1", "Helvetica", 9), ["ill", "1111", "WAVE", "777"]),
    # It parts letters that are 3 points apart.
    "spaced letters": (glyphs(700, "INVOICE OF MAY", "F2", "Helvetica-Bold", 18, apart=5), ["INVOICE", "OF", "MAY"]),
    # It reads columns line by line.
    "two columns of prose": (text(50, 740, HEADING, "/F1 12 Tf") + COLUMNS[1] + COLUMNS[0], " ".join([HEADING, PROSE, PROSE]).split()),
    "columns and a table": (BELOW + "".join(COLUMNS), " ".join([PROSE, PROSE, *TABLE]).split()),
    "a page that lies on its side": (
        "ROTATE" + text(100, 50, "First 12", matrix="0 1 -1 0") + text(120, 90, "Second 500", matrix="0 1 -1 0"),
        None,
    ),
    # It says 12.5001.
    "exponents and indices": (
        "BT /F1 12 Tf 50 700 Td (CO) Tj /F1 7 Tf -3 Ts (2) Tj 0 Ts /F1 12 Tf ( is 12.500) Tj 5 Ts /F1 7 Tf (1) Tj ET",
        ["CO2", "is", "12.500", "1"],
    ),
    "wide blanks and letters": (
        "BT /F1 12 Tf 4 Tw 50 700 Td (full line of 12 500) Tj 0 Tw 60 Tz 0 -20 Td (narrow 12) Tj ( and 7) Tj 150 Tz 0 -20 Td (wide 12) Tj ET",
        None,
    ),
    "upside down, twice": ("q .24 0 0 -.24 0 842 cm " + FLIPPED + "Q", None),
    "right-aligned figures": ("".join(text("%.2f" % x, y, figure) for x, y, figure in RIGHT), None),
    "figures close together": (text(50, 700, "12") + text(66, 700, "500") + text(50, 686, "12 500"), "12  500\n12 500"),
    "scanned": ("3 Tr " + "".join(text(*word, matrix=".9998 .0175 -.0175 .9998") for word in ASKEW), None),
    # Its letters stand among the lines.
    "watermark": (text(60, 560, "DRAFT", "/F1 70 Tf", ".7 .7 -.7 .7") + "".join(BODY), " ".join([*WORDS, "DRAFT"]).split()),
    # It says TToottaall 550000.
    "bold letters drawn twice": (text(50, 700, "Total 500", "/F2 12 Tf") + text(50.4, 700, "Total 500", "/F2 12 Tf"), ["Total", "500"]),
}


def documents(folder):
    """Makes one document a page, and two by those who lay out tables and letters. Yields names and what is expected."""
    for number, (stream, expected) in enumerate(PAGES.values()):
        name = "reading%d.pdf" % number
        page = Canvas(str(folder / name), pagesize=A4, invariant=1)
        for font in ("Helvetica", "Helvetica-Bold", "Courier"):
            page.setFont(font, 10)
        if stream.startswith("ROTATE"):
            page.setPageRotation(90)
        page._code.append(stream.removeprefix("ROTATE"))
        page.save()
        yield name, expected
    page = Canvas(str(folder / "form.pdf"), pagesize=A4, invariant=1)
    page.beginForm("stamp")
    page.drawString(30, 50, "In the form 12")
    page.endForm()
    for x, y in ((0, 600), (250, 600), (0, 100)):
        page.translate(x, y)
        page.doForm("stamp")
        page.translate(-x, -y)
    page.setFont("Sans", 11)
    for line, row in enumerate(["Größe|12.500,00 €", "• Łódź|1 000", "Ελλάδα|−3", "“fi ffl”|0,5"]):
        page.drawString(50, 400 - 14 * line, row.split("|")[0])
        page.drawRightString(250, 400 - 14 * line, row.split("|")[1])
    page.save()
    yield "form.pdf", None
    cells = [["Pos", "Text", "Count", "Sum"]] + [[str(n), "Course %d for Köln" % n, str(n * 3), "1.%03d,00" % (n * 7)] for n in range(9)]
    table = Table(cells + [["", "", "Total", "21.735,00"]], colWidths=[40, 200, 60, 80])
    table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("ALIGN", (2, 0), (-1, -1), "RIGHT")]))
    style = getSampleStyleSheet()["BodyText"]
    SimpleDocTemplate(str(folder / "invoice.pdf"), pagesize=A4, invariant=1).build([Paragraph("Invoice 117", style), table, Paragraph(PROSE, style)])
    yield "invoice.pdf", None


def difference(path, ours, expected):
    """What a reader sees in a document, if `read` says something else."""
    with pdfplumber.open(path) as document:
        theirs = "\n".join(page.extract_text() for page in document.pages)
    if isinstance(expected, str):
        return None if ours == expected and ours.split() == theirs.split() else expected
    words = theirs.split() if expected is None else expected
    return None if ours.split() == words else " ".join(words)
