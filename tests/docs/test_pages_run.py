"""Every page's commands and scripts, copied as they stand (`make docs-commands`)."""

import json
import os
from pathlib import Path

import pytest

from docs.pages import ROOT, pages
from docs.running import has_commands, run_page

if not os.environ.get("SYSONE_DOCS_COMMANDS"):
    pytest.skip("runs every page's commands: make docs-commands", allow_module_level=True)

LOG = ROOT / "build" / "docs-commands"


@pytest.mark.timeout(2000)
@pytest.mark.parametrize("page", [page for page in pages() if has_commands(page)])
def test_a_page_runs_as_it_stands(page: str, tmp_path: Path) -> None:
    outcome = run_page(page, tmp_path)
    LOG.mkdir(parents=True, exist_ok=True)
    told = {"seconds": outcome.seconds, "left_out": outcome.skipped}
    (LOG / f"{page.replace('/', '_')}.json").write_text(json.dumps(told, indent=1))
    assert outcome.status == 0, f"{outcome.at} failed:\n{outcome.output[-4000:]}"
