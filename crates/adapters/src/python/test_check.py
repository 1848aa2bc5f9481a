"""What code of a model may do, and what is rejected before it runs."""

import ast
import importlib.util
import sys
import unittest

from snippets import ALLOWED, REJECTED
from testing import FOLDER, StepTest, needs

_SPEC = importlib.util.spec_from_file_location("check", FOLDER / "check.py")
CHECK = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(CHECK)


def findings(code, packages=()):
    return CHECK.check_tree(ast.parse(code), packages)


class Check(unittest.TestCase):
    def test_code_of_an_analysis_is_allowed(self):
        self.assertGreaterEqual(len(ALLOWED), 40)
        for code in ALLOWED:
            with self.subTest(code=code):
                self.assertEqual(findings(code), [])

    def test_code_that_reaches_for_the_machine_is_rejected_with_its_line(self):
        self.assertGreaterEqual(len(REJECTED), 40)
        for line, said, code in REJECTED:
            with self.subTest(code=code):
                found = findings(code)
                self.assertTrue(found, "nothing found")
                self.assertEqual(found[0][0], line)
                self.assertIn(said, " ".join(sentence for _, sentence in found))
                for _, sentence in found:
                    self.assertTrue(sentence.endswith(".") and ": " in sentence, sentence)

    def test_every_rejected_module_is_rejected_in_every_form(self):
        self.assertEqual(set(CHECK.REJECTED_MODULES) & CHECK.ALLOWED_MODULES, set())
        for module in sorted(CHECK.REJECTED_MODULES):
            for code in ("import %s", "import %s as x", "import %s.inner", "from %s import x", "from %s import *", "def f():\n import %s"):
                self.assertTrue(findings(code % module), code % module)

    def test_every_rejected_name_is_rejected_called_or_not(self):
        for name in sorted(CHECK.REJECTED_NAMES):
            for code in ("%s('x')", "f = %s", "list(map(%s, ['x']))", "def g(h=%s): pass", "@%s\nclass A: pass"):
                self.assertTrue(findings(code % name), code % name)

    def test_other_ways_to_write_a_name_are_the_same_name(self):
        for name in ("\uff45\uff58\uff45\uff43", "e\u02e3ec"):
            self.assertTrue(findings("%s('x')" % name), name)
        self.assertTrue(findings("().__cla\uff53\uff53__"))

    @unittest.skipIf(sys.version_info < (3, 10), "skipped: match is a statement from Python 3.10 on")
    def test_patterns_read_fields_too(self):
        self.assertTrue(findings("match x:\n    case object(__class__=kind):\n        pass"))
        for field in ("os", "_os", "mro", "subprocess", "popen"):
            self.assertTrue(findings("import pathlib\nmatch pathlib:\n    case object(%s=found):\n        pass" % field), field)
        self.assertEqual(
            findings("match row:\n    case {'region': 'North', 'amount': amount}:\n        pass\n    case Point(x=0, code=0):\n        pass"), []
        )

    def test_a_package_that_the_author_requires_may_be_imported(self):
        self.assertTrue(findings("import prophet"))
        self.assertEqual(findings("import prophet\nfrom prophet.plot import plot", {"prophet"}), [])
        self.assertTrue(findings("from prophet import os", {"prophet"}))

    def test_all_findings_are_told_in_their_order_and_bounded(self):
        found = findings("import os\nx = 1\neval('1')\nimport socket")
        self.assertEqual([line for line, _ in found], [1, 3, 4])
        self.assertEqual(len(findings("\n".join("import os%d" % n for n in range(100)))), CHECK.MAX_FINDINGS)


class InTheDriver(StepTest):
    def test_rejected_code_never_runs(self):
        code = "print('ran')\nopen('made', 'w').close()\nx = eval('1')\nimport os"
        reply = self.reply(code, ["x"], is_written_by_model=True)
        error = reply["error"]
        self.assertEqual((error["kind"], error["line"], reply["printed"]), ("refused", 3, ""))
        self.assertEqual([reason["line"] for reason in error["reasons"]], [3, 4])
        self.assertEqual(error["message"], "Line 3: %s (and 1 more)" % error["reasons"][0]["message"])
        self.assertFalse((self.folder / "home" / "made").exists())

    def test_an_authors_own_code_is_not_checked(self):
        self.assertEqual(self.value("import os\nx = eval('1')"), 1)

    def test_allowed_code_runs_as_it_was_checked(self):
        code = "import math\nx = [math.sqrt(n) for n in values]"
        self.assertEqual(self.value(code, variables={"values": [4, 9]}, is_written_by_model=True), [2.0, 3.0])
        self.error("x = (", kind="syntax", is_written_by_model=True)
        error = self.error("x = 1 / 0", kind="exception", is_written_by_model=True)
        self.assertEqual(error["line"], 1)

    def test_code_that_no_parser_reads_is_a_clean_end(self):
        for code in ("(" * 100_000, "-" * 200_000 + "1", "x." * 100_000 + "y", "x = '\0'"):
            self.assertIn(self.error(code, is_written_by_model=True)["kind"], ("syntax", "ended"))

    @needs("PIL")
    def test_a_required_package_is_allowed_under_the_name_it_is_imported_by(self):
        self.assertEqual(self.value("from PIL import Image\nx = 1", requires=["pillow"], is_written_by_model=True), 1)
        self.assertEqual(self.value("import pip\nx = 1", requires=["pip"], is_written_by_model=True), 1)
        self.error("import pip\nx = 1", kind="refused", is_written_by_model=True)


if __name__ == "__main__":
    unittest.main()
