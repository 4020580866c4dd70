#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One text for several sizes of a program, and the text of each size. Needs no JAX.

In hlo/NAME.hlo there is a line for each size, as `//! size small count=50`. In the other lines `${count - 1}` is the
value of an expression of these numbers, and `${a | b}` lists what they do not explain, in the order of the sizes.
Sizes whose instructions differ have files of their own, hlo/NAME.SIZE.hlo. hlo/list.txt has a line for each file: its
name, and the sizes in it where there are several. meson.build reads it.

    python3 sizes.py FOLDER FILE ...    writes FOLDER/NAME.SIZE.hlo for each size in the files, which are all there are
    python3 sizes.py --list             writes the list anew
"""

import collections
import itertools
import pathlib
import re
import sys

HLO = pathlib.Path(__file__).parent / "hlo"
LIST = HLO / "list.txt"
SIZE = re.compile(r"^//! size (\w+)(.*)\n", re.MULTILINE)
HOLE = re.compile(r"\$\{([^}]*)\}")
WORD = re.compile(r"[\w.+-]+")
MOST = 5  # of so many lines of a merged text one may have what the numbers do not explain


def expand(text):
    """Size -> its text."""
    texts = {}
    for index, (size, words) in enumerate(SIZE.findall(text)):
        numbers = {name: int(number) for name, number in (word.split("=") for word in words.split())}

        def fill(hole, index=index, numbers=numbers):
            if " | " in hole[1]:
                return hole[1].split(" | ")[index]
            return str(eval(hole[1], {"__builtins__": {}}, numbers))

        texts[size] = HOLE.sub(fill, SIZE.sub("", text).replace("\n", f" {size}\n", 1))
    return texts


def expand_file(path):
    """NAME.SIZE -> its text."""
    text = path.read_text(encoding="utf-8")
    return {f"{path.stem}.{size}": t for size, t in expand(text).items()} or {path.stem: text}


def expressions(numbers):
    """The values of an expression in all sizes -> the simplest such expression. `numbers` has those of each size."""
    values = {name: tuple(size[name] for size in numbers) for name in numbers[0]}
    found = [*values.items()]
    for name, by in itertools.product(values, range(1, 5)):
        found.append((f"{name} - {by}", tuple(v - by for v in values[name])))
        found.append((f"{name} + {by}", tuple(v + by for v in values[name])))
    for name, by in itertools.product(values, (2, 3, 4, 32)):
        found.append((f"{by} * {name}", tuple(by * v for v in values[name])))
        found.append((f"{name} // {by}", tuple(v // by for v in values[name])))
    found += [(f"{a} * {b}", tuple(x * y for x, y in zip(values[a], values[b], strict=True)))
              for a, b in itertools.combinations_with_replacement(values, 2)]
    return {tuple(map(str, v)): expression for expression, v in reversed(found)}


def merge(texts, numbers):
    """The one text of several sizes (size -> text, size -> its numbers), or None where they have too little in common."""
    lines = [[(WORD.sub("#", line), WORD.findall(line)) for line in text.splitlines()[1:]] for text in texts.values()]
    if len({tuple(form for form, _ in text) for text in lines}) != 1:
        return None
    rows = [list(zip(*(words for _, words in row), strict=True)) for row in zip(*lines, strict=True)]
    numbers = {size: dict(n) for size, n in numbers.items()}
    names = expressions(list(numbers.values()))
    unknown = collections.Counter(word for row in rows for word in row if len(set(word)) > 1 and word not in names)
    often = [word for word, count in unknown.items() if count > 4 and "".join(word).isdigit()]
    for index, word in enumerate(often):
        for size, number in zip(texts, word, strict=True):
            numbers[size][f"n{index + 1}"] = int(number)
    names = expressions(list(numbers.values()))

    def put(word):
        if len(set(word)) == 1:
            return word[0]
        return "${" + names.get(word, " | ".join(word)) + "}"

    differing = sum(any(len(set(w)) > 1 and w not in names for w in row) for row in rows)
    if differing * MOST > len(rows):
        return None
    head = next(iter(texts.values())).splitlines()[0].rpartition(" ")[0]
    sizes = [" ".join([f"//! size {size}", *(f"{k}={v}" for k, v in n.items())]) for size, n in numbers.items()]
    body = [re.sub("#", lambda _, row=iter(row): put(next(row)), form)
            for (form, _), row in zip(lines[0], rows, strict=True)]
    text = "\n".join([head, *sizes, *body]) + "\n"
    if expand(text) != texts:
        raise SystemExit(f"the merged text is not that of its sizes:\n{text}")
    return text


def list_files():
    """The text of hlo/list.txt."""
    files = {path.stem: SIZE.findall(path.read_text(encoding="utf-8")) for path in sorted(HLO.glob("*.hlo"))}
    return "".join(" ".join([name, *(size for size, _ in found)]) + "\n" for name, found in files.items())


def main(arguments):
    if arguments == ["--list"]:
        LIST.write_text(list_files(), encoding="utf-8")
        return
    if LIST.read_text(encoding="utf-8") != list_files():
        raise SystemExit(f"{LIST} is not what the files have: python3 {sys.argv[0]} --list")
    for path in arguments[1:]:
        for name, text in expand_file(pathlib.Path(path)).items():
            pathlib.Path(arguments[0], f"{name}.hlo").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
