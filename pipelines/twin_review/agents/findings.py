"""What both stand-ins find: they read the repository, and know no model."""
import re


def lines_of(name):
    with open(name, encoding="utf-8") as file:
        return file.read().splitlines()


def race():
    """The line that reads the counter, if it stands before the lock; else nothing."""
    lines = lines_of("tickets.py")
    read = next((at for at, line in enumerate(lines, 1) if re.search(r"number = self\.last", line)), None)
    lock = next((at for at, line in enumerate(lines, 1) if "with self.lock" in line), None)
    return (read, lock) if read and lock and read < lock else None


def lost_cents():
    """The line that divides without the rest."""
    return next((at for at, line in enumerate(lines_of("bill.py"), 1) if "cents // people" in line and "%" not in line), None)


PATCH = """--- a/tickets.py
+++ b/tickets.py
@@ -9,8 +9,6 @@
         self.lock = threading.Lock()
 
     def next(self):
-        number = self.last
-        time.sleep(0)
         with self.lock:
-            self.last = number + 1
-        return self.last
+            self.last += 1
+            return self.last
--- a/bill.py
+++ b/bill.py
@@ -2,4 +2,5 @@
 
 
 def shares(cents, people):
-    return [cents // people for _ in range(people)]
+    share, rest = divmod(cents, people)
+    return [share + 1] * rest + [share] * (people - rest)
"""
