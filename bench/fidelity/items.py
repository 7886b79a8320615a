"""What is planted into a session: things that a person or a tool says once, in plain words, and that have to last.

Each has a value that stands nowhere else, so that it can be looked for. Some are taken back later in other words, by a
sentence that does not repeat the old value: then the new value has to be there and the old one should be gone.
"""

from __future__ import annotations

from dataclasses import dataclass

INSTRUCTION, CONSTRAINT, FACT, RESULT, GOAL, PREFERENCE = (
    "instruction",
    "constraint",
    "fact by the user",
    "fact in a result",
    "goal",
    "preference",
)
KINDS = (INSTRUCTION, CONSTRAINT, FACT, RESULT, GOAL, PREFERENCE)


@dataclass(frozen=True, slots=True)
class Item:
    """A thing to remember: what it is about, how it is said, and the value in it.

    `update` and `new` are how it is taken back and its value from then on; both empty where it is not. `command` is
    what the assistant ran where a tool's result says it.
    """

    kind: str
    topic: str
    text: str
    value: str
    update: str = ""
    new: str = ""
    command: str = ""


ITEMS = (
    Item(
        INSTRUCTION,
        "who signs off commits",
        "From now on, sign off every commit with Reviewed-by: Tamsin Okafor, the auditors look for it.",
        "Tamsin Okafor",
        "About the commits again: as of today it is Priya Venkataraman who signs them off.",
        "Priya Venkataraman",
    ),
    Item(
        INSTRUCTION,
        "before saying done",
        "Always run make verify-all before you tell me that something is finished.",
        "make verify-all",
    ),
    Item(
        INSTRUCTION,
        "log lines",
        "Please write every log line as event=NAME duration_ms=N, never as prose.",
        "duration_ms=N",
    ),
    Item(
        INSTRUCTION,
        "migrations",
        "Whenever you add a migration, give it the prefix V2031_ and leave the old ones alone.",
        "V2031_",
    ),
    Item(
        INSTRUCTION,
        "protected branch",
        "Never push straight to release/kingfisher; open a pull request instead.",
        "release/kingfisher",
    ),
    Item(
        INSTRUCTION,
        "where new tests go",
        "New tests go under tests/acceptance/harbour, not next to the code.",
        "tests/acceptance/harbour",
        "We have moved the acceptance tests, so put new ones under checks/quayside.",
        "checks/quayside",
    ),
    Item(
        INSTRUCTION,
        "docstrings",
        "Docstrings follow the Numpydoc conventions here.",
        "Numpydoc",
        "For docstrings we have settled on Epytext markup after all.",
        "Epytext",
    ),
    Item(INSTRUCTION, "slow commands", "If a command takes longer than 95 seconds, stop it and tell me.", "95 seconds"),
    Item(
        CONSTRAINT,
        "untouchable folder",
        "Don't touch anything under billing/ledger_v2, the auditors are in there.",
        "billing/ledger_v2",
    ),
    Item(
        CONSTRAINT,
        "size of the image",
        "The image has to stay under 340 MB, the device holds no more.",
        "340 MB",
        "They are building in larger flash, so the image may grow to 487 MB.",
        "487 MB",
    ),
    Item(CONSTRAINT, "licences", "We can't take in anything under the GPLv3, legal was clear about that.", "GPLv3"),
    Item(
        CONSTRAINT,
        "oldest interpreter",
        "It must keep working on Python 3.8.19, one customer cannot upgrade.",
        "3.8.19",
        "Good news, that customer upgraded: the oldest interpreter that we support is 3.10.14 now.",
        "3.10.14",
    ),
    Item(
        CONSTRAINT,
        "network in tests",
        "No network calls in unit tests, except to the fake at fake-idp.local.",
        "fake-idp.local",
    ),
    Item(
        CONSTRAINT,
        "frozen table",
        "Whatever happens, the table customer_pledges stays the way it is.",
        "customer_pledges",
    ),
    Item(
        CONSTRAINT,
        "parallel workers",
        "The database takes at most 6 parallel workers from us.",
        "6 parallel workers",
        "They raised the pool for us, you may go up to 11 parallel workers.",
        "11 parallel workers",
    ),
    Item(CONSTRAINT, "deadline", "We have until 14 March for this, then the freeze starts.", "14 March"),
    Item(
        FACT,
        "staging host",
        "The staging box is heron-17.internal, by the way.",
        "heron-17.internal",
        "Ops rebuilt staging last night; it is stork-04.internal that you want.",
        "stork-04.internal",
    ),
    Item(FACT, "ticket", "The ticket for all this is PLAT-48213.", "PLAT-48213"),
    Item(FACT, "test account", "The account that we test with is acct_9f31KQ7.", "acct_9f31KQ7"),
    Item(
        FACT,
        "owner of the schema",
        "Marguerite Oduya owns the schema, she knows what the columns mean.",
        "Marguerite Oduya",
    ),
    Item(FACT, "flag", "The flag is called enable_tidal_cache and it is off in production.", "enable_tidal_cache"),
    Item(
        FACT,
        "port",
        "Over there the service listens on port 48117.",
        "48117",
        "We had to move the port, the service answers on 48923 since this morning.",
        "48923",
    ),
    Item(FACT, "contract", "Their contract number is CN-2291-880.", "CN-2291-880"),
    Item(
        FACT,
        "last good build",
        "The last build that was fine is 5d07be94c1.",
        "5d07be94c1",
        "I checked again: the newest build without the fault is a83f6610d7.",
        "a83f6610d7",
    ),
    Item(
        RESULT,
        "deployment",
        "deployment lantern-7f3c finished, 214 pods ready",
        "lantern-7f3c",
        command="cat deploy/status.txt",
    ),
    Item(
        RESULT,
        "held order",
        '{"order": "ORD-88213-QX", "state": "held", "reason": "address"}',
        "ORD-88213-QX",
        command="curl -s localhost:9100/orders/held",
    ),
    Item(
        RESULT,
        "commit that broke it",
        "b7719e02f4 is the first bad commit",
        "b7719e02f4",
        command="git bisect run ./check.sh",
    ),
    Item(
        RESULT,
        "violated constraint",
        'ERROR:  update on table "donors" violates foreign key constraint "fk_pledge_donor_2"',
        "fk_pledge_donor_2",
        command="psql -f fix.sql",
    ),
    Item(
        RESULT,
        "latency",
        "p99 latency: 187.4 ms over 50000 requests",
        "187.4 ms",
        "p99 latency: 142.9 ms over 50000 requests",
        "142.9 ms",
        command="make loadtest",
    ),
    Item(
        RESULT,
        "running version",
        "image: registry.example/quotes:2024.11.3-rc7",
        "2024.11.3-rc7",
        "image: registry.example/quotes:2024.12.0-rc2",
        "2024.12.0-rc2",
        command="kubectl get deploy quotes -o yaml",
    ),
    Item(
        RESULT,
        "report",
        "wrote reports/q3-variance-final.parquet",
        "reports/q3-variance-final.parquet",
        command="python -m reporting.variance",
    ),
    Item(
        RESULT,
        "error code",
        "E7734: the quota of bucket saffron is used up",
        "E7734",
        command="bucketctl push out/",
    ),
    Item(GOAL, "latency wanted", "What we are after in the end is a p95 of /v2/quotes below 183 ms.", "183 ms"),
    Item(
        GOAL,
        "who it is for",
        "The whole point is that Lindqvist and Sons can import their rows without us.",
        "Lindqvist",
    ),
    Item(
        GOAL,
        "coverage wanted",
        "By the end of this I want the coverage of the matcher at 87.5 %.",
        "87.5 %",
        "For the matcher let us aim higher, I would like to see 93.5 % covered.",
        "93.5 %",
    ),
    Item(GOAL, "what to retire", "The goal is to retire the old gateway, the one called Basilisk.", "Basilisk"),
    Item(GOAL, "demo", "Once it works we want to show it at the meetup in Utrecht.", "Utrecht"),
    Item(
        PREFERENCE,
        "form of summaries",
        "I like my summaries short, three bullet points are plenty.",
        "three bullet points",
        "When you sum up, I would rather get one small table than points.",
        "one small table",
    ),
    Item(PREFERENCE, "spelling", "I would rather have British spelling in the docs.", "British spelling"),
    Item(PREFERENCE, "name", "Call me Wren, everybody does.", "Wren"),
    Item(
        PREFERENCE,
        "colours of plots",
        "I am fond of the Solarized colours for the plots.",
        "Solarized",
        "Do the plots in Viridis, it prints better.",
        "Viridis",
    ),
    Item(
        PREFERENCE, "http library", "Where there is a choice I like niquests better than the usual library.", "niquests"
    ),
)

SMALL_TALK = (
    "Looks good so far.",
    "Thanks, go on.",
    "Right, that is what I thought.",
    "I had a look at it just now.",
    "Fine with me.",
    "One thing before you go on.",
    "Sorry for interrupting.",
)
"""What people say around it."""
