"""How a command ends: the exit statuses, and the errors that lead to them."""

from __future__ import annotations

DONE = 0
NOT_SERVED = 1
WRONG_USAGE = 2
INTERRUPTED = 130  # as a shell says it of a program that SIGINT ended


class WrongUsage(Exception):
    """The command cannot be run as it was given; the message is for the one who typed it."""


class NotWritten(Exception):
    """A result could not be written; the message says which and why."""
