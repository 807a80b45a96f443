"""Reads the built site: every link and anchor leads somewhere, and nothing comes from elsewhere.

Links within the site must name a file and an id that are there. Links to other hosts are checked
for their form alone, so that no network is needed. What a browser fetches by itself (scripts,
styles, pictures, fonts) must lie in the site.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {
    "img": ("src", "srcset"),
    "script": ("src",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
}
# Of <link>, what a browser loads; the rest (canonical, next) is told to it and not fetched.
LOADED_RELS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}
STYLE_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
HOST = re.compile(r"(localhost|\d+(\.\d+){3}|[a-z0-9-]+(\.[a-z0-9-]+)+)(:\d+)?$", re.IGNORECASE)


class Page(HTMLParser):
    """Links, fetched addresses and ids of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what a tag names."""
        values = {name: value for name, value in attrs if value is not None}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and LOADED_RELS & set(values.get("rel", "").split()):
            self.fetched.append(values.get("href", ""))
        self.fetched += [values[name] for name in FETCHED.get(tag, ()) if name in values]


def bad_link(link: str, page: Path, site: Path, pages: dict[Path, Page]) -> str | None:
    """What is wrong with a link, or None."""
    parts = urlsplit(link)
    if parts.scheme in ("http", "https"):
        return None if HOST.match(parts.netloc) else "is no address"
    if parts.scheme == "mailto":
        return None
    if parts.scheme or parts.netloc or parts.path.startswith("/"):
        return "is neither within the site nor an address"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file() or not target.is_relative_to(site):
        return "is not there"
    if parts.fragment and target in pages:
        ids = pages[target].ids
        if unquote(parts.fragment) not in ids and not parts.fragment.startswith(":~:"):
            return f"has no place {parts.fragment!r}"
    return None


def bad_fetch(address: str, page: Path, site: Path) -> str | None:
    """What is wrong with something that a browser loads by itself, or None."""
    parts = urlsplit(address)
    if parts.scheme == "data" or not address:
        return None
    if parts.scheme or parts.netloc:
        return "comes from elsewhere"
    target = (page.parent / unquote(parts.path)).resolve()
    return None if target.is_file() and target.is_relative_to(site) else "is not there"


def faults(site: Path) -> list[str]:
    """Everything that is wrong with the site, one line each."""
    site = site.resolve()
    # 404.html is served from any depth, so its addresses begin at the root.
    texts = {path: path.read_text() for path in site.rglob("*.html") if path.name != "404.html"}
    pages = {path: Page(text) for path, text in texts.items()}
    found = []
    for path, page in sorted(pages.items()):
        said = [(link, bad_link(link, path, site, pages)) for link in page.links]
        said += [(address, bad_fetch(address, path, site)) for address in page.fetched]
        found += [f"{path.relative_to(site)}: {what} {fault}" for what, fault in said if fault]
    for path in sorted(site.rglob("*.css")):
        urls = [match[1] or match[2] for match in STYLE_URL.finditer(path.read_text())]
        said = [(url, bad_fetch(url, path, site)) for url in urls if not url.startswith("#")]
        found += [f"{path.relative_to(site)}: {what} {fault}" for what, fault in said if fault]
    return found


def main() -> int:
    """Prints what is wrong; the exit code says whether anything is."""
    site = Path(sys.argv[1])
    if not (site / "index.html").is_file():
        print(f"{site} holds no site: run make docs", file=sys.stderr)
        return 2
    found = faults(site)
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
