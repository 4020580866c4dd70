# SPDX-License-Identifier: Apache-2.0
"""Checks README.md and its neighbours, docs/*.md, and the pages of the rooms in lib/.

    python3 tools/docs/check.py             links, code blocks, and names of commands and functions
    python3 tools/docs/check.py --spelling  the spelling of these pages and of include/halo (needs aspell)

Links: files and anchors inside the repository exist; others are not visited. Code blocks: a comment in front of a
block says how it is tested,

    <!-- block: part of FILE -->       its lines are in FILE, in order ("..." in the block stands for any lines)
    <!-- block: compiled -->           C statements, which are compiled here
    <!-- block: run by FILE -->        the test FILE runs the blocks of this page
    <!-- block: not run, REASON -->

and blocks of the language `text` need none. Spelling: words that the dictionary lacks are in tools/docs/words.txt.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FENCE = re.compile(r"^\s*```(\S*)\s*$")
MARK = re.compile(r"^\s*<!-- block: (compiled|part of|run by|not run,) ?(.*) -->$")


def pages():
    folders = ("docs", "lib", "cl_kernels")
    return [*sorted(ROOT.glob("*.md")), *(page for folder in folders for page in sorted((ROOT / folder).rglob("*.md")))]


def split(text):
    """(prose, blocks): the text with blank lines in place of the code blocks, and (line, language, mark, lines) of
    each block."""
    prose, blocks, block, last = [], [], None, ""
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line)
        if block is not None:
            if fence and not fence[1]:
                blocks.append(block)
                block = None
            else:
                block[3].append(line)
            prose.append("")
        elif fence:
            block = (number, fence[1], MARK.match(last), [])
            prose.append("")
        else:
            prose.append(line)
        if line.strip():
            last = line
    return "\n".join(prose), blocks


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", split(text)[0], re.M):
        name = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")
        unique, count = name, 0
        while unique in found:
            count += 1
            unique = f"{name}-{count}"
        found.add(unique)
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def check_links(page, prose):
    for line, text in enumerate(prose.split("\n"), 1):
        text = re.sub(r"`[^`]*`", "", text)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            if not path.exists():
                yield line, f"there is no {name}"
            elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text()):
                yield line, f"{path.name} has no heading for #{anchor}"


def is_part(lines, file):
    """Whether the runs of lines between those that are "..." are in the file, one behind the other."""
    text, at = file.read_text(), 0
    for piece in re.split(r"^\s*\.\.\.\s*$", "\n".join(lines), flags=re.M):
        found = text.find(piece.strip("\n"), at)
        if found < 0:
            return False
        at = found + len(piece.strip("\n"))
    return True


def compile_errors(lines):
    """What the C compiler says of the statements."""
    code = "\n".join(["#include <halo/halo.h>", "void block(void);", "void block(void) {", "#line 1", *lines, "}"])
    command = [*os.environ.get("CC", "cc").split(), "-std=c11", "-fsyntax-only", "-w", "-xc", f"-I{ROOT}/include", "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True).stderr


def check_blocks(page, blocks):
    for line, language, mark, lines in blocks:
        if language == "text":
            continue
        if mark is None:
            yield line, f"the block `{language}` does not say how it is tested (tools/docs/check.py)"
        elif mark[1] == "compiled":
            errors = compile_errors(lines)
            if errors:
                yield line, f"the block does not compile\n{errors}"
        elif mark[1] != "not run,":
            file = ROOT / mark[2]
            if not file.exists():
                yield line, f"there is no {mark[2]}"
            elif mark[1] == "part of" and not is_part(lines, file):
                yield line, f"the block is not part of {mark[2]}"
            elif mark[1] == "run by" and page.name not in file.read_text():
                yield line, f"{mark[2]} does not name {page.name}"


def check_names(text, commands, functions):
    for number, line in enumerate(text.split("\n"), 1):
        for tool, names in commands.items():
            for name in re.findall(rf"(?:^\s*|`|\$ ){re.escape(tool)} ([a-z][a-z-]+)(?=[ `\n]|$)", line):
                if name not in names:
                    yield number, f"{tool} has no command {name}"
        for name in re.findall(r"`(halo_[a-z0-9_]+)`", line):
            if not re.search(rf"\b{name}\b", functions):
                yield number, f"no public header and no source has {name}"


def known_names():
    dev = (ROOT / "tools/dev").read_text()
    main = (ROOT / "tools/main.c").read_text()
    commands = {
        "tools/dev": set(re.findall(r"^  ([a-z][a-z-]+)  ", dev, re.M)),
        "halo": set(re.findall(r'\{"([a-z]+)"', main)) | {"help", "version"},
    }
    sources = [*(ROOT / "include").rglob("*.h"), *(ROOT / "lib").rglob("*.[ch]"), *(ROOT / "python").rglob("*.py")]
    return commands, "\n".join(path.read_text() for path in sources)


def check_pages():
    commands, functions = known_names()
    for page in pages():
        text = page.read_text()
        prose, blocks = split(text)
        faults = [*check_links(page, prose), *check_blocks(page, blocks)]
        if page.name != "CHANGELOG.md":  # which names what there was
            faults += check_names(text, commands, functions)
        for line, fault in sorted(faults):
            yield f"{page.relative_to(ROOT)}:{line}: {fault}"


def misspelt(text):
    """The words of a text that neither the dictionary nor words.txt has."""
    known = set((ROOT / "tools/docs/words.txt").read_text().split())
    run = subprocess.run(["aspell", "list", "--lang=en", "--ignore=2"], input=text, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"aspell: {run.stderr.strip()}")
    words = {re.sub(r"'s$", "", word) for word in run.stdout.split()}
    # Words with several capitals are acronyms and names of XLA.
    return {word for word in words if not re.search("[A-Z].*[A-Z]", word) and not {word, word.lower()} & known}


def check_spelling():
    texts = {}
    for page in pages():
        prose = split(page.read_text())[0]
        prose = re.sub(r"<!--.*?-->|<[^>]+>|`[^`]*`|\]\([^)]*\)|\bhttps?:\S+", " ", prose, flags=re.S)
        # Names of files, functions, variables and types are no words; nor is indented code.
        texts[page] = re.sub(r"^    .*$|\S*[_/=@0-9]\S*|\b\w+\.\w+\b", " ", prose, flags=re.M)
    for header in sorted((ROOT / "include/halo").glob("*.h")):
        comments = " ".join(re.findall(r"/\*.*?\*/", header.read_text(), re.S))
        texts[header] = re.sub(r'"[^"]*"|\S*[_/=@*0-9]\S*|\b\w+\.\w+\b', " ", comments)
    for path, text in texts.items():
        words = sorted(misspelt(text))
        if words:
            yield f"{path.relative_to(ROOT)}: {' '.join(words)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spelling", action="store_true", help="check spelling")
    faults = list(check_spelling() if parser.parse_args().spelling else check_pages())
    print("\n".join(faults) if faults else f"{len(pages())} pages: no faults")
    sys.exit(1 if faults else 0)


main()
