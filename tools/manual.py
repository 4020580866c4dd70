# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages from their sources: what `halo --help` and `halo COMMAND --help` print, docs/switches.md for
the environment, and the public headers with examples/hello.c for halo.3.

    manual.py HALO SOURCE VERSION MAN1 MAN3

HALO is the built program, SOURCE the source tree; the pages go to the folders MAN1 and MAN3. Pages have no date, so that they
depend on these sources alone.
"""

import os
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^\s+(-\w, )?\s*--[a-z]")
TERM = re.compile(r"^( {2,})(\S.*?)(?: {2,}(\S.*))?$")


def roff(text):
    """Text that roff shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def from_markdown(text):
    """A line of Markdown: code becomes bold, links become their text."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    parts = roff(text).split("`")
    return "".join(f"\\fB{part}\\fR" if i % 2 else part for i, part in enumerate(parts))


def words_of_term(term):
    """An option or a name, in bold, with what the user puts there in italics."""
    return " ".join(f"\\fI{roff(word)}\\fR" if re.fullmatch(r"[A-Z][A-Z.:a-z]*,?", word) and len(word) > 1 and word.isupper()
                    else f"\\fB{roff(word)}\\fR" for word in term.split())


class Page:
    def __init__(self, name, section, summary, version):
        self.title = name.replace(" ", "-")
        self.section = section
        self.lines = [f'.TH {self.title.upper()} {section} "" "halo {version}" "Halocline"',
                      ".nh", ".ad l", ".SH NAME", f"{roff(self.title)} \\- {roff(summary)}"]

    def add(self, *lines):
        self.lines += lines

    def write(self, folder):
        (folder / f"{self.title}.{self.section}").write_text("\n".join(self.lines) + "\n", encoding="utf-8")


# ---- Commands ----


def help_of(halo, *command):
    done = subprocess.run([halo, *command, "--help"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout:
        sys.exit(f"manual.py: {halo} {' '.join(command)} --help failed: {done.stderr}")
    return done.stdout


def paragraphs(text):
    """Blocks between empty lines, each a list of lines."""
    return [block.split("\n") for block in re.split(r"\n\s*\n", text.strip("\n"))]


def terms(lines):
    """Lines of a list as (term, text): what begins deeper belongs to the term before; None where it is no such list."""
    found, indent = [], None
    for line in lines:
        match = TERM.match(line)
        if match is None:
            return None
        depth = len(match[1])
        indent = depth if indent is None else indent
        if OPTION.match(line) or depth == indent:
            found.append([match[2], match[3] or ""])
        elif found:
            found[-1][1] += " " + line.strip()
        else:
            return None
    return found


def add_list(page, lines):
    found = terms(lines)
    if found is None:
        page.add(".EX", *(roff(line) for line in lines), ".EE")
        return
    for term, text in found:
        page.add(".TP", words_of_term(term), roff(text.strip()) or "\\&")


def add_heading(page, heading, is_options):
    """Headings of options are parts of OPTIONS; others stand by themselves."""
    if not is_options:
        page.add(f".SH {roff(heading.upper())}")
        return
    if ".SH OPTIONS" not in page.lines:
        page.add(".SH OPTIONS")
    if heading != "Options":
        page.add(f".SS {roff(heading)}")


def add_block(page, lines):
    """A paragraph, a list, or a heading or sentence with a list behind it."""
    flat = [line for line in lines if not line.startswith(" ")]
    if lines[0].startswith("Usage:"):
        return
    if not flat:
        add_list(page, lines)
    elif re.fullmatch(r"[A-Z][\w ,]*:", lines[0]) and len(lines) > 1:
        add_heading(page, lines[0][:-1], OPTION.match(lines[1]))
        add_list(page, lines[1:])
    else:
        first = next((i for i, line in enumerate(lines) if line.startswith(" ")), len(lines))
        page.add(".PP", *(roff(line) for line in lines[:first]))
        if first < len(lines):
            rest = next((i for i in range(first, len(lines)) if not lines[i].startswith(" ")), len(lines))
            add_list(page, lines[first:rest])
            if rest < len(lines):
                add_block(page, lines[rest:])


def usage_of(blocks):
    """The lines of usage, without "Usage:", as (what to type, what it does), and the blocks without them."""
    usage, rest = [], []
    for block in blocks:
        if not block[0].startswith("Usage:"):
            rest.append(block)
            continue
        for i, line in enumerate(block):
            text = line.removeprefix("Usage:").strip()
            if not text.startswith("halo"):
                rest.append(block[i:])
                break
            *typed, does = re.split(r" {2,}", text) if "  " in text else (text, "")
            usage.append((" ".join(typed), does))
    return usage, rest


def command_page(name, summary, text, version):
    page = Page("halo " + name if name else "halo", 1, summary, version)
    usage, blocks = usage_of(paragraphs(text))
    page.add(".SH SYNOPSIS")
    for i, (typed, _) in enumerate(usage):
        page.add(*([".br"] if i else []), " ".join(["\\fB" + roff(word) + "\\fR" if word.islower() else roff(word)
                                                     for word in typed.split()]))
    first = next((i for i, b in enumerate(blocks) if b[0].startswith(" ") or b[0].endswith(":")), len(blocks))
    page.add(".SH DESCRIPTION")
    for block in blocks[:first]:
        if not block[0].startswith("Exit codes:"):
            add_block(page, block)
    for block in blocks[first:]:
        if block[0].startswith(" "):
            if OPTION.match(block[0]):
                page.add(".SH OPTIONS")
            add_list(page, block)
        elif not block[0].startswith("Exit codes:"):
            if not re.fullmatch(r"[A-Z][\w ,]*:", block[0]) and ".SH NOTES" not in page.lines:
                page.add(".SH NOTES")
            add_block(page, without_exit(block))
    exits = re.search(r"^Exit codes: *(.*(?:\n\S.*)*)", text, flags=re.M)
    if exits:
        page.add(".SH EXIT STATUS")
        for code, meaning in re.findall(r"(\d) ([^,.]*)", exits[1]):
            page.add(".TP", f"\\fB{code}\\fR", roff(meaning.strip()))
    return page, usage


def without_exit(block):
    at = next((i for i, line in enumerate(block) if line.startswith("Exit codes:")), len(block))
    return block[:at] or block


def environment(source):
    rows = re.findall(r"^\| `(HALO_\w+)` \| (.*?) \| (.*) \|$", (source / "docs/switches.md").read_text(encoding="utf-8"), flags=re.M)
    lines = [".SH ENVIRONMENT"]
    for name, value, text in rows:
        lines += [".TP", f"\\fB{name}\\fR ({from_markdown(value)})", from_markdown(text)]
    return lines


def commands(source, halo, version):
    """All pages of section 1."""
    text = help_of(halo)
    list_block = next(b for b in paragraphs(text) if b[0] == "Commands:")
    named = [(name, summary) for name, summary in terms(list_block[1:])]
    top, _ = command_page("", "run XLA programs on any OpenCL device", text, version)
    pages = [top]
    below = {"": [name for name, _ in named]}
    todo = list(named)
    while todo:
        name, summary = todo.pop(0)
        page, usage = command_page(name, summary, help_of(halo, *name.split()), version)
        pages.append(page)
        below[name] = []
        for typed, does in usage:
            sub = re.match(rf"halo ({re.escape(name)} [a-z][a-z-]*)\b", typed)
            if sub and sub[1] != name:
                todo.append((sub[1], re.sub(r" \(each has its own.*\)$", "", does)))
                below[name].append(sub[1])
    top.add(*environment(source))
    for page in pages:
        own = page.title.replace("-", " ").removeprefix("halo").strip()
        others = [f"halo-{sub.replace(' ', '-')}" for sub in below.get(own, [])] + (["halo"] if own else [])
        if " " in own:
            others.append(f"halo-{own.split(' ')[0]}")
        page.add(".SH SEE ALSO", ",\n".join(f"\\fB{roff(other)}\\fR(1)" for other in sorted(others)) +
                 ("" if own else ",\n\\fBhalo\\fR(3)"))
    return pages


# ---- The library ----

OVERVIEW = """\
libhalo compiles XLA programs (HLO modules) to OpenCL and runs them on any OpenCL device.
.PP
A program comes from text (halo/module.h reads HLO and StableHLO) or from calls (halo/builder.h). A \\fBhalo_client\\fR holds
one or more devices; it compiles a \\fBhalo_module\\fR to a \\fBhalo_executable\\fR, which takes and returns arrays on the device, each a
\\fBhalo_buffer\\fR. Arrays on the host are literals (halo/literal.h) or plain memory.
.PP
Functions that can fail return a \\fBhalo_status\\fR, which is \\fBHALO_OK\\fR (0) or a kind of error. The text of the thread's
newest error is what \\fBhalo_error_message\\fR() returns. Objects are released with the function \\fB_release\\fR of their kind.
.PP
The comment above each function in the headers is its reference: shapes, units, ownership, threads and errors."""


def first_paragraph(comment):
    lines = [re.sub(r"^ ?/?\*+/? ?", "", line).rstrip() for line in comment.split("\n")]
    lines[-1] = lines[-1].removesuffix("*/").rstrip()
    text = "\n".join(lines).split("\n\n")[0]
    return re.sub(r"^halo/\w+\.h: ", "", " ".join(text.split()))


def library_page(source, version):
    page = Page("halo", 3, "C library that runs XLA programs on any OpenCL device", version)
    page.add(".SH SYNOPSIS", "\\fB#include <halo/halo.h>\\fR", ".PP",
             "cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs halo)", ".SH DESCRIPTION", *OVERVIEW.split("\n"), ".SH HEADERS")
    for header in sorted((source / "include/halo").glob("*.h")):
        text = header.read_text(encoding="utf-8")
        comment = re.search(r"/\*(?! SPDX).*?\*/", text, flags=re.S)
        names = re.findall(r"^(?:HALO_API|HALO_API HALO_MUST_USE)\s[^;({]*?\b(halo_\w+)\(", text, flags=re.M)
        if not names:
            continue
        what = first_paragraph(comment[0])
        page.add(f".SS halo/{header.name}", from_markdown(what[0].upper() + what[1:]), ".PP",
                 ", ".join(f"\\fB{roff(name)}\\fR" for name in names) + ".")
    page.add(".SH EXAMPLES", "A whole program, which prints 2 5 10 17:", ".PP", ".EX")
    example = (source / "examples/hello.c").read_text(encoding="utf-8")
    page.add(*(roff(line) for line in example.rstrip("\n").split("\n") if "SPDX" not in line), ".EE")
    page.add(".SH SEE ALSO", "\\fBhalo\\fR(1)")
    return page


def main(halo, source, version, man1, man3):
    source, folders = pathlib.Path(source), (pathlib.Path(man1), pathlib.Path(man3))
    pages = (commands(source, halo, version), [library_page(source, version)])
    for folder, found in zip(folders, pages):
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.[13]"):
            old.unlink()
        for page in found:
            page.write(folder)
        os.utime(folder)


main(*sys.argv[1:])
