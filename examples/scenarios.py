"""What the recorded agent does: three engineering tasks on this repository, and what its user says meanwhile.

The scripts look for files when they run instead of naming them, so they survive a repository that grows. `explore` is
long on purpose: the user sets rules, replaces one, leaves a question open and asks for new things on the way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from examples.agent import Agent, planning, reading, searching
from examples.agent_tools import readable

Item = TypeVar("Item")
Areas = dict[str, Sequence[tuple[str, ...]]]

LEAST_MESSAGES = 330
LEAST_CHARACTERS = 320_000
CODE_CHARACTERS = 170_000
TESTS_CHARACTERS = 50_000

PLAN = [
    "Read the contract under proto/",
    "Read the service, values first",
    "Check the layering of core",
    "Find public names that nothing uses",
    "Read and run some unit tests",
    "Write notes/report.md",
    "Check that every error reason is raised",
]

LINES = """\
import pathlib
from collections import Counter

lines = Counter()
for path in sorted(pathlib.Path("service/compactor").rglob("*.py")):
    lines[path.relative_to("service/compactor").parts[0]] += len(path.read_text().splitlines())
for name, count in lines.most_common():
    print(f"{count:5d} {name}")
print(sum(lines.values()), "lines in all")"""

LAYERING = """\
import ast, pathlib, sys

ALLOWED = {"core", "model", "policy", "errors"}
FORBIDDEN = {"grpc", "asyncio", "os", "pathlib", "logging", "time", "random"}
for path in sorted(pathlib.Path("service/compactor/core").rglob("*.py")):
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    outside = {n for n in names if n.split(".")[0] not in sys.stdlib_module_names | {"compactor"}}
    inside = {n.split(".")[1] for n in names if n.startswith("compactor.")} - ALLOWED
    print(path, "| outside:", sorted(outside) or "-", "| other modules:", sorted(inside) or "-",
          "| forbidden:", sorted({n.split(".")[0] for n in names} & FORBIDDEN) or "-")"""


def short(agent: Agent) -> None:
    """A question about the dependencies; about a dozen messages."""
    agent.hears("Which packages does the service need at run time, and where is each of them imported? Keep it brief.")
    agent.does("I'll look at the project file first.", reading("pyproject.toml"), ("list_files", {"path": "service"}))
    agent.does("Now the imports.", searching(r"^(?:import|from) (?!compactor|__future__)\w+", "service"))
    agent.does("", searching(r"\bmsgspec\.\w+", "service", max_results=15), reading("requirements.txt"))
    agent.does(
        "The list stands in pyproject.toml under `dependencies`, with a reason for each. There is no requirements.txt; "
        "pyproject.toml is the only place."
    )
    agent.hears("Fine. How large is the service by now?")
    agent.does("", ("run_python", {"code": LINES}))
    agent.does("Those are the lines by package, comments included.")
    agent.hears("And is there a limit on the size of a request? Give me the file and the line.")


def parallel(agent: Agent) -> None:
    """A survey in wide batches: every field of the contract, where the code reads it."""
    agent.hears(
        "Make me an overview of the contract. For every message in proto/ I want to know where the service touches it. "
        "Work in batches, you need not explain each step. Ticket: COMP-231. Never edit anything under proto/."
    )
    protos = _files(agent, "proto/", ".proto")
    agent.does("", ("list_files", {"path": "proto"}), *(reading(path, limit=150) for path in protos[:4]))
    messages = [name for path in protos for name in _declared(_source(agent, path))]
    for at, batch in enumerate(_batches(messages, 5)):
        agent.does(
            f"Batch {at + 1}: {', '.join(batch)}.", *(searching(rf"\b{name}\b", max_results=12) for name in batch)
        )
        if at == 3:
            agent.hears("Leave generated code out from here on: only service/ and tests/ matter to me.")
            break
    for at, batch in enumerate(_batches(messages[20:60], 6)):
        agent.does("", *(searching(rf"\b{name}\b", "service", max_results=12) for name in batch))
        if at == 2:
            agent.does(
                "One more look, at files this time.",
                *(reading(path, limit=80) for path in _files(agent, "service/compactor/", ".py")[:6]),
                reading("service/compactor/contract.py"),
            )
    agent.does("That covers the messages. service/compactor/contract.py does not exist; I had guessed the name.")
    agent.hears("Good. Now the same for the fields of Policy, please, six at a time.")
    policy = next((path for path in protos if path.endswith("/policy.proto")), protos[0])
    fields = re.findall(r"^  (?:optional |repeated )?[\w.]+ (\w+) = \d+", _source(agent, policy), re.MULTILINE)
    for batch in _batches(fields, 6):
        agent.does("", *(searching(rf"\b{name}\b", "service", max_results=10) for name in batch))


def explore(agent: Agent) -> None:
    """A first tour of the whole service with a report at its end; some hundred messages."""
    agent.hears(
        "Please get to know the compaction service in this repository, check its rules, and write me a report.\n\n"
        "These hold for the whole session:\n"
        "- Always answer in British English.\n"
        "- Never edit files under proto/ without asking me first.\n"
        "- Report paths relative to the root of the repository.\n"
        "- Read at most 200 lines at once.\n"
        "- Do not repair anything you find, only note it.\n\n"
        "The ticket is COMP-214; it belongs in the first line of the report, notes/report.md. Start with the contract."
    )
    agent.does("I'll make a plan and look around.", planning(PLAN, 0), ("list_files", {}))
    agent.does("", reading("README.md"), reading("pyproject.toml"))
    _read_contract(agent)
    _read_code(agent)
    areas: Areas = {
        "Layering": [("core", _check_layering(agent))],
        "Names without a user elsewhere": [tuple(name.split(": ")) for name in _find_unused(agent)[:20]],
        "Tests": _run_tests(agent),
        "Open questions": [("Ines", "Is a record still valid when the caller changes its tools between two turns?")],
    }
    _report(agent, areas)


def _read_contract(agent: Agent) -> None:
    agent.does("The contract next.", reading("proto/compaction.proto"), ("list_files", {"path": "proto"}))
    agent.does("That was the wrong folder; the files lie in a folder for the package and its version.")
    agent.hears("Yes, go on with those.")
    _walk(agent, _files(agent, "proto/", ".proto"), limit=200, characters=60_000)
    agent.hears("A question in between: which notices can a response carry? The names will do.")
    (found,) = agent.does("", searching(r"NOTICE_CODE_\w+ = \d+", "proto"))
    names = re.findall(r"NOTICE_CODE_(\w+) = ", found.text)
    agent.does(f"{len(names)}, the unspecified one included: {', '.join(names)}.")


def _read_code(agent: Agent) -> None:
    agent.hears("Thank you. Now the service itself: the values first, then the formats, the core, and the rest.")
    agent.does("", planning(PLAN, 1), ("list_files", {"path": "service"}), ("run_python", {"code": LINES}))
    files = _files(agent, "service/compactor/", ".py")
    order = ["service/compactor/formats/", "service/compactor/core/"]
    values = [path for path in files if path.count("/") == 2]
    inner = [path for start in order for path in files if path.startswith(start)]
    rest = [path for path in files if path not in {*values, *inner}]
    _walk(agent, values, limit=200, characters=CODE_CHARACTERS // 3)
    agent.hears(
        "From now on read at most 120 lines at once instead of 200; I cannot follow along otherwise. "
        "The other rules stay as they are."
    )
    _walk(agent, inner, limit=120, characters=CODE_CHARACTERS // 2)
    agent.hears(
        "I noticed something I cannot answer myself: is a record still valid when the caller changes its tools between "
        "two turns? Don't guess. Keep the question open for Ines, and list it under 'Open questions' in the report."
    )
    agent.does("I'll leave it open and list it for Ines under 'Open questions'.")
    agent.hears("Good, carry on.")
    _walk(agent, rest, limit=120, characters=CODE_CHARACTERS // 6)


def _check_layering(agent: Agent) -> str:
    agent.hears("Now check the layering: core must not import grpc, asyncio, os, logging, time or random. Only report.")
    agent.does("", planning(PLAN, 2), searching(r"^\s*(?:from|import) ", "service/compactor/core", max_results=120))
    agent.does(
        "I'll count it by program.", ("run_python", {"code": "import compactor.layers\nprint(compactor.layers)"})
    )
    (checked,) = agent.does(
        "There is no such module to ask. I'll read the imports from the source instead.",
        ("run_python", {"code": LAYERING}),
    )
    broken = [line for line in checked.text.splitlines() if not line.endswith("forbidden: -")]
    verdict = f"{len(broken)} modules import something forbidden" if broken else "no module imports anything forbidden"
    verdict = f"{len(checked.text.splitlines())} modules of core looked at, {verdict}"
    agent.does(f"{verdict}. Nothing was changed.")
    return verdict


def _find_unused(agent: Agent) -> list[str]:
    agent.hears(
        "Next, look for public names that nothing uses besides the module that defines them. Tests do not count as "
        "use. Two names in one batch are enough."
    )
    agent.does("", planning(PLAN, 3))
    unused: list[str] = []
    for at, batch in enumerate(_batches(list(_public_names(agent)), 2)):
        if agent.message_count >= LEAST_MESSAGES and agent.size >= LEAST_CHARACTERS - TESTS_CHARACTERS:
            break
        answers = agent.does(
            "" if len(unused) % 2 else f"{', '.join(name for _, name in batch)}:",
            *(searching(rf"\b{name}\b", "service", max_results=15) for _, name in batch),
        )
        for (path, name), answer in zip(batch, answers, strict=True):
            users = {line.split(":")[0] for line in answer.text.splitlines()[1:]} - {path}
            unused += [] if users or "first 15" in answer.text else [f"{path}: {name}"]
        if at == 2:
            agent.hears("One remark while you are at it: what only the command line uses counts as used.")
    agent.does(f"{len(unused)} names without a user elsewhere:\n" + "\n".join(f"- {name}" for name in unused))
    return unused


def _run_tests(agent: Agent) -> list[tuple[str, str]]:
    agent.hears(
        "Some of these may be used by tests. Read a few unit tests and run them, three files at most in one batch."
    )
    agent.does(
        "", planning(PLAN, 4), ("list_files", {"path": "tests"}), ("run_tests", {"path": "tests/unit/test_all.py"})
    )
    files = [path for path in _files(agent, "tests/unit/", ".py") if "/test_" in path and "examples" not in path]
    _walk(agent, files[:12], limit=120, characters=TESTS_CHARACTERS)
    agent.hears("Enough read. Run them.")
    outcomes: list[tuple[str, str]] = []
    for batch in _batches(files[:9], 3):
        answers = agent.does("", *(("run_tests", {"path": path}) for path in batch))
        failed = [path for path, answer in zip(batch, answers, strict=True) if answer.is_error]
        outcomes += [(path, "fails" if path in failed else "passes") for path in batch]
        said = f"Failing: {', '.join(failed)}." if failed else "These pass."
        agent.does(said, planning(PLAN, 4))
    return outcomes


def _report(agent: Agent, areas: Areas) -> None:
    agent.hears(
        "I changed my mind about the report: a table for each area instead of prose, and no more than 80 lines. "
        "Dates as 2026-12-01. Write it now."
    )
    modules = [(path, len(_source(agent, path).splitlines())) for path in _files(agent, "service/compactor/", ".py")]
    largest = sorted(modules, key=lambda row: -row[1])[:15]
    tables: Areas = {"Largest modules, in lines": [(path, str(lines)) for path, lines in largest]} | areas
    report = "# COMP-214: tour of the compaction service, 2026-12-01\n" + "".join(
        f"\n## {area}\n\n| where | what |\n| --- | --- |\n" + "".join(f"| {where} | {what} |\n" for where, what in rows)
        for area, rows in tables.items()
    )
    agent.does("", planning(PLAN, 5), ("write_file", {"path": "docs/report.md", "content": report}))
    agent.does(
        "Only notes/ may be written, as you said.", ("write_file", {"path": "notes/report.md", "content": report})
    )
    agent.does("I'll read it once more as it stands.", reading("notes/report.md", limit=120))
    agent.does(f"The report is in notes/report.md, {len(report.splitlines())} lines. The question for Ines is in it.")
    agent.hears(
        "Thanks. Last thing for today: is each error reason of the contract raised somewhere? Start with errors."
    )
    errors = [path for path in _files(agent, "service/compactor/", ".py") if path.endswith("errors.py")]
    agent.does("", planning(PLAN, 6), searching(r"REASON_\w+ = \d+", "proto"), *(reading(p, limit=120) for p in errors))
    agent.does("", searching(r"\braise \w+", "service", max_results=60), searching(r"REASON_\w+", "service"))


def _walk(agent: Agent, paths: Sequence[str], *, limit: int, characters: int) -> None:
    """Reads files from start to end, and says what each is, until so many characters are read."""
    stop, said = agent.size + characters, ""
    for at, path in enumerate(paths):
        if agent.size > stop:
            agent.does(
                f"{said}\n\nI leave {len(paths) - at} more files here for later: {', '.join(paths[at : at + 8])}."
            )
            return
        offset: int | None = 1
        while offset:
            (answer,) = agent.does(said, reading(path, offset, limit))
            more = re.search(r"continue with offset (\d+)\)$", answer.text)
            offset, said = (int(more[1]), "") if more else (None, _about(agent, path))
    if said:
        agent.does(said)


def _about(agent: Agent, path: str) -> str:
    """What an attentive reader would note about a file."""
    source = _source(agent, path)
    names = list(_declared(source)) if path.endswith(".proto") else [name for name, _ in _definitions(source)]
    purpose = re.match(r'"""(.+?)(?:\.\s|\.?"""|\n)', source)
    defines = f" It defines {', '.join(names[:12])}." if names else ""
    return f"{path}, {len(source.splitlines())} lines" + (f": {purpose[1]}." if purpose else ".") + defines


def _files(agent: Agent, start: str, end: str) -> list[str]:
    """Readable files with something in them."""
    return [
        p for p in readable(agent.desk.root) if p.startswith(start) and p.endswith(end) and _source(agent, p).strip()
    ]


def _source(agent: Agent, path: str) -> str:
    file = agent.desk.root / path
    return file.read_text() if file.exists() else ""


def _declared(proto: str) -> Iterator[str]:
    yield from re.findall(r"^(?:message|enum) (\w+)", proto, re.MULTILINE)


def _definitions(source: str) -> Iterator[tuple[str, int]]:
    """Public classes and functions at the top of a module, with their lines; none while it does not parse."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node.name, node.lineno


def _public_names(agent: Agent) -> Iterator[tuple[str, str]]:
    for path in _files(agent, "service/compactor/", ".py"):
        yield from ((path, name) for name, _ in _definitions(_source(agent, path)))


def _batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
