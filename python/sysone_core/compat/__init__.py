"""Doorways for other people's harnesses: the names that they import, served by ours.

A doorway may look into the worlds as well as the core; nothing of ours imports one.
"""
