"""Checks the documents: links, figures, code blocks with their output, and the reference pages that are generated.

`docs/check.py` fails if a document differs from what the program does; `docs/check.py --update` rewrites it.

A fenced `sh` or `python` block is run. The blocks of a page run in order in one empty folder, and a `text` block right below
is the output that is expected. A block below a comment `<!-- not run: REASON -->` is not run.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# The package's own tests run the Python of these.
TESTED_ELSEWHERE = {DOCS / "python.md", ROOT / "crates/homing-py/README.md"}

FENCE = re.compile(
    r"(?P<skip><!-- not run: [^>]+ -->\n)?^```(?P<language>sh|python)\n(?P<code>.*?)^```\n"
    r"(?:\n?^```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)

# Executes the blocks that it reads, one JSON string per line, in one namespace.
PYTHON_DRIVER = """
import contextlib, io, json, sys, traceback
names = {"__name__": "document"}
for line in sys.stdin:
    out, failed = io.StringIO(), False
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(json.loads(line), "block", "exec"), names)
        except Exception:
            failed = True
            traceback.print_exc(file=out)
    print(json.dumps([failed, out.getvalue()]), flush=True)
"""


def documents():
    return sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("crates/*/README.md")])


def shown(path):
    return path.relative_to(ROOT)


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(path):
    """The anchors that GitHub and mdBook give to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def check_links():
    for path in documents():
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text())):
            if re.match(r"\w+:", link):
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            if not target.exists():
                yield f"{shown(path)}: {link} leads nowhere"
            elif anchor and anchor not in anchors(target):
                yield f"{shown(path)}: {shown(target)} has no heading #{anchor}"
            elif DOCS in path.parents and DOCS not in target.parents:
                yield f"{shown(path)}: {link} leads out of the book; name the file instead"


def check_summary():
    summary = (DOCS / "SUMMARY.md").read_text()
    for path in sorted(DOCS.rglob("*.md")):
        if path.name != "SUMMARY.md" and f"({path.relative_to(DOCS)})" not in summary:
            yield f"{shown(path)} is not in docs/SUMMARY.md"


def check_figures():
    """The figures that the README quotes stand in the pages that it links to."""
    for line in (ROOT / "README.md").read_text().split("\n## Measured\n")[1].split("\n## ")[0].splitlines():
        pages = [(ROOT / page).read_text() for page in re.findall(r"\]\(([^)#]+)", line)]
        for figure in re.findall(r"\d[\d,]*\.\d+|\d[\d,]{3,}", line):
            if not any(figure in page for page in pages):
                yield f"README.md: no page that it links to has the figure {figure}: {line}"


def comparable(output):
    """The lines of an output without what differs between machines: times, memory, last digits, and how well a network has learned."""
    output = re.sub(r"\d[\d.,]* (ms|s|KiB|MiB|GiB|MB|GB)\b", "_", output)
    output = re.sub(r"\d+\.\d %", "_ %", output)
    output = re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number[0]):.6f}", output)
    return [" ".join(line.split()) for line in output.strip("\n").splitlines()]


def difference(page, expected, found):
    lines = difflib.unified_diff(expected, found, "the page", "the program", lineterm="", n=1)
    return f"{page} differs from the program (docs/test --update rewrites it):\n" + "\n".join(lines)


class Blocks:
    """Runs the blocks of one page."""

    def __init__(self, page, homing, python, update):
        self.page, self.python, self.update = page, python, update
        self.faults, self.driver = [], None
        self.folder = tempfile.TemporaryDirectory()
        self.environment = {**os.environ, "PATH": f"{homing.parent}:{os.environ['PATH']}", "NO_COLOR": "1"}

    def shell(self, code):
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            cwd=self.folder.name,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return run.returncode != 0, run.stdout.replace(f"{self.folder.name}/", "")

    def interpret(self, code):
        if self.driver is None:
            self.driver = subprocess.Popen(
                [self.python, "-c", PYTHON_DRIVER],
                cwd=self.folder.name,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        self.driver.stdin.write(json.dumps(code) + "\n")
        self.driver.stdin.flush()
        return json.loads(self.driver.stdout.readline())

    def run(self, block):
        """Runs one block and returns its text, with the output that it has now."""
        if block["skip"]:
            return block[0]
        is_python = block["language"] == "python"
        failed, output = (self.interpret if is_python else self.shell)(block["code"])
        if failed:
            self.faults.append(f"{shown(self.page)}: this block fails:\n{block['code']}{output}")
        elif block["output"] is not None and comparable(block["output"]) != comparable(output):
            if self.update:
                lines = "\n".join(line.rstrip() for line in output.strip("\n").splitlines())
                return block[0].replace(f"```text\n{block['output']}", f"```text\n{lines}\n")
            self.faults.append(difference(shown(self.page), comparable(block["output"]), comparable(output)))
        return block[0]

    def run_all(self):
        text = self.page.read_text()
        with self.folder:
            found = FENCE.sub(self.run, text)
            if self.driver is not None:
                self.driver.stdin.close()
                self.driver.wait()
        if found != text:
            self.page.write_text(found)
        return self.faults


def check_blocks(homing, python, update):
    for page in documents():
        needs_python = any(block["language"] == "python" and not block["skip"] for block in FENCE.finditer(page.read_text()))
        if page not in TESTED_ELSEWHERE and (python is not None or not needs_python):
            yield from Blocks(page, homing, python, update).run_all()


def command_help(homing, *command):
    arguments = [homing, *command, "--help"]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    run = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)
    return "\n".join(line.rstrip() for line in run.stdout.strip().splitlines())


def command_pages(homing, *command):
    """The help of a command and of the commands below it."""
    text = command_help(homing, *command)
    yield f"{'#' * min(len(command) + 1, 3)} homing {' '.join(command)}".rstrip(), text
    listed = re.search(r"^Commands:\n((?:  .*\n?)+)", text, re.MULTILINE)
    for name in re.findall(r"^  ([a-z-]+)", listed[1], re.MULTILINE) if listed else []:
        if name != "help":
            yield from command_pages(homing, *command, name)


def command_reference(homing):
    yield "# Command line"
    yield "This page is the output of `--help` for every command. `docs/test` checks it against the program."
    for heading, text in command_pages(homing):
        yield f"{heading.replace('# homing', '## homing', 1) if heading == '# homing' else heading}\n```text\n{text}\n```"


def check_reference(name, text, update):
    path = DOCS / "reference" / name
    before = path.read_text() if path.exists() else ""
    if before == text:
        return
    if update:
        path.write_text(text)
    else:
        yield difference(shown(path), before.splitlines(), text.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="rewrite outputs and reference pages instead of failing")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--homing", type=Path, default=target / "release/homing", help="the command to check against")
    python = ROOT / "target/python/bin/python"
    parser.add_argument("--python", type=Path, default=python, help="an interpreter that has the package homing")
    arguments = parser.parse_args()
    homing, python, update = arguments.homing.absolute(), arguments.python.absolute(), arguments.update

    faults = [*check_links(), *check_summary(), *check_figures()]
    if not python.exists():
        print(f"skipped: the reference of the Python package and pages with Python, since there is no {python} (crates/homing-py/test makes it)")
        python = None
    if homing.exists():
        faults += check_blocks(homing, python, update)
        faults += check_reference("cli.md", "\n\n".join(command_reference(homing)) + "\n", update)
    else:
        print(f"skipped: code blocks and the reference of commands, since there is no {homing} (cargo build --release)")
    if python is not None:
        if subprocess.run([python, "-c", "import homing.ray"], capture_output=True, check=False).returncode == 0:
            script = DOCS / "python_reference.py"
            run = subprocess.run([python, script], capture_output=True, text=True, check=True)
            faults += check_reference("python-api.md", run.stdout, update)
        else:
            print(f"skipped: the reference of the Python package, since {python} has no Ray (pip install 'homing[ray]')")
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
