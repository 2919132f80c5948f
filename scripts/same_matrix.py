"""What scripts/same runs: the inputs it makes, and the command lines over them.

`replay` on a few captures gets the full product of the core options (store, preset, layout,
expiry, workers, verify); on all others a selection in which every value of every option occurs
several times. The other options rotate along in both. All choices are seeded: the list of runs
is the same every time.
"""

import gzip
import itertools
import json
import lzma
import random
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"

# args: the command line after `acsm`. stdin: a file, or None. is_note: another text is told, but
# is no failure.
Case = namedtuple("Case", "args stdin is_note", defaults=(None, False))

# captures: all of them. in_full: those that get the full product. pairs: a pair of addresses in
# each, for --watch. damaged: files to fail on. folder: where the made ones are.
Inputs = namedtuple("Inputs", "captures in_full pairs damaged folder")

# ---- Inputs ---------------------------------------------------------------------------------

GENERATED = {
    "realistic": "--packets 20k --flows 2k --duration 10m --attacks all --seed 3",
    "paper": "--profile paper --packets 20k --flows 4k --duration 10m --attacks all --seed 4",
    "ethernet": "--packets 6k --flows 600 --link ethernet --precision ns --ipv6-share 60% --seed 5",
    "well-behaved": "--packets 6k --flows 600 --well-behaved --seed 6",
    "flood": "--packets 20k --flows 500 --duration 2m --attacks syn_flood,port_scan --seed 7",
}

# Among these are ordinary traffic, attacks, the papers' hour, long and short spans of time, and
# more flows than a store is made for.
IN_FULL = {
    "realistic.pcap", "paper.pcap", "attacks.pcap.gz",
    "nDPI__gnutella.pcap", "StopDDoS__pkt.TCP.synflood.spoofed.pcap",
}

RULES_WITH_ERROR = '[[rule]]\nname = "x"\nwhen = "nonsense"\n'
SUPPRESSIONS = '[[suppress]]\nrule = "port_scan"\nsource = ["203.0.113.0/24"]\nreason = "ours"\n'
CONFIG = 'idle-timeout = "20s"\nflows = "3k"\nbackend = "sbf"\n'


def make_inputs(old, corpus, folder, say):
    """Makes generated and damaged captures in the folder, and looks for the others."""
    made = folder / "made"
    made.mkdir(exist_ok=True)
    for name, options in GENERATED.items():
        run_or_exit([old, "generate", "-o", made / f"{name}.pcap", *options.split()])
    whole = (made / "realistic.pcap").read_bytes()
    (made / "compressed.pcap.xz").write_bytes(lzma.compress(whole[: 100_000], preset=0))
    (made / "suppress.toml").write_text(SUPPRESSIONS)
    (made / "config.toml").write_text(CONFIG)
    (made / "wrong.toml").write_text(RULES_WITH_ERROR)

    captures = captures_in(made) + captures_in(ROOT / "traces")
    if corpus.is_dir():
        captures += captures_in(corpus.resolve())
    else:
        say(f"no folder {corpus}: its captures are left out")
    in_full = [capture for capture in captures if capture.name in IN_FULL]
    pairs = {capture: pair_in(old, capture) for capture in captures}
    return Inputs(captures, in_full, pairs, make_damaged(whole, made / "damaged"), made)


def captures_in(folder):
    endings = (".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcap.xz")
    return sorted(file for file in folder.iterdir() if file.name.endswith(endings))


def make_damaged(whole, folder):
    """Copies of a capture, cut short or with wrong bytes, and files that are no captures."""
    folder.mkdir(exist_ok=True)
    chance = random.Random(1)
    files = {"empty": b"", "text": b"no capture\n" * 50, "cut-gzip": gzip.compress(whole)[:5000]}
    for length in (3, 24, 30, 40, 5000, len(whole) - 1):
        files[f"cut-{length}"] = whole[:length]
    for number in range(12):
        wrong = bytearray(whole[:50_000])
        for _ in range(1 + number):
            wrong[chance.randrange(24, len(wrong))] = chance.randrange(256)
        files[f"wrong-{number}"] = bytes(wrong)
    for name, content in files.items():
        (folder / f"{name}.pcap").write_bytes(content)
    return [folder / f"{name}.pcap" for name in files]


def pair_in(old, capture):
    """Addresses that occur in the capture's first alert; else some that occur in none."""
    done = subprocess.run([old, "replay", "-q", "--preset", "paper", "--flows", "20k", "--alerts",
                           "-", capture],
                          capture_output=True, timeout=60)
    for line in done.stdout.splitlines()[:1]:
        alert = json.loads(line)
        return f"{alert['src_ip']},{alert['dest_ip']}"
    return "192.0.2.1,192.0.2.2"


def run_or_exit(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))} failed: {done.stderr}")


# ---- replay ---------------------------------------------------------------------------------

# has_cells: it has layouts. expires, cell_bits: the values of --expire and --cell-bits that it takes
# with every preset.
Store = namedtuple("Store", "options has_cells expires cell_bits")

ALL_EXPIRES = ("timer", "stamps", "recycle", "two-phase", "none")
STORES = [
    Store("exact", False, ("timer", "stamps", "none"), []),
    Store("exact --memory 64KiB", False, ("timer", "none"), []),
    Store("fcf", False, ("timer", "stamps", "none"), []),
    Store("dbf", True, ALL_EXPIRES, []),
    Store("dbf --no-counters", True, ALL_EXPIRES[:4], []),
    Store("sbf", True, ALL_EXPIRES, ["16", "32"]),
    Store("sbf --sbf-rules paper-kbf", True, ALL_EXPIRES, ["16", "32"]),
    Store("sbf --sbf-rules no-counters", True, ALL_EXPIRES, ["16", "32"]),
    Store("kbf", True, ALL_EXPIRES, ["16", "32"]),
    Store("kbf --decode literal", True, ALL_EXPIRES, ["16", "32"]),
    Store("kbf --decode three-way", True, ALL_EXPIRES, ["16", "32"]),
    Store("bhbf", True, ALL_EXPIRES, ["16"]),
]

CORE = {
    "store": STORES,
    "preset": ["paper", "operator"],
    "layout": ["spread", "blocked:1", "blocked:2", "blocked:3"],
    "expire": ALL_EXPIRES,
    "workers": ["1", "2"],
    "verify": ["", "--verify"],
}

# Values that rotate along; the empty one is the default, given more often where it matters.
ROTATING = {
    # Large enough; too small for many captures; too small for nearly all; sized by memory.
    "load": ["--flows 20k", "--flows 1k --fp-rate 5%", "--flows 100 --fp-rate 20%",
             "--flows 2k --memory 64KiB"],
    "output": ["--json --alerts alerts.eve", "--alerts alerts.eve", "--alerts -", "", "--json"],
    "seed": ["", "--seed 2", "--seed 77"],
    "touch": ["", "--touch all"],
    "phase": ["", "", "--phase ops:500", "--phase ops:5k"],
    "key": ["", "", "pair", "5-tuple", "connection"],
    "pending": ["", "none", "500", "4k"],
    "recycle": ["", "--recycle-at flows:50", "--recycle-at fill:30%", "--no-retain",
                "--recycle-at flows:20 --no-retain"],
    "cells": ["", "", "--hashes 3", "--hashes 6", "--cell-bits 16", "--cell-bits 32"],
    "idle": ["", "", "--idle-timeout 2s", "--idle-timeout 15s"],
    "other": ["", "", "", "", "--watch", "--watch", "--min-severity 2", "--suppress", "--verbose",
              "--quiet", "--vlan-in-key", "--no-tunnels", "--filter tcp", "--config"],
}


def replay_cases(inputs, quick):
    for capture in inputs.captures:
        if capture in inputs.in_full and not quick:
            picks = full_product(capture.name)
        else:
            count = (60 if capture in inputs.in_full else 5) if quick else 44
            picks = rotated({**CORE, **ROTATING}, count, capture.name)
        for pick in picks:
            yield Case(replay_args(pick, capture, inputs))


def full_product(seed):
    """Every combination of the core options that a store takes; the others rotate along."""
    core = [dict(zip(CORE, values)) for values in itertools.product(*CORE.values())]
    core = [pick for pick in core if applies(pick)]
    for pick, others in zip(core, rotated(ROTATING, len(core), seed)):
        yield {**pick, **others}


def applies(pick):
    has_layout = pick["store"].has_cells or pick["layout"] == CORE["layout"][0]
    return has_layout and pick["expire"] in pick["store"].expires


def rotated(axes, count, seed):
    """`count` picks of one value per axis: each value of an axis occurs equally often."""
    chance = random.Random(seed)
    columns = []
    for values in axes.values():
        in_any_order = chance.sample(values, len(values))
        column = list(itertools.islice(itertools.cycle(in_any_order), count))
        chance.shuffle(column)
        columns.append(column)
    return [dict(zip(axes, values)) for values in zip(*columns)]


def replay_args(pick, capture, inputs):
    """The command line of a pick, without what does not apply to its store."""
    store = pick["store"]
    line = f"replay --preset {pick['preset']} --backend {store.options}"
    # The exact table with a cap has a size already.
    line += " --flows 1k" if "--memory" in store.options else f" {pick['load']}"
    if store.has_cells:
        line += f" --layout {pick['layout']}"
    if pick["expire"] in store.expires:
        line += f" --expire {pick['expire']}"
        line += recycle_options(pick)
    line += cell_options(pick)
    line += key_options(pick)
    line += pending_options(pick)
    line += f" --workers {pick['workers']}"
    for name in ("verify", "output", "seed", "touch", "phase", "idle"):
        line += f" {pick[name]}"
    line += other_options(pick, inputs, inputs.pairs[capture])
    return (*line.split(), capture)


def recycle_options(pick):
    if pick["expire"] == "recycle":
        return f" {pick['recycle']}"
    if pick["expire"] == "two-phase":
        return f" {pick['recycle'].replace('--no-retain', '')}"
    return ""


def cell_options(pick):
    store, option = pick["store"], pick["cells"]
    if option.startswith("--cell-bits"):
        return f" {option}" if option.split()[1] in store.cell_bits else ""
    return f" {option}" if store.has_cells else ""


def key_options(pick):
    if not pick["key"]:
        return ""
    # The operator's own rules are for connections.
    rules = " --rules tcp-flags" if pick["preset"] == "operator" else ""
    return f" --flow-key {pick['key']}{rules}"


def pending_options(pick):
    # Where the two directions of a connection are one flow.
    key = pick["key"] or ("connection" if pick["preset"] == "operator" else "pair")
    return f" --pending {pick['pending']}" if pick["pending"] and key == "connection" else ""


def other_options(pick, inputs, pair):
    argument = {
        "--watch": pair,
        "--suppress": inputs.folder / "suppress.toml",
        "--config": inputs.folder / "config.toml",
    }
    return f" {pick['other']} {argument.get(pick['other'], '')}"


# ---- inspect, plan, compare, generate -------------------------------------------------------

def inspect_cases(inputs, quick):
    for capture in [*inputs.captures, *inputs.damaged]:
        yield Case(("inspect", "--json", capture))
        if not quick:
            yield Case(("inspect", capture))
            yield Case(("inspect", "--json", "--no-tunnels", capture))
            yield Case(("inspect", "--json", "--filter", "tcp port 80 or vlan", capture))
    yield Case(("inspect", "--json", ROOT / "traces"))
    yield Case(("inspect", "--json", *sorted((ROOT / "traces").glob("*.pcap"))))
    yield Case(("inspect", "--json", "-"), ROOT / "traces" / "mixed.pcap")
    attacks = ROOT / "traces" / "attacks.pcap.gz"
    for window in ("--from 2024-01-01T00:00:30Z", "--to 1704067240",
                   "--from 1704067230 --to 1704067231"):
        yield Case(("inspect", "--json", *window.split(), attacks))
        yield Case(("replay", "--flows", "1k", "--alerts", "alerts.eve", *window.split(), attacks))


PLAN = {
    "size": ["--flows 2M --fp-rate 0.1%", "--flows 2M --memory 16MiB", "--flows 1G",
             "--memory 64MiB --error 1e-4", "--flows 500 --error 1e-9", "--memory 4KiB",
             "--memory 1MiB --fp-rate 1e-5"],
    "expire": ["", "--expire timer", "--expire stamps", "--expire none", "--expire recycle",
               "--expire two-phase", "--expire all"],
    "traffic": ["", "--preset operator", "--flow-key 5-tuple", "--packet-rate 100k",
                "--idle-timeout 5s"],
    "output": ["--json", "", "--json --plot frontier.svg"],
}


def plan_cases(inputs, quick):
    """Fewer than of the other commands: one takes a tenth of a second."""
    yield Case(("plan",))
    for pick in rotated(PLAN, 15 if quick else 90, "plan"):
        yield Case(("plan", *" ".join(pick.values()).split()))
    for capture in inputs.captures[:: 5 if quick else 1]:
        for pick in rotated(PLAN, 1 if quick else 2, capture.name):
            yield Case(("plan", *" ".join(pick.values()).split(), "--trace", capture))


COMPARE = {
    "backends": ["--backends kbf,sbf", "--backends kbf,kbf:literal,kbf:three-way",
                 "--backends sbf,sbf:paper-kbf,dbf,exact", "--backends dbf:no-counters,dbf,bhbf",
                 "--backends fcf,exact,kbf", "--backends bhbf,kbf,fcf", "--backends exact,kbf,dbf"],
    "rates": ["--fp-rates 0.1,0.01", "--fp-rates 0.3", "--fp-rates 0.2,0.001"],
    "loop": ["--loop closed", "--loop open", "--loop closed,open"],
    "equal": ["--equal cells", "--equal memory", "--equal cells,memory"],
    "flows": ["", "--flows 500", "--flows 20k"],
    "preset": ["", "--preset operator"],
    "layout": ["", "--layout spread", "--layout blocked:1", "--layout blocked:2",
               "--layout blocked:3"],
    "expire": ["", "--expire stamps", "--expire none"],
    "variant": ["", "", "--touch all", "--phase ops:500", "--idle-timeout 10s",
                "--seed 9", "--repeat 2", "--hashes 4", "--cell-bits 16"],
    "output": ["--json --out report", "--json", "--out report", ""],
    "workers": ["--workers 1", "--workers 2"],
}


def compare_cases(inputs, quick):
    for capture in inputs.captures:
        many, few = (12, 1) if quick else (110, 8)
        for pick in rotated(COMPARE, many if capture in inputs.in_full else few, capture.name):
            yield Case(("compare", *" ".join(pick.values()).split(), capture))


def generate_cases():
    for options in (*GENERATED.values(), "--packets 5k", "--packets 5k --snaplen 40",
                    "--packets 5k --link ethernet",
                    "--profile paper --packets 9k --flows 3k --truth truth.json",
                    "--packets 3", "--packets 10 --flows 100"):
        yield Case(("generate", "-o", "out.pcap", *options.split()))
    yield Case(("generate", "-o", "-", "--packets", "2k"))


# ---- Errors, rules, help --------------------------------------------------------------------

def error_cases(inputs):
    some = ROOT / "traces" / "mixed.pcap"
    for damaged in inputs.damaged:
        yield Case(("replay", "--flows", "1k", "--json", "--alerts", "alerts.eve", damaged))
        yield Case(("replay", "--flows", "1k", "--preset", "operator", damaged, some))
        yield Case(("compare", "--fp-rates", "0.1", damaged))
        yield Case(("plan", "--trace", damaged))
        yield Case(("inspect", "-"), damaged)
    for command in ("replay", "compare", "inspect", "plan --trace"):
        for wrong in ("no-such-file.pcap", ".", "--no-such-option"):
            yield Case((*command.split(), wrong))
    for wrong in REPLAY_ERRORS:
        yield Case(("replay", *wrong.split(), some))
    for wrong in COMPARE_ERRORS:
        yield Case(("compare", *wrong.split(), some))
    for wrong in OTHER_ERRORS:
        # `acsm` and `acsm rules` alone print their help.
        yield Case(tuple(wrong.split()), None, wrong in ("", "rules"))
    wrong_file = inputs.folder / "wrong.toml"
    for option in ("--rules", "--suppress", "--config"):
        yield Case(("replay", option, wrong_file, some))
        yield Case(("replay", option, "no-such-file.toml", some))


REPLAY_ERRORS = [
    "--backend nonsense", "--flows 0", "--flows -1", "--flows 10T", "--flows 1e99", "--fp-rate 0",
    "--fp-rate 1", "--fp-rate 200%", "--memory 1", "--memory 64k", "--memory 100TiB", "--hashes 0",
    "--hashes 1000", "--cell-bits 7", "--cell-bits 8 --backend kbf", "--layout blocked:4",
    "--layout nonsense", "--workers 0", "--workers 17", "--seed x", "--idle-timeout 0",
    "--idle-timeout 5", "--phase ops:0", "--phase nonsense", "--pending nonsense", "--pending 0",
    "--recycle-at flows:5", "--no-retain", "--recycle-at fill:2 --expire recycle",
    "--recycle-at flows:0 --expire recycle", "--watch 1.2.3.4", "--watch a,b", "--min-severity 9",
    "--from yesterday", "--from 20 --to 10", "--filter (", "--rules nonsense",
    "--preset operator --flow-key pair", "--alerts no-such-folder/alerts.eve",
    "--decode literal --backend sbf", "--sbf-rules paper-kbf --backend kbf",
    "--no-counters --backend kbf", "--no-counters --backend dbf --expire none",
    *(f"--backend {store} {option}" for store in ("exact", "fcf", "dbf", "bhbf") for option in
      ("--layout spread", "--expire recycle", "--expire two-phase", "--hashes 4", "--cell-bits 16",
       "--cell-bits 8", "--memory 16KiB", "--memory 2MiB --fp-rate 1e-9")),
]

COMPARE_ERRORS = [
    "--backends nonsense", "--backends kbf,kbf", "--backends kbf:nonsense", "--backends exact",
    "--fp-rates 0", "--fp-rates 2", "--fp-rates 0.1,0.1", "--equal nonsense", "--loop nonsense",
    "--repeat 0", "--repeat 1000000", "--flows 0", "--memory-limit 1KiB",
    "--expire recycle", "--expire two-phase", "--expire recycle --backends fcf",
    "--layout blocked:2 --backends exact,kbf", "--out /dev/null/x", "--backend kbf",
]

OTHER_ERRORS = [
    "", "nonsense", "replay", "compare", "inspect", "rules", "rules check", "rules show nonsense",
    "generate", "generate -o out.pcap --flows 0", "generate -o no-such-folder/out.pcap",
    "generate -o out.pcap --profile paper --ipv6-share 5%", "live", "completions nonsense",
    "live -i no-such-interface --json", "plan --flows 1M --memory 1MiB --error 1e-3",
    "plan --flows 0", "plan --memory 64k", "plan --error 2", "plan --plot no-such-folder/x.svg",
]


def rules_cases(inputs):
    yield Case(("rules", "list"))
    for file in sorted((ROOT / "rules").glob("*.toml")):
        yield Case(("rules", "check", file))
        yield Case(("rules", "check", file.stem))
        yield Case(("rules", "show", file.stem), None, True)
    yield Case(("rules", "check", inputs.folder / "wrong.toml"))
    yield Case(("rules", "check", "no-such-file.toml"))


def help_cases():
    commands = ["", "replay", "live", "inspect", "plan", "compare", "interfaces", "generate",
                "rules", "rules check", "rules list", "rules show", "completions", "man"]
    for command in commands:
        yield Case((*command.split(), "--help"), None, True)
        yield Case((*command.split(), "-h"), None, True)
    yield Case(("man",), None, True)
    for shell in ("bash", "zsh", "fish"):
        yield Case(("completions", shell), None, True)


def all_cases(inputs, quick):
    """Every run, the short ones first; none twice."""
    cases = itertools.chain(
        help_cases(), rules_cases(inputs), error_cases(inputs), generate_cases(),
        inspect_cases(inputs, quick), plan_cases(inputs, quick), compare_cases(inputs, quick),
        replay_cases(inputs, quick))
    return list(dict.fromkeys(cases))
