"""Shows what is wrong in the repository, or in a copy of it, as JSON: python3 reproduce.py [FOLDER]

`same_number`: how many of 400 tickets have a number that another one has. `lost_cents`: what a bill of 100.00 for 3 people leaves out.
"""
import json
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] if len(sys.argv) > 1 else "work/repo")
sys.setswitchinterval(1e-6)
from bill import shares  # noqa: E402
from tickets import Tickets  # noqa: E402

tickets, numbers, guard = Tickets(), [], threading.Lock()


def draw():
    for _ in range(50):
        number = tickets.next()
        with guard:
            numbers.append(number)


threads = [threading.Thread(target=draw) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"same_number": len(numbers) - len(set(numbers)), "lost_cents": 10000 - sum(shares(10000, 3))}))
