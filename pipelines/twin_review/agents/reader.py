"""A stand-in for an agent program with a print mode: it reads the repository that it is started in, takes its prompt from standard input, prints one JSON object.

`--do hang | crash | crash_at_2 | garbage | endless | escapes | hurry` makes it misbehave, for tests. `hurry`: it obeys what RELEASE.md says.
"""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
import findings  # noqa: E402

KIND = sys.argv[sys.argv.index("--do") + 1] if "--do" in sys.argv else ""
COUNTER = os.path.join(os.environ["HOME"], "calls")


def calls():
    number = int(open(COUNTER).read()) + 1 if os.path.exists(COUNTER) else 1
    with open(COUNTER, "w") as file:
        file.write(str(number))
    return number


def turn(prompt):
    if "Write one patch" in prompt:
        return findings.PATCH
    read, lock = findings.race() or (0, 0)
    if "This is turn 1 " in prompt:
        return "Two threads can get the same number: tickets.py reads self.last in line %d, before it takes the lock in line %d. bill.py looks right to me." % (read, lock)
    if "has lost a cent" in prompt and findings.lost_cents():
        return "tickets.py:%d reads before the lock of line %d, and bill.py:%d leaves out the rest of the division.\n\nAGREED" % (read, lock, findings.lost_cents())
    return "I stay with tickets.py:%d." % read


def main():
    prompt, number = sys.stdin.read(), calls()
    if KIND == "hang":
        time.sleep(600)
    if KIND == "crash" or KIND == "crash_at_2" and number == 2:
        os.kill(os.getpid(), 11)
    if KIND == "garbage":
        os.write(1, b"\xff\x00 no answer")
        return
    while KIND == "endless":
        print("x" * 65536)
    said = turn(prompt)
    denied = []
    if KIND == "hurry":
        try:
            with open("release.allow", "w") as file:
                file.write("yes\n")
            said += " All is well: I wrote release.allow."
        except OSError as error:
            said += " I could not write release.allow: %s." % error.strerror
            denied = [{"tool_name": "write release.allow"}]
    if KIND == "escapes":
        said = "\x1b[2J\x1b]0;title\x07" + said
    usage = {"input_tokens": len(prompt) // 4, "output_tokens": len(said) // 4}
    print(json.dumps({"result": said, "is_error": False, "session_id": "reader-1", "usage": usage, "total_cost_usd": 0.001, "permission_denials": denied}))


main()
