"""Every command that a page prints is one that there is, with options that it has."""

import pytest

from docs.command_lines import CommandError, check, commands
from docs.pages import Block, blocks, inline_code, pages, read

OURS = ("sysone ", "rmuc-arena ", "make ", "python ", ".venv/bin/", "pip install 'sysone")


def faults(page: str, text: str) -> list[str]:
    found = []
    for block in blocks(text, page):
        if block.language in ("sh", "bash", "shell", "console"):
            found += _faults_of(block)
    for line, code in inline_code(text):
        if code.startswith(OURS):
            for words in commands(code.replace("|", " ")):
                try:
                    check(words, complete=False)
                except CommandError as fault:
                    found.append(f"{page}:{line} `{code}`: {fault}")
    return found


def _faults_of(block: Block) -> list[str]:
    found = []
    for words in commands(block.text):
        try:
            check(words)
        except CommandError as fault:
            found.append(f"{block.place} {' '.join(words)}: {fault}")
    return found


@pytest.mark.parametrize("page", pages())
def test_a_pages_commands_are_there(page: str) -> None:
    assert faults(page, read(page)) == []


def test_the_pages_print_many_commands() -> None:
    """So that a reader of pages that finds nothing does not pass."""
    found = [
        words
        for page in pages()
        for block in blocks(read(page), page)
        if block.language == "sh"
        for words in commands(block.text)
    ]
    assert len(found) > 80
    assert {"sysone", "rmuc-arena", "make", "pip", "python"} <= {words[0] for words in found}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sysone trx", "no command 'trx'"),
        ("sysone trex --sedes 5", "--sedes"),
        ("sysone trex --seeds", "--seeds"),
        ("sysone trex --seeds many", "--seeds many"),
        ("sysone trex --clock sundial", "--clock sundial"),
        ("sysone trex compare", "lacks"),
        ("sysone drive run extra", "takes no 'extra'"),
        ("sysone drive servee --adapter stub", "no command 'servee'"),
        ("A=1 .venv/bin/sysone serve --prot 1", "--prot"),
        ("x | sysone arc eval --budget 3 | head", "--budget"),
        ("python -m sysone.trex --sedes 1", "--sedes"),
        ("python -m sysone.nothing", "no command 'nothing'"),
        ("python -m no_such_module", "no module no_such_module"),
        ("python examples/gone.py", "there is no examples/gone.py"),
        ("rmuc-arena replay verify", "lacks"),
        ("rmuc-arena match --duraton 3", "--duraton"),
        ("make tset", "no target 'tset'"),
        ("pip install 'sysone-core[film,flim]'", "no extra 'flim'"),
        ("frobnicate --all", "no command that is known"),
    ],
)
def test_a_command_that_is_not_there_is_named(line: str, said: str) -> None:
    def all_of() -> None:
        for words in commands(line):
            if words != ["x"]:
                check(words)

    with pytest.raises(CommandError) as fault:
        all_of()
    assert said in str(fault.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a --x 1 # and so on", [["a", "--x", "1"]]),
        ("a URL#MODEL 'x # y' &", [["a", "URL#MODEL", "x # y"]]),
        ("A=1 B=2 a | b && c > out.txt", [["a"], ["b"], ["c"]]),
        ("a 2> err.txt < in.txt", [["a"]]),
        ("for x in 1 2; do\n  a $x --out $x.json\ndone", None),
        ("python - <<'PY'\nimport os\nPY", [["python", "-"]]),
        ("a 'x\n# y' # z\nb", [["a", "x\n# y"], ["b"]]),
        ("a \\\n  --b c", [["a", "--b", "c"]]),
    ],
)
def test_a_shell_text_is_cut_into_commands(line: str, words: list[list[str]] | None) -> None:
    found = list(commands(line))
    if words is None:
        assert ["a", "$x", "--out", "$x.json"] in found
    else:
        assert found == words


def test_a_block_knows_what_it_needs_and_where_it_is() -> None:
    text = (
        "# x\n\n<!-- needs: carla-server, time -->\n```sh\na\n```\n\n"
        '```python title="x/y.py"\nb\n```\n\n<!-- run: terminals -->\n\n```sh\nc\n```\n'
    )
    one, two, three = blocks(text, "p.md")
    assert (one.place, one.needs, one.text) == ("p.md:4", ("carla-server", "time"), "a\n")
    assert (two.title, two.language, two.run) == ("x/y.py", "python", "script")
    assert (three.run, three.line) == ("terminals", 14)


@pytest.mark.parametrize("marker", ["needs: luck", "run: backwards"])
def test_a_marker_that_nobody_knows_is_told(marker: str) -> None:
    with pytest.raises(ValueError, match=r"p\.md:2"):
        blocks(f"<!-- {marker} -->\n```sh\na\n```\n", "p.md")


def test_a_code_span_is_found_outside_of_blocks() -> None:
    assert inline_code("`a`\n```sh\n`b`\n```\nand `c d`\n") == [(1, "a"), (5, "c d")]
