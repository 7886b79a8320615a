"""The command `python -m hango.compaction.sessions upgrade|downgrade|current URL`."""

from __future__ import annotations

import argparse
import sys

from hango.compaction.sessions import DEFAULT_URL, SessionsFailed, SqlSessions


def main() -> int:
    """Runs the command. Exit status: 0 done, 1 the database cannot be used, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        prog="python -m hango.compaction.sessions",
        description="Migrates the table of the sessions: all the way up, one step down, or says where it is.",
    )
    parser.add_argument("command", choices=("upgrade", "downgrade", "current"))
    parser.add_argument("url", nargs="?", default=DEFAULT_URL, help=f"of the database; default {DEFAULT_URL}")
    parser.add_argument("--table", default="sessions", help="the table of the sessions; default sessions")
    parser.add_argument("--id-column", default="id", help="the column of their ids; default id")
    given = parser.parse_args()
    try:
        with SqlSessions.open(given.url, table=given.table, id_column=given.id_column) as store:
            if given.command == "upgrade":
                store.upgrade()
            elif given.command == "downgrade":
                store.downgrade()
            print(store.revision() or "no migration was run")  # noqa: T201 - what a command says
    except SessionsFailed as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - what a command says
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
