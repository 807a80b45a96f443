"""The page: as files for the local server, or bundled into one file that works from disk.

The same modules serve both. A browser loads no modules from a file beside a page opened from
disk, so the bundle wraps each module into a function, in the order in which they need each other;
modules use named imports and exports alone.
"""

import base64
import gzip
import hashlib
import importlib.util
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from sysone.runs.errors import RunError
from sysone.viewer.document import Opened, encode

PAGE: Final = Path(__file__).parent / "page"
ENTRY: Final = "main"
MOST_FILE_BYTES: Final = 64 << 20
"""Of a self-contained file's data, packed: what a browser still opens without complaint."""
MOST_PICTURE_BYTES: Final = 16 << 20
"""Of a self-contained file's pictures: of more, every second is kept, or every fourth…"""

_IMPORT: Final = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?function |class |const |let )", re.MULTILINE)
_EXPORTED: Final = re.compile(
    r"^export (?:async )?(?:function\*?|class|const|let) (\w+)", re.MULTILINE
)

# 'unsafe-inline' is for styles alone: the chart library writes its own style sheet.
_POLICY: Final = (
    "default-src 'none'; script-src {scripts}; style-src {styles} 'unsafe-inline'; "
    "img-src {images} data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
)


def served_policy() -> str:
    """The content-security policy of the served page."""
    policy = _POLICY.format(scripts="'self'", styles="'self'", images="'self'", connect="'self'")
    return policy + "; frame-ancestors 'none'"


def served_page() -> str:
    """The page whose modules, data and charts are fetched from the server beside it."""
    return _shell(
        head='<link rel="stylesheet" href="page/style.css">',
        body='<script type="module" src="page/main.js"></script>',
    )


def page_file(name: str) -> Path | None:
    """A file of the page, if there is one of that name."""
    path = PAGE / name
    return (
        path if path.parent == PAGE and path.suffix in (".js", ".css") and path.is_file() else None
    )


def charts_library() -> Path | None:
    """The chart library's script, where the package that ships it is installed."""
    found = importlib.util.find_spec("plotly")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "package_data" / "plotly.min.js"
    return path if path.is_file() else None


def bundle() -> str:
    """All modules of the page as one script."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = (PAGE / f"{name}.js").read_text(encoding="utf-8")
        for _, other in _IMPORT.findall(text):
            add(other)
        exported = _EXPORTED.findall(text)
        text = _IMPORT.sub(lambda found: _taken(found[1], found[2]), text)
        text = _EXPORT.sub("", text)
        done[name] = (
            f"const module_{name} = (() => {{\n{text}\nreturn {{{', '.join(exported)}}};\n}})();\n"
        )

    add(ENTRY)
    return '"use strict";\n' + "".join(done.values())


def _taken(names: str, module: str) -> str:
    renamed = ", ".join(
        part.strip().replace(" as ", ": ") for part in names.split(",") if part.strip()
    )
    return f"const {{{renamed}}} = module_{module};\n"


def self_contained(opened: Opened) -> str:
    """One file with everything of what was opened: page, data, pictures and charts.

    Raises:
        RunError: a document cannot be made, or all together are too large.
    """
    packed: dict[str, dict[str, str]] = {"documents": {}, "more": {}}
    total = 0
    parts: dict[str, Mapping[str, Callable[[], Any]]]
    parts = {"documents": opened.documents, "more": opened.more}
    for kind, makers in parts.items():
        for name, make in makers.items():
            packed[kind][name] = _pack(encode(make()))
            total += len(packed[kind][name])
            if total > MOST_FILE_BYTES:
                raise RunError(
                    f"{opened.title} is larger than {MOST_FILE_BYTES >> 20} MiB as one file; "
                    "name one of its parts, or leave --html out"
                )
    script = bundle()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The chart library is unpacked by this script and loaded from a blob, which it may trust.
    policy = _POLICY.format(
        scripts=f"'sha256-{digest}' 'strict-dynamic' blob:",
        styles="'self'",
        images="'self'",
        connect="'none'",
    )
    style = (PAGE / "style.css").read_text(encoding="utf-8")
    library = charts_library()
    charts = _block("embedded-charts", _pack(library.read_bytes())) if library else ""
    embedded = {"first": opened.first, **packed, "pictures": _pictures(opened)}
    data = _block("embedded-data", _json(embedded))
    return _shell(
        head=f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<style>{style}</style>",
        body=f'{data}{charts}<script type="module">{script}</script>',
    )


def _pictures(opened: Opened) -> dict[str, str]:
    """Pictures in base64 by their names, as many as one file should hold, evenly left out."""
    named = [(name, path) for name in opened.pictures() if (path := opened.picture(name))]
    sizes = [path.stat().st_size for _, path in named]
    every = 1
    while sum(sizes[::every]) > MOST_PICTURE_BYTES:
        if every > len(sizes):
            return {}
        every *= 2
    return {name: base64.b64encode(path.read_bytes()).decode() for name, path in named[::every]}


def _json(value: Mapping[str, object]) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(value).replace("<", "\\u003c")


def _block(name: str, text: str) -> str:
    return f'<script type="text/plain" id="{name}">{text}</script>\n'


def _pack(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def _shell(head: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>sysone view</title>
<link rel="icon" href="data:,">
{head}
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
{body}
</body>
</html>
"""
