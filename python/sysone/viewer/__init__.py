"""One viewer for all worlds: a local page, or one file, that shows what a run left behind."""
