"""Hooks of mkdocs: the repository's own pages in the site, and links that lead there.

Pages link to each other as they lie in the repository, so that they can be read there. README,
CONTRIBUTING, the benchmarks and the like are pages of the site, too; any other file that a page
links to is copied beside them, so that the site is whole without a repository's address.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

log = get_plugin_logger("docs")
ROOT = Path(__file__).parents[2]
DOCS = "docs/"
# File of the repository to page of the site.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "NOTICE": "notice.md",
    "bench/NOTES.md": "bench-notes.md",
    "bench/README.md": "measuring.md",
    "bench/RESULTS.md": "benchmarks.md",
}
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^(```+|~~~+).*?^\1[ ]*$", re.DOTALL | re.MULTILINE)


def in_repository(site_path: str) -> str:
    """The file of the repository that a page of the site is made of."""
    back = {page: file for file, page in PAGES.items()}
    if site_path in back:
        return back[site_path]
    if site_path.startswith("repository/"):
        return site_path.removeprefix("repository/")
    return DOCS + site_path


def in_site(file: str) -> str:
    """Where a file of the repository is found in the site."""
    if file in PAGES:
        return PAGES[file]
    if file.startswith(DOCS):
        return file.removeprefix(DOCS)
    return f"repository/{file}"


def linked(text: str, source: str) -> dict[str, str]:
    """Relative link targets of a page outside code, and the files of the repository they name."""
    found = {}
    for _, target, _, _ in LINK.findall(FENCE.sub("", text)):
        if "://" in target or target.startswith(("mailto:", "/")):
            continue
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if (ROOT / file).is_dir():
            file = posixpath.join(file, "README.md")
        if not file.startswith("..") and (ROOT / file).is_file():
            found[target] = file
    return found


def relinked(text: str, source: str) -> str:
    """A page's text with its links as they are in the site."""
    files = linked(text, source)
    here = posixpath.dirname(in_site(source))

    def link(match: re.Match[str]) -> str:
        opening, target, anchor, closing = match.groups()
        if target in files:
            target = posixpath.relpath(in_site(files[target]), here or ".")
        return f"{opening}{target}{anchor or ''}{closing}"

    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(link, text[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*parts, LINK.sub(link, text[end:])])


def page_text(file: str) -> str:
    """The Markdown of one file of the repository; plain text is shown as it stands."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.endswith(".md"):
        return text
    return f"# {Path(file).name}\n\n```text\n{text}\n```\n"


def named(nav: list[Any]) -> set[str]:
    """The pages of a nav, whatever their depth."""
    pages: set[str] = set()
    for item in nav:
        for value in item.values() if isinstance(item, dict) else [item]:
            pages |= named(value) if isinstance(value, list) else {value}
    return pages


def unnamed(nav: list[Any]) -> list[str]:
    """Pages in docs/ that a nav leaves out."""
    pages = {path.relative_to(ROOT / DOCS).as_posix() for path in (ROOT / DOCS).rglob("*.md")}
    return sorted(pages - named(nav))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts pages that nobody gave a place under "More", and says so."""
    left = unnamed(config.nav or [])
    if left:
        log.info("put under More, as nav of mkdocs.yml does not name them: %s", ", ".join(left))
        config.nav = [*(config.nav or []), {"More": left}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what lies outside docs/: the pages above, and whatever any page links to."""
    waiting = list(PAGES)
    waiting += [f"{DOCS}{file.src_uri}" for file in files if file.src_uri.endswith(".md")]
    seen = set(waiting)
    while waiting:
        source = waiting.pop()
        page = source.endswith(".md") or source in PAGES
        if not source.startswith(DOCS):
            where = in_site(source)
            if page:
                files.append(File.generated(config, where, content=page_text(source)))
            else:
                files.append(File.generated(config, where, abs_src_path=str(ROOT / source)))
        if page:
            found = linked((ROOT / source).read_text(encoding="utf-8"), source).values()
            waiting += [file for file in found if file not in seen]
            seen.update(found)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links of one page as they are in the site."""
    return relinked(markdown, in_repository(page.file.src_uri))
