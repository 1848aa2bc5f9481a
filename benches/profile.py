"""The profile of a CSV file of a million rows: a `read` step beside the DuckDB program and pandas, which compute the same figures.

    cargo build --release
    python3 -m venv .real/speed && .real/speed/bin/pip install pandas duckdb duckdb-cli
    .real/speed/bin/python benches/profile.py target/release/flow [ROWS]

Each computes of each column: how many values there are and how many different ones, the least and the greatest, and the three most frequent ones with their counts. Each
runs in a process of its own, five times, one after the other; the median counts. `flow` is measured as a whole command, with its check, its record and its
outputs. The figures of all are compared. DuckDB runs with all threads, with one, and is told which columns are texts, as `read` finds them.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
FLOW = Path(sys.argv[1]).resolve()
TIMES = 5
PIPELINE = """flow: 1
name: profile
steps:
  - id: seen
    read: rows.csv
    timeout: 10m
outputs:
  columns: "{{ steps.seen.output.tables[0].columns }}"
"""
COLUMNS = ["id", "customer", "city", "day", "price", "amount", "share", "note"]
TEXTS = ["customer", "city", "day", "note"]

PANDAS = """
import json, pandas, sys
frame = pandas.read_csv("rows.csv", keep_default_na=False, na_values=[""])
figures = []
for name in frame.columns:
    column = frame[name]
    counts = column.value_counts().head(3)
    figures.append([name, int(column.count()), int(column.nunique()), column.dropna().min(), column.dropna().max(), [int(count) for count in counts]])
print(json.dumps(figures, default=lambda value: value.item()))
"""


def sql():
    one = """select '{0}' as name, count("{0}") as used, count(distinct "{0}") as different, min("{0}")::varchar as least, max("{0}")::varchar as most,
        (select list(n order by n desc) from (select count(*) as n from rows where "{0}" is not null group by "{0}" order by n desc, "{0}" limit 3)) as top
        from rows"""
    types = ", ".join("'%s': 'VARCHAR'" % name for name in TEXTS)
    load = "create table rows as select * from read_csv('rows.csv', header = true, types = {%s});" % types
    return load + " union all ".join(one.format(name) for name in COLUMNS) + ";"


def write(path):
    """Rows with few and many different values, whole numbers, decimals, days, texts and empty cells."""
    chosen = random.Random(1)
    cities = ["Köln", "Bern", "Aarhus", "Łódź", "Porto", "Graz"]
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(COLUMNS) + "\n")
        for number in range(ROWS):
            day = "2025-%02d-%02d" % (number % 12 + 1, chosen.randrange(1, 29))
            customer = "customer %d" % chosen.randrange(50_000)
            note = "" if number % 3 else '"note %d, of %s"' % (number, customer)
            cells = (number, customer, chosen.choice(cities), day, chosen.randrange(100, 99_999) / 100, chosen.randrange(1, 40), chosen.random(), note)
            file.write("%d,%s,%s,%s,%.2f,%d,%.6f,%s\n" % cells)


def measured(command, folder, **more):
    """Seconds, peak memory in MB, and what was printed."""
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, **more)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took = time.monotonic() - began
    if process.returncode != 0:
        sys.exit("%s: exit %d" % (command[0], process.returncode))
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed.decode()


def duckdb_program():
    beside = Path(sys.executable).parent / "duckdb"
    return str(beside) if beside.exists() else shutil.which("duckdb")


def figures_of_flow(printed):
    columns = json.loads(printed)["outputs"]["columns"]
    return {c["name"]: (c["pct_distinct"], c["min"], c["max"], [one["count"] for one in c["top_3"]]) for c in columns}


def share(different, used):
    return 100 * different / used if used else 0


def same(flow, others, who):
    for name, used, different, least, most, top in others:
        percent, low, high, counts = flow[name]
        numbers = isinstance(low, (int, float))
        alike = [float(least) == low and float(most) == high if numbers else (least, most) == (low, high), list(top) == counts]
        alike.append(abs(percent - share(different, used)) <= 0.05)
        if not all(alike):
            sys.exit("%s differs in %s: %r, not %r" % (who, name, (share(different, used), least, most, top), flow[name]))


def main():
    program = duckdb_program()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "flow.toml").touch()
        (folder / "profile.yaml").write_text(PIPELINE)
        write(folder / "rows.csv")
        print("%d rows, %d MB, %d columns" % (ROWS, (folder / "rows.csv").stat().st_size >> 20, len(COLUMNS)))
        commands = {
            "flow": [str(FLOW), "run", "profile.yaml", "-q", "--json"],
            "pandas": [sys.executable, "-c", PANDAS],
        }
        if program:
            commands["DuckDB"] = [program, "-json", "-c", sql()]
            commands["DuckDB, one thread"] = [program, "-json", "-c", "set threads = 1; " + sql()]
        results = {name: [] for name in commands}
        for _ in range(TIMES):
            for name, command in commands.items():
                results[name].append(measured(command, folder))
        flow = figures_of_flow(results["flow"][0][3])
        same(flow, json.loads(results["pandas"][0][3]), "pandas")
        for name in commands:
            if name.startswith("DuckDB"):
                rows = json.loads(results[name][0][3])
                tops = [row["top"] if isinstance(row["top"], list) else json.loads(row["top"]) for row in rows]
                same(flow, [[r["name"], r["used"], r["different"], r["least"], r["most"], top] for r, top in zip(rows, tops)], name)
        first = statistics.median(took for took, *_ in results["flow"])
        for name, runs in results.items():
            wall = statistics.median(took for took, *_ in runs)
            cpu = statistics.median(cpu for _, cpu, *_ in runs)
            peak = max(peak for _, _, peak, _ in runs)
            print("%-20s %6.2f s wall  %6.2f s CPU  %5.0f MB   %.2f of flow's time" % (name, wall, cpu, peak, wall / first))


if __name__ == "__main__":
    main()
