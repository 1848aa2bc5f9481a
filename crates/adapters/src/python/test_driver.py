"""How a step's code runs and ends, and what `flow` reads afterwards."""

import json
import signal
import sys
import time
import unittest

from testing import COMMAND, StepTest, request


class Results(StepTest):
    def test_variables_come_in_and_named_results_go_out(self):
        rows = [{"region": "Nord", "amount": 2.5}, {"region": "Süd", "amount": None}]
        code = "total = sum(row['amount'] or 0 for row in orders)\nfirst = orders[0]['region']\nother = 1"
        reply = self.reply(code, ["total", "first"], variables={"orders": rows})
        expected = {"returns": {"total": 2.5, "first": "Nord"}, "printed": "", "is_printed_cut": False, "files": [], "notes": [], "error": None}
        self.assertEqual(reply, expected)

    def test_a_variable_that_came_in_can_be_returned(self):
        self.assertEqual(self.value("pass", variables={"x": {"path": "a.png", "type": "image"}}), {"path": "a.png", "type": "image"})

    def test_all_missing_returns_are_named_at_once_with_near_ones(self):
        error = self.error("totals = 1\nimport json as charts", ["total", "chart"], "missing_return")
        self.assertEqual(error["message"], "The code did not set `total` (there is `totals`) and `chart`: assign a value to each.")
        error = self.error("y = 1", ["x"], "missing_return")
        self.assertEqual(error["message"], "The code did not set `x`: assign a value to it.")

    def test_code_sees_itself_as_the_main_program_and_not_the_driver(self):
        code = "import __main__\nx = [__name__, hasattr(__main__, 'Results'), __main__.y]"
        self.assertEqual(self.value("y = 5\n" + code), ["__main__", False, 5])

    def test_dataclasses_functions_and_main_guards_work(self):
        code = """
import dataclasses, typing
@dataclasses.dataclass
class Row:
    name: "str"
    next: "typing.Optional[Row]" = None
def main():
    return Row("a", Row("b"))
if __name__ == "__main__":
    x = main()
"""
        self.assertEqual(self.value(code), {"name": "a", "next": {"name": "b", "next": None}})

    def test_nothing_of_the_surroundings_is_imported(self):
        (self.folder / "home" / "json.py").write_text("raise SystemExit('from the current folder')")
        (self.folder / "home" / "mine.py").write_text("y = 1")
        error = self.error("import json\nimport mine\nx = 1", kind="missing_import")
        self.assertIn("`mine`", error["message"])
        error = self.error("import testing\nx = 1", kind="missing_import")
        self.assertEqual(error["line"], 1)
        self.assertEqual(self.value("import sys\nx = [sys.flags.no_user_site, sys.flags.isolated, '' in sys.path]"), [1, 1, False])

    def test_code_may_end_itself_well(self):
        self.assertEqual(self.value("import sys\nx = 1\nsys.exit()"), 1)
        self.assertEqual(self.value("x = 1\nraise SystemExit(0)"), 1)

    def test_the_reply_is_utf_8_whatever_the_locale_is(self):
        reply = self.reply("x = 'ä€😀'\nprint(x)\nopen('f', 'w').write(x)\ny = open('f').read()", ["x", "y"])
        self.assertEqual((reply["returns"], reply["printed"]), ({"x": "ä€😀", "y": "ä€😀"}, "ä€😀\n"))


class Printing(StepTest):
    def test_whatever_prints_is_in_printed_and_never_in_the_reply(self):
        code = """
import os, sys, subprocess
print('{"returns": {"x": 2}}')
print("warned", file=sys.stderr)
os.write(1, b"raw one\\n")
os.write(2, b"raw two\\n")
subprocess.run(["sh", "-c", "echo from a child; echo and wrong >&2"])
sys.__stdout__.write("kept\\n")
x = 1
"""
        reply = self.reply(code, ["x"])
        self.assertEqual(reply["returns"], {"x": 1})
        lines = ['{"returns": {"x": 2}}', "warned", "raw one", "raw two", "from a child", "and wrong", "kept"]
        self.assertEqual(reply["printed"].splitlines(), lines)

    def test_what_a_c_library_prints_is_there_too(self):
        code = "import ctypes\nc = ctypes.CDLL(None)\nc.printf(b'%s\\n', b'from C')\nc.fflush(None)\nx = 1"
        self.assertEqual(self.reply(code, ["x"])["printed"], "from C\n")

    def test_ten_megabytes_are_cut_and_counted(self):
        code = "print('so far', 'z')\nfor _ in range(1000): print('y' * 10_000)\nx = 1"
        reply = self.reply(code, ["x"], limits={"printed": 100, "value": 100})
        self.assertEqual(reply["returns"], {"x": 1})
        self.assertEqual(reply["printed"], "so far z\n… (10001001 more bytes were printed and are not kept)\n")
        self.assertIs(reply["is_printed_cut"], True)

    def test_a_character_and_a_word_are_never_cut(self):
        limits = {"printed": 100, "value": 100}
        for printed, kept in (("€" * 100, ""), ("a " + "€" * 100, "a"), ("a " * 100, ("a " * 50).rstrip()), ("a b\n" + "c " * 100, "a b")):
            reply = self.reply("print(%r)\nx = 1" % printed, ["x"], limits=limits)
            self.assertTrue(reply["printed"].startswith(kept + "\n…"), reply["printed"])

    def test_bytes_that_are_no_text_are_shown_as_such(self):
        self.assertEqual(self.reply("import os\nos.write(1, b'a\\xff\\x00b')\nx = 1", ["x"])["printed"], "a\ufffd\x00b")
        self.assertEqual(self.reply("print('a\\udcffb')\nx = 1", ["x"])["printed"], "a\\udcffb\n")

    def test_what_was_printed_before_an_end_of_any_kind_is_kept(self):
        for end in ("raise ValueError", "import os\nos._exit(3)", "import os\nos.abort()", "import os\nos.kill(os.getpid(), 9)"):
            reply = self.reply("print('so far')\n" + end, ["x"])
            self.assertEqual(reply["printed"], "so far\n", end)
            self.assertIsNotNone(reply["error"], end)


class Failures(StepTest):
    def test_a_failure_names_the_authors_line(self):
        error = self.error("def share(a, b):\n    return a / b\n\nx = share(1, 0)\n", kind="exception")
        self.assertEqual((error["type"], error["line"], error["message"]), ("ZeroDivisionError", 2, "ZeroDivisionError: division by zero"))
        lines = [line for line in error["traceback"].splitlines() if set(line.strip()) - set("~^")]
        expected = ["Traceback (most recent call last):", '  File "steps.chart", line 4, in <module>', "    x = share(1, 0)"]
        expected += ['  File "steps.chart", line 2, in share', "    return a / b", "ZeroDivisionError: division by zero"]
        self.assertEqual(lines, expected)

    def test_a_name_or_a_file_that_is_not_there_tells_what_is(self):
        def told(code, **variables):
            return self.error(code, kind="exception", variables=variables)["message"]

        self.assertEqual(told("x = orders", sales=1, region="a"), "NameError: name 'orders' is not defined; the code is given region, sales")
        self.assertEqual(told("x = orders"), "NameError: name 'orders' is not defined; the code is given no variables")
        many = {"v%02d" % number: 1 for number in range(25)}
        self.assertTrue(told("x = orders", **many).endswith("v18, v19 and 5 more"))
        message = told("open('data/sales.csv')", sales=1)
        self.assertTrue(message.startswith("FileNotFoundError: "), message)
        self.assertTrue(message.endswith("; the code sees no files of the project, only what it is given: sales"), message)
        self.assertNotIn("given", told("def f():\n    x += 1\nf()", sales=1))

    def test_below_the_authors_lines_are_those_of_libraries_without_folders(self):
        error = self.error("import json\nx = json.loads('{')", kind="exception", name="parse.py")
        self.assertEqual((error["type"], error["line"]), ("JSONDecodeError", 2))
        self.assertIn('File "parse.py", line 2, in <module>', error["traceback"])
        self.assertIn('File "json/decoder.py"', error["traceback"])
        self.assertNotIn(sys.base_prefix, error["traceback"])
        self.assertNotIn("<string>", error["traceback"])

    def test_causes_and_notes_are_told(self):
        code = "try:\n    int('a')\nexcept ValueError as error:\n    raise RuntimeError('no number') from error"
        text = self.error(code, kind="exception")["traceback"]
        self.assertIn("ValueError: invalid literal", text)
        self.assertIn("direct cause", text)
        self.assertTrue(text.endswith("RuntimeError: no number"), text)

    def test_the_code_can_print_its_own_traceback(self):
        printed = self.reply("import traceback\ntry:\n    1 / 0\nexcept Exception:\n    traceback.print_exc()\nx = 1", ["x"])["printed"]
        self.assertIn("    1 / 0\n", printed)

    def test_no_python_is_a_syntax_error_with_its_line(self):
        error = self.error("x = 1\ny = = 2\n", kind="syntax")
        self.assertEqual((error["line"], error["type"]), (2, "SyntaxError"))
        self.assertIn("    y = = 2\n", error["traceback"])
        self.assertEqual(self.error("if x:\ny = 1", kind="syntax")["type"], "IndentationError")
        self.assertEqual(self.error("x = '\0'", kind="syntax")["kind"], "syntax")
        self.assertIn(self.error("(" * 5000 + ")" * 5000)["kind"], ("syntax", "ended"))

    def test_a_syntax_error_inside_running_code_is_an_exception(self):
        error = self.error("import ast\nx = ast.literal_eval('1 +')", kind="exception")
        self.assertEqual((error["type"], error["line"]), ("SyntaxError", 2))

    def test_every_base_exception_is_a_clean_end(self):
        for raised in ("KeyboardInterrupt", "GeneratorExit", "BaseException('b')", "SystemExit(3)", "SystemExit('no')", "MemoryError"):
            error = self.error("x = 1\nraise " + raised, kind="exception")
            self.assertEqual(error["type"], raised.split("(")[0])
            self.assertEqual(error["line"], 2, raised)
        self.assertEqual(self.error("import sys\nsys.exit(3)")["message"], "The code ended itself: sys.exit(3)")

    def test_endless_recursion_ends(self):
        error = self.error("def f(n):\n    return g(n)\ndef g(n):\n    return f(n + 1)\nx = f(0)", kind="exception")
        self.assertEqual(error["type"], "RecursionError")
        self.assertLess(len(error["traceback"]), 9000)

    def test_memory_that_ends_is_told(self):
        code = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\nx = []\nwhile True:\n    x.append(bytearray(1 << 20))"
        error = self.error(code, kind="exception")
        self.assertEqual((error["type"], error["line"]), ("MemoryError", 5))

    def test_a_failure_that_cannot_be_shown_is_still_one(self):
        code = "class Odd(Exception):\n    def __str__(self):\n        raise KeyboardInterrupt\nraise Odd"
        self.assertEqual(self.error(code, kind="exception")["message"], "Odd: (it cannot be shown)")
        error = self.error("raise ValueError('long ' * 1_000_000)", kind="exception")
        self.assertLessEqual(len(error["message"]), 500)
        self.assertLess(len(error["traceback"]), 9000)
        self.assertEqual(self.error("raise ValueError('a\\udcffb')", kind="exception")["message"], "ValueError: a?b")

    def test_a_package_that_is_not_installed_is_told_by_name(self):
        error = self.error("x = 1\nimport nowhere.at_all", kind="missing_import")
        self.assertEqual((error["line"], error["type"]), (2, "ModuleNotFoundError"))
        self.assertIn("The code imports `nowhere`, which is not installed in this environment. Installed: ", error["message"])

    def test_required_packages_are_looked_for_before_anything_runs(self):
        error = self.error("print('ran')\nx = 1", kind="missing_package", requires=["nowhere-one", "pip", "nowhere_two"])
        self.assertIn("`nowhere-one`, `nowhere_two` are not installed", error["message"])
        self.assertNotIn("`pip`", error["message"])
        self.assertIn("nowhere-one nowhere_two", error["message"])
        self.assertEqual(self.reply("print('ran')", [], requires=["nowhere"])["printed"], "")
        self.assertEqual(self.value("x = 1", requires=["pip"]), 1)
        error = self.error("print('ran')\nx = 1", kind="missing_package", requires=["json", "pip", "os"])
        self.assertEqual(error["message"], "`json`, `os` are part of Python itself: leave them out of `requires`.")
        error = self.error("x = 1", kind="missing_package", requires=["nowhere", "json"])
        self.assertTrue(error["message"].startswith("`json` is part of Python itself: leave it out of `requires`. `nowhere` is not"), error)


class Ends(StepTest):
    def test_code_that_ends_its_process_is_told(self):
        for end, said in (
            ("os._exit(0)", "ended its process (exit code 0)"),
            ("os._exit(7)", "ended its process (exit code 7)"),
            ("os.abort()", "crashed"),
            ("os.kill(os.getpid(), 9)", "was killed"),
            ("os.kill(os.getpid(), 11)", "crashed"),
            ("os.kill(os.getpid(), 31)", "sandbox"),
            ("os.execv('/bin/true', ['true'])", "ended its process (exit code 0)"),
            ("os.closerange(0, 1000)", "closed the file"),
        ):
            self.assertIn(said, self.error("import os\nx = 1\n" + end, kind="ended")["message"], end)

    def test_closed_standard_files_are_no_loss(self):
        self.assertEqual(self.value("import os, sys\nfor n in (0, 1, 2): os.close(n)\nx = 1"), 1)
        self.assertEqual(self.value("import sys\nsys.stdout.close()\nsys.stderr.close()\nx = 1"), 1)
        self.assertEqual(self.value("import sys\nsys.stdin.close()\nx = 1"), 1)

    def test_nobody_answers(self):
        self.assertEqual(self.error("x = input('name? ')", kind="exception")["type"], "EOFError")

    def test_replaced_builtins_and_modules_change_no_result(self):
        code = """
import builtins, json, os, sys, traceback, io
for name in ("len", "isinstance", "print", "str", "type", "open", "sorted", "enumerate", "dict", "list", "BaseException", "OSError"):
    setattr(builtins, name, None)
json.dumps = json.loads = json.JSONEncoder = None
os.write = os._exit = os.getpid = os.close = None
traceback.format_exception = None
sys.stdout = sys.stderr = None
x = {"a": [1, "b", {2, 1}]}
"""
        self.assertEqual(self.value(code), {"a": [1, "b", [1, 2]]})
        self.assertEqual(self.error(code + "1 / 0", kind="exception")["line"], 10)

    def test_an_emptied_namespace_is_a_missing_result(self):
        self.error("x = 1\nglobals().clear()", kind="missing_return")
        self.assertIn(self.error("import sys\nsys.modules.clear()\nx = object()")["kind"], ("wrong_type", "ended"))

    def test_threads_that_still_run_do_not_hold_the_step(self):
        code = """
import threading, time
def work():
    while True:
        print("t"); time.sleep(0.001)
for daemon in (True, False):
    threading.Thread(target=work, daemon=daemon).start()
x = 1
"""
        self.assertEqual(self.value(code), 1)

    def test_a_child_that_comes_back_replies_nothing(self):
        for end in ("", "\nif child == 0: raise ValueError('child')", "\nif child == 0: sys.exit(3)"):
            code = "import os, sys\nchild = os.fork()\nif child: os.waitpid(child, 0)\nx = 1" + end
            code, out, err = self.raw(code, ["x"])
            self.assertEqual((code, err), (0, b""))
            self.assertEqual(json.loads(out)["returns"], {"x": 1}, end)

    def test_a_process_left_behind_that_prints_does_not_hold_the_step(self):
        code = "import subprocess\np = subprocess.Popen(['sh', '-c', 'i=0; while [ $i -lt 20000 ]; do echo left; i=$((i+1)); done'])\nx = 1"
        self.assertEqual(self.value(code), 1)

    def test_handlers_at_exit_do_not_run(self):
        self.assertEqual(self.reply("import atexit\natexit.register(print, 'late')\nx = 1", ["x"])["printed"], "")

    def test_a_stopped_step_names_its_line(self):
        for code in ("while True:\n    x = 1", "import time\ntime.sleep(60)"):
            error, printed = self.stopped(code)
            self.assertEqual((error["kind"], printed), ("stopped", "on\n"))
            self.assertIn(error["line"], (2, 3, 4))
            self.assertIn('File "steps.chart", line', error["traceback"])
            self.assertNotIn("_interrupt", error["traceback"])

    def test_code_that_does_not_let_itself_be_stopped_is_killed(self):
        code = "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass"
        error, _ = self.stopped(code)
        self.assertEqual((error["kind"], error["line"]), ("stopped", None))
        self.assertIn("did not say where", error["message"])

    def stopped(self, code):
        """The error of a step that is stopped once it has said in its folder that it runs."""
        mark = self.folder / "home" / "runs"
        mark.unlink(missing_ok=True)
        process = self.start()
        code = "print('on', flush=True)\nopen('runs', 'w').close()\n" + code
        process.stdin.write(json.dumps(request(code, ["x"])).encode())
        process.stdin.close()
        while not mark.exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        out = process.stdout.read()
        err = process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual((process.wait(60), err), (0, b""))
        reply = json.loads(out)
        return reply["error"], reply["printed"]

    def test_a_reply_that_the_code_forged_has_the_form_of_one(self):
        # It is the code's own results that it can forge, and nothing else.
        code = """
import os
for n in range(3, 20):
    try:
        os.write(n, b'{"returns": {"x": 1}, "printed": "forged"}\\n')
    except OSError:
        pass
x = 2
"""
        reply = self.reply(code, ["x"])
        self.assertEqual(reply["printed"], "")
        self.assertEqual(set(reply), {"returns", "printed", "is_printed_cut", "files", "notes", "error"})
        error = self.error(
            "import os\nfor n in range(3, 20):\n    try:\n        os.write(n, b'x' * 60_000_000)\n    except OSError: pass", kind="ended"
        )
        self.assertIn("could not be read", error["message"])

    def test_without_a_request_there_is_no_reply(self):
        process = self.start()
        out, err = process.communicate(b"{", timeout=60)
        self.assertEqual(out, b"")
        self.assertNotEqual((process.returncode, err), (0, b""))


class Protocol(unittest.TestCase):
    def test_the_driver_fits_into_an_argument(self):
        # Linux takes 128 KiB for one argument.
        self.assertLess(max(len(part.encode()) for part in COMMAND), 100 << 10)


if __name__ == "__main__":
    unittest.main()
