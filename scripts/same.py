"""Runs two acsm binaries over a matrix of options and inputs, and compares all that they write.

Meant to be started by scripts/same, whose header shows the usage. This file runs, compares and
reports; same_matrix.py makes the inputs and lists the runs.
"""

import argparse
import contextlib
import difflib
import itertools
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import same_matrix

# Renames of words for people: one `old words => new words` per line, plain text, applied in this
# order to what OLD writes for people: stderr, pages on stdout, HTML, SVG, and in JSON documents
# only sentences (values with a blank, such as compare's `answer`). Never to CSV and EVE lines.
# A page in which something was replaced is compared with blanks and line breaks as one blank,
# since columns and wrapped lines move with the length of words.
WORDS = """
bits a flow => bits per flow
(lines a flow) => (lines per flow)
one a flow => one per flow
 a flow, => per flow,
 a flow; => per flow;
bits a cell => bits per cell
missed an hour => missed per hour
spurious an hour => spurious per hour
wrong answers a lookup => wrong answers per lookup
a flow  of strangers  of flows => / flow     of absent of extant
is no store to compare => is not a store to compare
is no rate => is not a rate
it is no TOML => it is not TOML
strangers taken for flows => false positives
of lookups for strangers => of lookups for absent flows
a flow     errors per lookup     an hour a packet => per flow     errors per lookup    per hour per packet
spurious an hour => spurious per hour
cache lines a packet => cache lines per packet
What an error costs, by theory => Memory for an error rate, as predicted
Bits a flow => Bits per flow
but a little, for => or little more, for
keeps strangers apart but for => keeps the false-positive rate at
bits per flow; theory asks for => bits per flow; the lower bound is
strangers    false positive => absent false positive
flows        false negative => extant false negative
does not meet the wish: as near as its kind comes => does not meet the requirements: as close as its kind comes
>false positives< => >false positives per lookup of absent flows<
--seed <N> => --seed <SEED>
invalid digit found in string => `x` is not a seed; write a number below 2^64, or 32 hexadecimal digits as a run shows them
"""

# What differs from run to run of one binary, because it is measured with a clock.
TIMES = [
    # `replay --json`
    (r'"speed": \{[^}]*\}', '"speed": TIMES'),
    # `compare --json`: of a run, six blanks deep; `load.seconds` is time of the trace
    (r'(?m)^      "seconds": [-+.\de]+$', '      "seconds": TIME'),
    # report.html
    (r'<data value="[^"]*" data-at="/runs/(\d+)/seconds">[^<]*<', r'<data TIME of run \1<'),
    # replay's page
    (r"[\d.,]+ s \([\d.,]+ M packets/s\)", "TIME (RATE)"),
    # the seed, which older builds did not show
    (r',\n  "seed": .*', ""),
    (r"(?m)^  seed +\S+.*\n", ""),
    (r"(?m)^  time +batch .*$", lambda line: re.sub(r"[\d.,]+ (ns|µs|ms|s)\b", "TIME", line[0])),
]
# report.csv: `seconds` is the last column.
TIMES_CSV = [(r"(?m),[-+.\de]+(?=\r?$)", ",TIME")]

TIMEOUT_SECONDS = 120
SHOWN_DIFFERENCES = 10
SHOWN_LINES = 16
SHOWN_COLUMNS = 160


def main():
    options = parse_arguments()
    with work_folder(options.work) as folder:
        inputs = same_matrix.make_inputs(options.old, options.corpus, Path(folder), say)
        cases = same_matrix.all_cases(inputs, options.quick)
        if not options.old_knows_stamps:
            say("OLD has no --expire stamps: its timer is compared with the stamps of NEW")
            cases = [case for case in cases if not plans_for_a_timer(case.args)]
        if options.only:
            cases = [case for case in cases if options.only.search(command_line(case))]
        if options.list:
            print("\n".join(command_line(case) for case in cases))
            return 0
        if not cases:
            return wrong_usage(f"no run matches --only {options.only.pattern}")
        return Comparison(options, Path(folder)).run(cases)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/same",
        description="Compare what two acsm binaries write, for the same inputs, options and seeds.",
    )
    parser.add_argument("old", metavar="OLD", type=binary, help="the acsm binary to compare with")
    parser.add_argument("new", metavar="NEW", type=binary, help="the acsm binary to check")
    parser.add_argument("--quick", action="store_true", help="a selection of about one minute")
    parser.add_argument("--only", metavar="PATTERN", type=regular_expression,
                        help="only command lines in which this regular expression is found")
    parser.add_argument("--list", action="store_true", help="print the command lines; run nothing")
    parser.add_argument("--jobs", metavar="N", type=int, default=2,
                        help="command lines compared at the same time [default: 2]")
    parser.add_argument("--corpus", metavar="DIR", type=Path, default=same_matrix.CORPUS,
                        help="folder of captures [default: ../shared/corpus beside the repository]")
    parser.add_argument("--work", metavar="DIR", type=Path,
                        help="make inputs here and keep them [default: a temporary folder]")
    options = parser.parse_args()
    options.old_knows_stamps = knows_stamps(options.old)
    return options


def binary(text):
    path = shutil.which(text)
    if path is None:
        raise argparse.ArgumentTypeError(f"{text} is not a program that can be run")
    return Path(path).resolve()


def regular_expression(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text} is not a regular expression: {error}")


def work_folder(wished):
    """A context with the folder's name: the wished one, which stays, or one that is removed."""
    if wished is None:
        return tempfile.TemporaryDirectory(prefix="acsm-same-")
    wished.mkdir(parents=True, exist_ok=True)
    return contextlib.nullcontext(wished.resolve())


def wrong_usage(message):
    print(f"error: {message}", file=sys.stderr)
    return 2


def say(message):
    print(f"==> {message}", file=sys.stderr)


def command_line(case):
    words = ["acsm", *map(str, case.args)]
    stdin = f" < {shlex.quote(str(case.stdin))}" if case.stdin else ""
    return " ".join(map(shlex.quote, words)) + stdin


class Comparison:
    """Runs cases side by side, shows the first differences, and counts."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.progress = None
        self.differ = 0
        self.shown = set()
        self.notes = []
        self.exit_codes = {}

    def run(self, cases):
        self.progress = Progress(len(cases))
        with ThreadPoolExecutor(self.options.jobs) as pool:
            try:
                for case, differences, exit_code in pool.map(self.compare, cases):
                    self.count(case, differences, exit_code)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        self.progress.end()
        self.summarise(len(cases))
        return 1 if self.differ else 0

    def compare(self, case):
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="run-") as folder:
            old_args = new_args = seeded(case.args)
            if not self.options.old_knows_stamps:
                old_args, new_args = (with_stamps(old_args, name) for name in ("timer", "stamps"))
            old = run_once(self.options.old, old_args, case.stdin, Path(folder) / "old")
            new = run_once(self.options.new, new_args, case.stdin, Path(folder) / "new")
            if not self.options.old_knows_stamps:
                new = {part: re.sub(rb"\bstamps\b", b"timer", text) for part, text in new.items()}
        return case, differences(old, new), old["exit code"].decode()

    def count(self, case, found, exit_code):
        self.exit_codes[exit_code] = self.exit_codes.get(exit_code, 0) + 1
        self.progress.step()
        if not found:
            return
        if case.is_note:
            self.notes.append(command_line(case))
            return
        self.differ += 1
        # One change of the program shows in many runs: each kind of difference once.
        kinds = {(case.args[:1], part, kind_of(lines)) for part, lines in found} - self.shown
        if kinds and len(self.shown) < SHOWN_DIFFERENCES:
            self.shown |= kinds
            self.progress.clear()
            print(f"differs: {command_line(case)}")
            for part, lines in found:
                print(f"  {part}")
                print("".join(f"    {line}\n" for line in lines), end="", flush=True)

    def summarise(self, runs):
        for line in self.notes:
            print(f"note: another text, no failure: {line}")
        if self.differ:
            say("shown: the first of each kind; --work DIR keeps the inputs that were made")
        codes = ", ".join(f"{count} with {code}" for code, count in sorted(self.exit_codes.items()))
        say(f"exit codes of OLD: {codes}; {self.progress.seconds():.0f} s")
        print(f"{runs} runs compared, {self.differ} differ")


def kind_of(lines):
    """What differences of one cause have in common: the changed lines without their numbers."""
    changed = [line for line in lines if line[0] in "+-"] or lines
    return re.sub(r"[\d.,]+", "0", changed[0])


def run_once(program, args, stdin, folder):
    """All that one run writes: its exit code, stdout, stderr and files, by name."""
    folder.mkdir()
    with open(stdin or "/dev/null", "rb") as stdin:
        try:
            # By the same name, since the usage line shows it.
            done = subprocess.run(["acsm", *explicit(args)], executable=program, cwd=folder,
                                  stdin=stdin, capture_output=True, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            return {"exit code": f"none after {TIMEOUT_SECONDS} s".encode()}
    written = {"exit code": str(done.returncode).encode(), "stderr": done.stderr}
    written[name_of_stdout(done.stdout)] = done.stdout
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            written[str(file.relative_to(folder))] = file.read_bytes()
    return written


def explicit(args):
    """With what has other defaults in older builds: there the seed is 1 and the preset `paper`."""
    args = [str(arg) for arg in args]
    if {"--help", "-h", "help"} & set(args):
        return args
    given = [arg.partition("=")[0] for arg in args]
    if args[:1] in (["replay"], ["compare"]) and "--seed" not in given:
        args += ["--seed", "1"]
    if args[:1] in (["replay"], ["compare"], ["plan"]) and "--preset" not in given:
        args += ["--preset", "paper"]
    return args


def knows_stamps(program):
    """Whether `--expire stamps` is the timer with a stamp per cell; in older builds `timer` is."""
    done = subprocess.run([program, "replay", "--help"], capture_output=True, text=True)
    return re.search(r"\bstamps\b", done.stdout) is not None


def with_stamps(args, name):
    """The same with the timer that has a stamp per cell, by the name that a build has for it."""
    if args[:1] not in (["replay"], ["compare"]) or {"--help", "-h"} & set(args):
        return args
    if "--expire" not in args:
        return [*args, "--expire", name]
    return [name if before == "--expire" and arg in ("timer", "stamps") else arg
            for before, arg in zip(["", *args], args)]


def plans_for_a_timer(args):
    """Such plans differ: `fcf` and `exact` are not among the stores with stamps."""
    untimed = {"none", "recycle", "two-phase"}
    return args[:1] == ("plan",) and not untimed & set(args)


def name_of_stdout(text):
    """Says what it holds: a JSON document on several lines, EVE lines, or text."""
    if text.startswith(b"{\n"):
        return "stdout, JSON document"
    return "stdout, EVE lines" if text.startswith(b"{") else "stdout"


def differences(old, new):
    """The parts that differ, each with a few lines that show how."""
    found = []
    for part in [*old, *(part for part in new if part not in old)]:
        if part not in old or part not in new:
            found.append((part, ["only OLD writes it" if part in old else "only NEW writes it"]))
        elif old[part] != new[part]:
            shown = part_difference(part, old[part], new[part])
            if shown:
                found.append((part, shown))
    return found


def part_difference(part, old, new):
    if part.endswith(".pcap"):
        return [f"{len(old)} bytes and {len(new)} bytes; they differ from byte "
                f"{common_prefix(old, new)} on"]
    old, new = (text.decode("utf-8", "backslashreplace") for text in (old, new))
    old, new = without_times(part, old), without_times(part, new)
    if part in ("stdout", "stderr") or part.endswith((".html", ".svg")):
        old, new = with_new_words(old, new)
    elif part == "stdout, JSON document" or part.endswith(".json"):
        old = re.sub(JSON_SENTENCE, lambda sentence: rename(sentence[0]), old)
    return None if old == new else few_lines(old, new)


# A string with a blank that is no key.
JSON_SENTENCE = r'(?<=[ \[])"(?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*"(?!:)'


def without_times(part, text):
    for pattern, placeholder in TIMES_CSV if part.endswith(".csv") else TIMES:
        text = re.sub(pattern, placeholder, text)
    return text


def with_new_words(old, new):
    """OLD's text in the words of NEW; both with single blanks if that made a difference."""
    renamed = rename(old)
    if renamed == old or renamed == new:
        return renamed, new
    # Lines stay apart for the diff unless they are wrapped in another way.
    by_line = [re.sub(r"[ \t]+", " ", text) for text in (renamed, new)]
    by_word = [" ".join(text.split()) for text in (renamed, new)]
    return by_word if by_word[0] == by_word[1] else by_line


def renames(text):
    """The pairs of the list WORDS."""
    pairs = []
    for line in text.splitlines():
        if line.strip():
            old, arrow, new = line.partition("=>")
            if not arrow or not old.strip():
                sys.exit(f"error: WORDS in {__file__}: `{line}` is not `old => new`")
            pairs.append((old.strip(), new.strip()))
    return pairs


RENAMES = renames(WORDS)


def rename(text):
    for old_words, new_words in RENAMES:
        text = text.replace(old_words, new_words)
    return text


def few_lines(old, new):
    """A short unified diff from the first line that differs on."""
    # A page of HTML has lines of a megabyte.
    old, new = (text.replace("><", ">\n<").splitlines() for text in (old, new))
    start = max(0, common_prefix(old, new) - 2)
    window = slice(start, start + 200)
    diff = difflib.unified_diff(old[window], new[window], lineterm="", n=2)
    # The first hunk only, without the three lines above it.
    hunk = list(itertools.takewhile(lambda line: line[0] != "@", itertools.islice(diff, 3, None)))
    shown = [f"@@ line {start + 1} @@", *cut(hunk[:SHOWN_LINES])]
    return shown + (["..."] if len(hunk) > SHOWN_LINES else [])


def cut(lines):
    """Lines short enough to read, from where the first removed and added lines begin to differ."""
    removed = next((line[1:] for line in lines if line.startswith("-")), "")
    added = next((line[1:] for line in lines if line.startswith("+")), "")
    first = max(0, common_prefix(removed, added) - SHOWN_COLUMNS // 2)
    for line in lines:
        text = line[1:]
        if len(text) <= SHOWN_COLUMNS:
            yield line
        else:
            piece = text[first : first + SHOWN_COLUMNS]
            yield f"{line[0]}{'...' if first else ''}{piece}..."


def common_prefix(one, other):
    """How many items at the start are the same."""
    for position, (a, b) in enumerate(zip(one, other)):
        if a != b:
            return position
    return min(len(one), len(other))


class Progress:
    """One line on stderr: redrawn on a terminal, else repeated every 15 seconds."""

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.start = time.monotonic()
        self.on_terminal = sys.stderr.isatty()
        self.next_report = self.start

    def seconds(self):
        return time.monotonic() - self.start

    def step(self):
        self.done += 1
        if time.monotonic() >= self.next_report:
            self.next_report = time.monotonic() + (0.2 if self.on_terminal else 15)
            self.report()

    def report(self):
        line = f"==> {self.done} of {self.total} runs, {self.seconds():.0f} s"
        print(f"\r{line}" if self.on_terminal else line, end="" if self.on_terminal else "\n",
              file=sys.stderr, flush=True)

    def clear(self):
        if self.on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def end(self):
        self.clear()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
