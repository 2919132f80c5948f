"""Measures acsm and its peers beside a bare libpcap loop over the same captures: one table, and a CSV of it.

Meant to be started by scripts/bench, whose header shows the usage.
"""

import argparse
import csv
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path

import instructions

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benches/record/speed.csv"
SEED = 1
COLUMNS = ["what", "input", "ratio", "lowest", "highest", "packets_per_s", "packets_per_s_core", "instructions", "rss_mib"]
FLOOR = "bare libpcap loop"

# The papers' 908,522 flows in 10 million packets, and 900,000.
INPUTS = {
    "ordinary": lambda packets: ["--flows", str(packets * 9 // 100), "--duration", "1h", "--attacks", "all"],
    "paper": lambda packets: ["--profile", "paper", "--flows", str(packets * 908522 // 10_000_000)],
}
PAPER = ["--preset", "paper", "--backend", "kbf"]
COMPARE = ["--backends", "kbf,sbf", "--fp-rates", "0.1,0.01,0.001,0.0001", "--repeat", "1"]

# `instructions`: the run of scripts/instructions that counts the same.
Row = namedtuple("Row", "what command instructions", defaults=[None])
Run = namedtuple("Run", "seconds cpu rss_mib")


def rows_of_acsm(acsm, folder):
    replay = [acsm, "replay", "-q", "--seed", str(SEED)]
    return [
        Row("replay, operator, fcf", [*replay, "--alerts", folder / "alerts.json", "TRACE"], "operator"),
        Row("replay, paper, kbf", [*replay, *PAPER, "--json", "TRACE"], "kbf"),
        Row("replay, paper, kbf, marks to /dev/null", [*replay, *PAPER, "--alerts", "/dev/null", "TRACE"], "marks"),
        Row("replay, paper, kbf, marks to a file", [*replay, *PAPER, "--alerts", folder / "alerts.json", "TRACE"]),
        Row("inspect", [acsm, "inspect", "-q", "TRACE"]),
        Row("inspect, gzip", [acsm, "inspect", "-q", "TRACE.gz"]),
        Row("replay, operator, gzip", [*replay, "--alerts", folder / "alerts.json", "TRACE.gz"]),
        Row("gzip -dc, for comparison", ["gzip", "-dc", "TRACE.gz"]),
        Row("compare, 2 stores × 4 rates", [acsm, "compare", "-q", "--seed", str(SEED), *COMPARE, "TRACE"]),
    ]


def rows_of_peers(folder):
    flows = folder / "nfcapd"
    flows.mkdir(exist_ok=True)
    return [
        Row("tcpdump", ["tcpdump", "-r", "TRACE", "-w", "/dev/null"]),
        Row("softflowd", ["softflowd", "-r", "TRACE"]),
        Row("nfpcapd", ["nfpcapd", "-r", "TRACE", "-w", flows]),
        Row("argus", ["argus", "-r", "TRACE", "-w", "/dev/null"]),
        Row("suricata", ["suricata", "-r", "TRACE", "-l", folder, "-S", "/dev/null"]),
    ]


def fail(message):
    sys.exit(f"error: {message}")


def say(message):
    print(f"==> {message}", file=sys.stderr)


def build_floor(folder):
    program = folder / "bare-libpcap"
    source = ROOT / "benches/bare-libpcap.c"
    subprocess.run(["cc", "-O2", "-o", program, source, "-lpcap"], check=True)
    return Row(FLOOR, [program, "TRACE"])


def make_inputs(acsm, folder, names, packets, with_gzip):
    """The captures, unless the folder has them already."""
    for name in names:
        trace = folder / f"{name}-{packets}.pcap"
        if not trace.exists():
            say(f"generating {trace.name}")
            size = ["--packets", str(packets), "--seed", str(SEED)]
            subprocess.run([acsm, "generate", "-o", trace, *size, *INPUTS[name](packets)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if with_gzip and not Path(f"{trace}.gz").exists():
            subprocess.run(["gzip", "-1", "--keep", trace], check=True)


def with_trace(row, trace):
    places = {"TRACE": str(trace), "TRACE.gz": f"{trace}.gz"}
    return [places.get(str(word), str(word)) for word in row.command]


def run_once(row, trace, packets):
    """Wall and CPU seconds, and the largest resident size."""
    command = with_trace(row, trace)
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE if row.what == FLOOR else subprocess.DEVNULL, stderr=errors)
        shown = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            fail(f"{' '.join(command)} failed: {errors.read().decode(errors='replace').strip()}")
    if row.what == FLOOR and int(shown) != packets:
        fail(f"{trace} has {int(shown)} packets, not {packets}; remove it")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def take_turns(rows, trace, packets, rounds):
    """All rows in turns, so that other load on the machine disturbs all alike; the first round warms up."""
    runs = {row.what: [] for row in rows}
    for number in range(rounds + 1):
        for row in rows:
            run = run_once(row, trace, packets)
            if number > 0:
                runs[row.what].append(run)
    return runs


def result(row, name, runs, packets, counted):
    """A line of the table. Ratios are to the bare loop in the same round."""
    mine, floor = runs[row.what], runs[FLOOR]
    ratios = [run.seconds / base.seconds for run, base in zip(mine, floor)]
    return {
        "what": row.what,
        "input": name,
        "ratio": round(statistics.median(ratios), 2),
        "lowest": round(min(ratios), 2),
        "highest": round(max(ratios), 2),
        "packets_per_s": round(packets / statistics.median(run.seconds for run in mine)),
        "packets_per_s_core": round(packets / statistics.median(run.cpu for run in mine)),
        "instructions": counted.get(f"{name}/{row.instructions}", ""),
        "rss_mib": round(statistics.median(run.rss_mib for run in mine), 1),
    }


def print_table(results):
    head = f"{'what':40} {'input':9} {'ratio':>6} {'(range)':>13} {'Mpps':>6} {'per core':>8} {'instr.':>7} {'RSS':>10}"
    print(head)
    for line in results:
        spread = f"({line['lowest']}–{line['highest']})"
        rate, per_core = (float(line[key]) / 1e6 for key in ("packets_per_s", "packets_per_s_core"))
        rss = f"{line['rss_mib']} MiB"
        print(f"{line['what']:40} {line['input']:9} {line['ratio']:>6} {spread:>13} {rate:6.2f} {per_core:8.2f} {line['instructions']:>7} {rss:>10}")


def print_markdown():
    """The record, for docs/speed.md and README.md."""
    print("| what | input | ratio (range) | Mpps | Mpps per core | instructions per packet | RSS, MiB |")
    print("|---|---|---|---|---|---|---|")
    for line in csv.DictReader(RECORD.open()):
        rate, per_core = (float(line[key]) / 1e6 for key in ("packets_per_s", "packets_per_s_core"))
        spread = f"{float(line['lowest']):.2f}–{float(line['highest']):.2f}"
        print(f"| {line['what']} | {line['input']} | {float(line['ratio']):.2f} ({spread}) | {rate:.1f} | {per_core:.1f} | {line['instructions']} | {float(line['rss_mib']):.0f} |")


def recorded_instructions():
    """Of the record that scripts/instructions checks."""
    lines = instructions.LIMITS.read_text().splitlines() if instructions.LIMITS.exists() else []
    words = [line.split("\t") for line in lines if "/" in line.split("\t")[0] and not line.startswith("#")]
    return {run: round(float(record)) for run, _, record in words}


def machine():
    """Processor and cores; no name that tells whose machine it is."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores"


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "crates", "Cargo.lock")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+changes" if changed else "")


def write_record(results, packets, rounds):
    """Replaces the rows measured, keeps others."""
    about = {"packets": str(packets), "rounds": str(rounds), "machine": machine(), "commit": commit(), "seed": str(SEED)}
    old = list(csv.DictReader(RECORD.open())) if RECORD.exists() else []
    new = {(line["what"], line["input"]) for line in results}
    kept = [line for line in old if (line["what"], line["input"]) not in new]
    RECORD.parent.mkdir(exist_ok=True)
    with RECORD.open("w", newline="") as file:
        out = csv.DictWriter(file, [*COLUMNS, *about], lineterminator="\n")
        out.writeheader()
        out.writerows(kept + [line | about for line in results])


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.splitlines()[0])
    parser.add_argument("--acsm", type=Path, default=ROOT / "target/release/acsm", help="the program to measure")
    parser.add_argument("--packets", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=9, help="runs of each that count [9]")
    parser.add_argument("--only", default="", metavar="PATTERN", help="rows whose `what` or input matches this regular expression")
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help="keep the captures there, for later runs")
    parser.add_argument("--markdown", action="store_true", help="measure nothing, print the record as a Markdown table")
    arguments = parser.parse_args()
    if arguments.markdown:
        return print_markdown()
    folder = arguments.traces or Path(tempfile.mkdtemp(prefix="acsm-bench-"))
    folder.mkdir(exist_ok=True)
    try:
        measure(arguments, folder)
    finally:
        if not arguments.traces:
            shutil.rmtree(folder)


def measure(arguments, folder):
    acsm, packets, only = arguments.acsm.resolve(), arguments.packets, re.compile(arguments.only)
    peers = rows_of_peers(folder)
    missing = [row.what for row in peers if shutil.which(row.command[0]) is None]
    if missing:
        say(f"not installed, left out: {', '.join(missing)}")
    peers = [row for row in peers if row.what not in missing]
    floor, results, counted = build_floor(folder), [], recorded_instructions()
    for name in INPUTS:
        # Peers read the ordinary capture only: they take minutes.
        rows = rows_of_acsm(acsm, folder) + (peers if name == "ordinary" else [])
        rows = [row for row in rows if only.search(f"{row.what}, {name}")]
        if not rows:
            continue
        make_inputs(acsm, folder, [name], packets, any("TRACE.gz" in row.command for row in rows))
        say(f"{name}: {len(rows)} rows, {arguments.rounds} rounds")
        trace = folder / f"{name}-{packets}.pcap"
        runs = take_turns([floor, *rows], trace, packets, arguments.rounds)
        results += [result(row, name, runs, packets, counted) for row in [floor, *rows]]
    if not results:
        fail(f"no row matches {arguments.only}")
    print_table(results)
    write_record(results, packets, arguments.rounds)


if __name__ == "__main__":
    main()
