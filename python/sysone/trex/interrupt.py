"""A run that its user ended."""


class RunInterrupted(Exception):  # noqa: N818 - an interrupt is no error
    """The keyboard's interrupt, with what was kept of the run as its text."""
