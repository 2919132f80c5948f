"""Counts instructions per packet with callgrind, and compares them with a record.

Meant to be started by scripts/instructions, whose header shows the usage.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = ROOT / "benches/instructions/limits.tsv"
FUNCTIONS = ROOT / "benches/instructions/functions.tsv"
PACKETS = 300_000
SEED = "1"
# Above the record.
TOLERANCE = 0.05
# Functions with fewer instructions per packet are not recorded.
FUNCTION_MIN = 0.5

# The ordinary trace and the papers', at the flows and packets per second of the hours of 10 million packets.
TRACES = {
    "ordinary": ["--flows", "27k", "--duration", "108s", "--attacks", "all"],
    "paper": ["--profile", "paper", "--flows", "27255", "--duration", "108s"],
}
PAPER = ["--preset", "paper", "--backend", "kbf"]
RUNS = {
    "operator": ["--alerts", "/dev/null"],
    "kbf": [*PAPER, "--json"],
    "marks": [*PAPER, "--alerts", "/dev/null"],
}
LIMITS_HEAD = f"""\
# Instructions per packet of `acsm replay --workers 1`, {PACKETS:,} packets, as callgrind counts them.
# operator: the default, alerts into /dev/null; kbf: {' '.join(PAPER)}, alerts only counted;
# marks: the same, every alert as an EVE line into /dev/null.
# `scripts/instructions` fails above a limit; `scripts/instructions record` writes this file.
"""
FUNCTIONS_HEAD = """\
# Instructions per packet by function, of the record in limits.tsv. What is inlined counts for its caller.
"""


def fail(message):
    sys.exit(f"error: {message}")


def run_name(trace, run):
    return f"{trace}/{run}"


def compiler():
    """The compiler's version: another one compiles the same source to other instructions."""
    shown = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return shown.stdout.strip()


def generate(acsm, folder):
    for trace, options in TRACES.items():
        path = folder / f"{trace}.pcap"
        size = ["--packets", str(PACKETS), "--seed", SEED]
        command = [acsm, "generate", "-o", path, *size, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"generating the trace `{trace}` failed: {done.stderr.strip()}")


def count(acsm, folder, trace, run):
    """Instructions per packet by function."""
    out = folder / f"{trace}-{run}.callgrind"
    options = ["-q", "--workers", "1", "--seed", SEED, *RUNS[run]]
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", acsm, "replay", *options]
    # Without the caller's environment: its size moves the stack.
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run([*command, folder / f"{trace}.pcap"], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        fail(f"{run_name(trace, run)} failed under valgrind:\n{done.stderr.strip()}")
    with out.open() as lines:
        return {name: cost / PACKETS for name, cost in costs_by_function(lines).items()}


def costs_by_function(lines):
    """Sums a callgrind file by function: what is inlined into a function counts for it, calls do not."""
    names, costs = {}, Counter()
    function, is_call = "?", False
    for line in lines:
        if line.startswith("fn="):
            number, _, name = line[3:].strip().partition(" ")
            if name:
                names[number] = readable(name)
            function = names.get(number, number)
        elif line.startswith("calls="):
            is_call = True
        elif line[0] in "+-*0123456789":
            # The line after `calls=` has what the callee cost.
            if not is_call:
                costs[function] += int(line.split()[1])
            is_call = False
        elif line.startswith("cfn="):
            number, _, name = line[4:].strip().partition(" ")
            if name:
                names[number] = readable(name)
    return costs


def readable(name):
    """Without what differs between builds: the compiler's hashes, and numbers of clones and recursions."""
    return re.sub(r"::h[0-9a-f]{16}|'\d+$|\.llvm\.\d+|\.\d+$", "", name)


def read_record():
    """The compiler of the record, limits by run, and functions by run."""
    if not LIMITS.exists():
        return None, {}, {}
    recorded_by, limits, functions = None, {}, {}
    for line in LIMITS.read_text().splitlines():
        if line.startswith("# compiler: "):
            recorded_by = line.partition(": ")[2]
        elif line and not line.startswith(("#", "run\t")):
            run, limit, *_ = line.split("\t")
            limits[run] = float(limit)
    for line in FUNCTIONS.read_text().splitlines() if FUNCTIONS.exists() else []:
        if line and not line.startswith(("#", "run\t")):
            run, cost, name = line.split("\t")
            functions.setdefault(run, {})[name] = float(cost)
    return recorded_by, limits, functions


def write_record(counted):
    lines = [f"{LIMITS_HEAD}# compiler: {compiler()}\nrun\tlimit\trecord\n"]
    for run, functions in counted.items():
        total = sum(functions.values())
        lines.append(f"{run}\t{total * (1 + TOLERANCE):.0f}\t{total:.1f}\n")
    LIMITS.parent.mkdir(exist_ok=True)
    LIMITS.write_text("".join(lines))
    lines = [f"{FUNCTIONS_HEAD}run\tinstructions\tfunction\n"]
    for run, functions in counted.items():
        lines += [f"{run}\t{cost:.1f}\t{name}\n" for name, cost in most_first(functions) if cost >= FUNCTION_MIN]
    FUNCTIONS.write_text("".join(lines))


def most_first(functions):
    return sorted(functions.items(), key=lambda function: (-function[1], function[0]))


def grown_most(functions, recorded):
    """The function that grew most, in instructions per packet, with those before and now."""
    growth = lambda name: functions[name] - recorded.get(name, 0)
    name = max(functions, key=growth)
    return name, recorded.get(name, 0), functions[name]


def check(counted):
    recorded_by, limits, functions = read_record()
    same_compiler = recorded_by == compiler()
    print(f"{'instructions per packet':24}{'now':>8}{'limit':>8}")
    above = []
    for run, now in counted.items():
        total, limit = sum(now.values()), limits.get(run)
        if limit is None:
            fail(f"{LIMITS.relative_to(ROOT)} has no limit for {run}; scripts/instructions record writes it")
        print(f"{run:24}{total:8.0f}{limit:8.0f}{'' if total <= limit else '  above'}")
        if total > limit:
            name, before, after = grown_most(now, functions.get(run, {}))
            above.append(f"{run}: {total:.0f} instructions per packet, limit {limit:.0f}; grown most: {name}, from {before:.0f} to {after:.0f}")
    if not above:
        return
    if not same_compiler:
        print(f"warning: above the limits, which are for {recorded_by}; this is {compiler()}:", *above, sep="\n  ", file=sys.stderr)
        return
    advice = "scripts/instructions show lists all functions; a rise that is worth it is recorded by scripts/instructions record"
    fail("\n  ".join([*above, advice]))


def main():
    parser = argparse.ArgumentParser(prog="scripts/instructions", description=__doc__.splitlines()[0])
    parser.add_argument("action", nargs="?", choices=["check", "record", "show"], default="check")
    parser.add_argument("run", nargs="?", help="for show: such as ordinary/operator")
    parser.add_argument("--acsm", type=Path, default=ROOT / "target/release/acsm", help="the program to count")
    arguments = parser.parse_args()
    acsm = arguments.acsm.resolve()
    wanted = [(trace, run) for trace in TRACES for run in RUNS if arguments.run in (None, run_name(trace, run))]
    if not wanted:
        parser.error(f"there is no run {arguments.run}; there are: {', '.join(run_name(*each) for each in [(t, r) for t in TRACES for r in RUNS])}")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        generate(acsm, Path(folder))
        counts = pool.map(lambda each: count(acsm, Path(folder), *each), wanted)
        counted = {run_name(*each): functions for each, functions in zip(wanted, counts)}
    if arguments.action == "record":
        write_record(counted)
    if arguments.action == "show":
        for run, functions in counted.items():
            print(f"{run}: {sum(functions.values()):.0f}")
            for name, cost in most_first(functions):
                if cost >= FUNCTION_MIN:
                    print(f"{cost:9.1f}  {name}")
        return
    check(counted)


if __name__ == "__main__":
    main()
