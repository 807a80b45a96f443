"""The site's parts that are ours: links between pages, the nav, the check of what was built."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    pytest.importorskip("mkdocs")
    return tool("hooks")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(
        '<h1 id="top">x</h1><a href="b/page.html#here">b</a><a href="https://example.org/x">e</a>'
    )
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "page.html").write_text(
        '<p id="here"><a href="../index.html#top">up</a><img src="../picture.png">'
    )
    (tmp_path / "picture.png").write_bytes(b"")
    return tmp_path


def test_a_whole_site_has_no_faults(site: Path) -> None:
    assert tool("check_site").faults(site) == []


@pytest.mark.parametrize(
    ("markup", "said"),
    [
        ('<a href="gone.html">', "gone.html is not there"),
        ('<a href="b/page.html#gone">', "b/page.html#gone has no place 'gone'"),
        ('<a href="#gone">', "#gone has no place 'gone'"),
        ('<a href="../index.html">', "../index.html is not there"),
        ('<a href="/b/page.html">', "/b/page.html is neither within the site nor an address"),
        ('<a href="https://">', "https:// is no address"),
        ('<a href="https://no_host/x">', "https://no_host/x is no address"),
        ('<a href="ftp://example.org">', "ftp://example.org is neither"),
        ('<img src="gone.png">', "gone.png is not there"),
        (
            '<script src="https://example.org/x.js">',
            "https://example.org/x.js comes from elsewhere",
        ),
        ('<script src="//example.org/x.js">', "//example.org/x.js comes from elsewhere"),
        ('<link rel="preconnect" href="https://example.org">', "comes from elsewhere"),
    ],
)
def test_a_fault_is_named(site: Path, markup: str, said: str) -> None:
    with (site / "index.html").open("a") as page:
        page.write(markup)
    (found,) = tool("check_site").faults(site)
    assert said in found


def test_a_style_that_loads_from_elsewhere_is_named(site: Path) -> None:
    (site / "x.css").write_text("a{b:url(data:x)} @font-face{src:url(https://example.org/f.woff2)}")
    (found,) = tool("check_site").faults(site)
    assert found == "x.css: https://example.org/f.woff2 comes from elsewhere"


def test_links_out_of_the_folder_lead_to_the_sites_own_pages(hooks: ModuleType) -> None:
    text = "[a](docs/arena.md#many-games) [b](bench/README.md) [c](https://example.org) `](d)`"
    assert hooks.relinked(text, "README.md") == (
        "[a](arena.md#many-games) [b](measuring.md) [c](https://example.org) `](d)`"
    )
    assert hooks.relinked("[n](../NOTICE)", "docs/arc.md") == "[n](notice.md)"
    assert hooks.relinked("[x](../examples/t_rex/)", "docs/trex.md") == (
        "[x](repository/examples/t_rex/README.md)"
    )
    assert hooks.relinked("[up](../trex.md)", "docs/api/index.md") == "[up](../trex.md)"


def test_code_is_no_link(hooks: ModuleType) -> None:
    text = "```python\nx = a[0](README.md)\n```\n"
    assert hooks.relinked(text, "CONTRIBUTING.md") == text


def test_pages_that_the_nav_leaves_out_are_found(hooks: ModuleType) -> None:
    everything = {"Guides": [{"T-Rex": "trex.md"}, {"ARC": ["arc.md", {"m": "arc-model.md"}]}]}
    left = hooks.unnamed([everything])
    assert not {"trex.md", "arc.md", "arc-model.md"} & set(left)
    assert "drive.md" in left


def test_shapes_in_docstrings_are_no_links() -> None:
    pytest.importorskip("griffe")
    as_markdown = tool("docstrings").as_markdown
    assert as_markdown("own[envs][side] of ``a[b][c]`` and `d[e][f]`") == (
        r"own[envs]\[side] of ``a[b][c]`` and `d[e][f]`"
    )


def test_numbers_of_benches_in_the_pages_are_those_of_the_results() -> None:
    tables = tool("bench_tables")
    known = tables.results(tables.RESULTS.read_text())
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    old = [
        page.name for page in pages if tables.filled(page.read_text(), known) != page.read_text()
    ]
    assert old == [], "run python tools/docs/bench_tables.py"


def test_a_bench_that_was_not_measured_is_told() -> None:
    with pytest.raises(ValueError, match=r"has no trex\.nothing"):
        tool("bench_tables").filled("<!-- bench: trex.nothing -->\n<!-- end of bench -->", {})


def test_the_picture_of_the_layers_is_what_its_program_draws() -> None:
    arrows = tool("arrows")
    assert arrows.PICTURE.read_text() == arrows.picture(), "run python tools/docs/arrows.py"
