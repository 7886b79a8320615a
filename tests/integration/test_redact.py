"""`redact` over a real socket: wherever a credential hides, it is in nothing that leaves but the kept part, which comes
back byte for byte; what the work needs stays, and a server that starts keeps nobody waiting.
"""

from __future__ import annotations

import base64
import json
import re
import signal
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import grpc
import pytest

from hango.compaction import Client, CompactionError, CompactResult
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import compaction_service_pb2_grpc as pb_grpc
from hango.compaction.v1 import policy_pb2
from tests.builders import credentials
from tests.builders.provider import Provider, failure, text
from tests.builders.receiver import Receiver
from tests.integration.conftest import Server, StartServer, running

SHOWN = credentials.shown()
TOKEN = SHOWN["github ghp_"].secrets[0]
KEY = SHOWN["private key RSA"]
PASSWORD = "Tr0ub4dor&3xyz"  # noqa: S105 - a famous one
IN_REPLY = SHOWN["npm"].secrets[0]
FILLER = "alpha bravo charlie delta echo foxtrot golf hotel "
SUMMARY = "The loader was read and the parser rewritten; the tests of the reader still fail. Next: look at rows.py."
POLICY = {"max_input_tokens": 60_000, "reserve_output_tokens": 0, "keep_message_count": 2, "token_counter": "HEURISTIC"}
MILLION = FILLER * 10_000

Message = dict[str, Any]


def said(*blocks: str) -> list[Message]:
    content = [{"type": "text", "text": block} for block in blocks]
    return [{"role": "assistant", "content": "Go on?"}, {"role": "user", "content": content}]


def used(given: dict[str, Any], *results: str, name: str = "run") -> list[Message]:
    call = {"type": "tool_use", "id": "toolu_9", "name": name, "input": given}
    blocks = [{"type": "text", "text": result} for result in results]
    result = {"type": "tool_result", "tool_use_id": "toolu_9", "content": blocks}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def encoded(words: str) -> str:
    return base64.b64encode(words.encode()).decode()


LINES = KEY.text.splitlines(keepends=True)
HIDDEN: dict[str, tuple[list[Message], tuple[str, ...]]] = {
    "two blocks of a message": (said(f"use {TOKEN[:17]}", f"{TOKEN[17:]} for it"), (TOKEN[:17], TOKEN[17:])),
    "two blocks of a result": (used({"n": 1}, f"x {TOKEN[:25]}", f"{TOKEN[25:]} y"), (TOKEN[:25], TOKEN[25:])),
    "name and value in two blocks": (said("The password is: ", f"{PASSWORD} as ever"), (PASSWORD,)),
    "a key in two blocks": (used({"n": 1}, "".join(LINES[:6]), "".join(LINES[6:])), KEY.secrets),
    "a key in two reads": (
        used({"path": "k"}, "".join(LINES[:6])) + used({"path": "k", "from": 7}, "".join(LINES[6:])),
        KEY.secrets,
    ),
    "an argument": (used({"command": f"curl -H 'Authorization: Bearer {TOKEN}' x"}, "200"), (TOKEN,)),
    "an argument with escapes": (
        used({"content": f'a = "1"\n\tpassword = "{PASSWORD}"\n# \\ end\n{KEY.text}'}, "ok"),
        (PASSWORD, *KEY.secrets),
    ),
    "JSON in an argument": (used({"body": json.dumps({"a": "\n", "password": PASSWORD})}, "ok"), (PASSWORD,)),
    "JSON in JSON in a result": (used({"n": 1}, json.dumps(json.dumps({"password": PASSWORD}))), (PASSWORD,)),
    "base64 of the token": (used({"n": 1}, encoded(f"token {TOKEN}")), (encoded(f"token {TOKEN}")[8:60], TOKEN)),
    "base64 of a file": (said(f"echo {encoded(f'A=1{chr(10)}DB_PASSWORD={PASSWORD}')}"), (encoded(PASSWORD)[:12],)),
    "base64 of what was said before": (
        said(f"API_KEY={TOKEN[4:]}", encoded(f"u:{TOKEN[4:]}")),
        (TOKEN[4:], encoded(f"u:{TOKEN[4:]}")[4:40]),
    ),
    "a URL": (said(f"see postgres://app:{PASSWORD.replace('&', '%26')}@db/app"), (PASSWORD.replace("&", "%26"),)),
    "a URL's query": (used({"url": f"https://a.example/?access_token={TOKEN}&page=2"}, "ok"), (TOKEN,)),
    "a key of many lines": (used({"path": "id_rsa"}, KEY.text), KEY.secrets),
    "a key with line numbers": (used({"n": 1}, "".join(f"{n:6}→{line}" for n, line in enumerate(LINES))), KEY.secrets),
    "the middle of a megabyte": (said(f"{MILLION}password={PASSWORD} {TOKEN} {MILLION}"), (PASSWORD, TOKEN)),
    "a path": (used({"path": f"/srv/{TOKEN}/loader.py"}, "ok", name="write_file"), (TOKEN,)),
    "an identifier": (said(f"The run is RUN-4711-{TOKEN}; keep RUN-4711-{TOKEN} in mind."), (TOKEN,)),
    "an instruction": (said(f"Always pass --token {TOKEN} to the tool. Never use another one than {TOKEN}."), (TOKEN,)),
    "twice, once with its name": (
        said(f"DB_PASSWORD={PASSWORD}") + said(f"It refuses <{PASSWORD}>, says psql") + said(f"[{PASSWORD}]"),
        (PASSWORD,),
    ),
    "once before it is named": (said(f"try {PASSWORD} now") + said(f"DB_PASSWORD={PASSWORD}"), (PASSWORD,)),
    "a cookie": (used({"n": 1}, f"Set-Cookie: sid={TOKEN[4:]}; HttpOnly"), (TOKEN[4:],)),
    "a plan": (
        used({"todos": [{"content": f"Log in with {TOKEN}", "status": "pending"}]}, "ok", name="TodoWrite"),
        (TOKEN,),
    ),
    "a question": ([*said("Go on."), {"role": "assistant", "content": f"Shall I deploy with {TOKEN}?"}], (TOKEN,)),
}


class Watched:
    """A server with a model to ask, whose telemetry goes to a receiver."""

    def __init__(self, server: Server, client: Client, provider: Provider, receiver: Receiver) -> None:
        self.server, self.client, self.provider, self.receiver = server, client, provider, receiver

    def told(self, session: str) -> str:
        """All that left but the answer: what the model was sent, the history with its notes, logs and telemetry."""
        asked = json.dumps([seen.body for seen in self.provider.seen], ensure_ascii=False)
        telemetry = b"".join(data for _, _, data in self.receiver.sent).decode(errors="replace")
        return "\n".join((asked, self.history(session), self.server.log.read_text(), telemetry))

    def history(self, session: str) -> str:
        """A history with what is packed in it."""
        path = self.server.history_root / "conversation_history" / f"{session}.md"
        kept = path.read_text() if path.exists() else ""
        notes = re.findall(r"<!-- hango:summary (\S+) -->", kept)
        return kept + "\n".join(zlib.decompress(base64.b64decode(note)).decode() for note in notes)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with Provider(text(SUMMARY)) as provider, Receiver() as receiver:
        variables = {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": provider.url,
            "HANGO_SUMMARIZER_MODEL": "claude-haiku-4-5",
            "HANGO_LOG_FORMAT": "json",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.grpc_url,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            "OTEL_METRIC_EXPORT_INTERVAL": "200",
        }
        with (
            running(tmp_path_factory.mktemp("redact"), None, variables) as server,
            Client.connect(server.target, timeout=60) as client,
        ):
            yield Watched(server, client, provider, receiver)


def body(middle: list[Message], last: str = "Go on.") -> dict[str, Any]:
    """A request in whose evicted part the messages stand."""
    before = [{"role": "user", "content": "Mend the loader in src/loader.py for COMP-4711."}]
    before += [{"role": role, "content": FILLER * 20} for _ in range(4) for role in ("assistant", "user")]
    after = [{"role": role, "content": FILLER * 20} for _ in range(4) for role in ("assistant", "user")]
    kept = [{"role": "assistant", "content": "Now?"}, {"role": "user", "content": last}]
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("run", "write_file", "TodoWrite")]
    known = {"model": "claude-opus-5", "max_tokens": 100, "tools": tools}
    gap = [] if middle[-1]["role"] == "user" else [{"role": "user", "content": "Well."}]
    return {**known, "messages": [*before, *middle, *gap, *after, *kept]}


def compacted(client: Client, sent: Any, session: str, **options: Any) -> CompactResult:
    policy = {**POLICY, "redact": True, **options.pop("policy", {})}
    return client.compact(sent, session_id=session, policy=policy, reason="TOOL", explain=True, **options)


def all_but_the_kept(result: CompactResult) -> str:
    """What an answer says in all its fields, the two kept messages aside."""
    told = pb.CompactResponse.FromString(result.response.SerializeToString())
    told.ClearField("native")
    return f"{told}\n{json.dumps(result.request['messages'][:-2], ensure_ascii=False)}".replace("\\n", "\n")


def leaks(secrets: tuple[str, ...], told: str) -> list[str]:
    """The secrets of which more than a few letters stand in a text."""
    return [secret for secret in secrets if secret[:12] in told or secret[-12:] in told]


@pytest.mark.parametrize("writer", ["code", "model", "a model that fails"])
@pytest.mark.parametrize("place", HIDDEN)
def test_wherever_a_credential_hides_it_does_not_leave(watched: Watched, place: str, writer: str) -> None:
    middle, secrets = HIDDEN[place]
    session = re.sub(r"\W", "-", f"{writer}-{place}")
    watched.provider.script(failure(400) if "fails" in writer else text(SUMMARY))
    policy = {"summarizer": "EXTRACTIVE" if writer == "code" else "AUTO"}
    result = compacted(watched.client, body(middle), session, policy=policy)
    assert result.outcome == "SUMMARIZED"
    assert leaks(secrets, all_but_the_kept(result)) == []
    assert leaks(secrets, watched.told(session)) == []
    assert "[masked: " in watched.history(session)
    summarized = watched.client.summarize(
        body(middle), policy={"redact": True, **policy}, previous_summary=f"It used {IN_REPLY}."
    )
    assert leaks((*secrets, IN_REPLY), str(summarized).replace("\\n", "\n").replace('\\"', '"')) == []
    assert bool(watched.provider.seen) == (writer != "code")
    assert leaks(secrets, watched.told(session)) == []


def test_a_credential_that_only_the_model_knows_is_in_no_note_either(watched: Watched) -> None:
    watched.provider.script(text(f"{SUMMARY} It is published with {IN_REPLY}."))
    result = compacted(watched.client, body(said("Go on with it.")), "reply")
    assert "hango:summary" in watched.history("reply")
    assert leaks((IN_REPLY,), all_but_the_kept(result) + watched.history("reply")) == []
    assert "published with [masked: " in result.record.summary  # type: ignore[union-attr]
    assert "published with [masked: " in watched.history("reply")


@pytest.mark.parametrize("format", ["anthropic", "openai"])
def test_the_kept_part_comes_back_byte_for_byte(watched: Watched, format: str) -> None:
    sent = body(said(f"API_KEY={TOKEN}"), last=f"Use {TOKEN} and {PASSWORD}:\n{KEY.text}")
    del sent["tools"]
    if format == "openai":
        sent["model"] = "gpt-4.1"
        sent["messages"] = [{**message, "content": _words(message["content"])} for message in sent["messages"]]
    spelled = json.dumps(sent, indent=1, ensure_ascii=True).replace('"Use ', '"\\u0055se ').encode()
    at = spelled.index(b'"Now?"')
    result = compacted(watched.client, spelled, f"kept-{format}")
    assert result.outcome == "SUMMARIZED"
    assert spelled[at : spelled.rindex(b"]")].strip() in result.body
    assert b"[masked: " in result.body


def _words(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


@pytest.mark.parametrize("strategy", ["RECENT", "IMPORTANT"])
def test_windows_keep_the_callers_words_and_mask_the_history(watched: Watched, strategy: str) -> None:
    sent = body(said(f"API_KEY={TOKEN}"), last=f"Use {TOKEN}.")
    policy = {"strategy": strategy, "max_input_tokens": 2_500, "trigger_input_tokens": 1_000}
    result = compacted(watched.client, sent, f"window-{strategy}", policy=policy)
    assert result.outcome == "WINDOWED"
    kept = [message for message in result.request["messages"] if message in sent["messages"]]
    assert kept == result.request["messages"]
    assert leaks((TOKEN,), watched.told(f"window-{strategy}")) == []


def test_a_record_goes_on_with_redact_and_back(watched: Watched) -> None:
    """What was made without it stays as it was until something new is made; then nothing of it is carried on."""
    watched.provider.script(text(f"{SUMMARY} It used {TOKEN}."))
    sent = body(said(f"API_KEY={TOKEN}"))
    off = compacted(watched.client, sent, "switch", policy={"redact": False}, turn_id="1")
    assert TOKEN in off.record.summary  # type: ignore[union-attr]
    again = watched.client.compact(sent, record=off.record, session_id="switch", policy={**POLICY, "redact": True})
    assert (again.outcome, again.body) == ("REUSED", off.body)
    before = watched.history("switch")

    watched.provider.script(text(f"{SUMMARY} Then {TOKEN}."))
    sent["messages"] += [*said(FILLER * 60), *said(FILLER), *said("And?")]
    on = compacted(watched.client, sent, "switch", record=off.record, turn_id="2")
    assert on.outcome == "SUMMARIZED"
    assert leaks((TOKEN,), all_but_the_kept(on)) == []
    assert leaks((TOKEN,), json.dumps([seen.body for seen in watched.provider.seen])) == []
    after = watched.history("switch")
    assert TOKEN in before
    assert after.count(TOKEN) == before.count(TOKEN)

    watched.provider.script(text(f"{SUMMARY} And on."))
    sent["messages"] += [*said(f"TOKEN={TOKEN}"), *said(FILLER * 60), *said("And then?")]
    back = compacted(watched.client, sent, "switch", record=on.record, policy={"redact": False}, turn_id="3")
    assert back.outcome == "SUMMARIZED"
    assert f"TOKEN={TOKEN}" in watched.history("switch")


def test_masks_of_another_session_are_not_confused_with_ours(watched: Watched) -> None:
    before = "It was tried with [masked: password 1] and [masked: key 3]."
    policy = {"redact": True, "summarizer": "EXTRACTIVE"}
    answer = watched.client.summarize(
        body(said(f"Always use DB_PASSWORD={PASSWORD}.")), policy=policy, previous_summary=before
    )
    assert before in answer.summary
    assert "DB_PASSWORD=[masked: password 4]" in answer.summary


def test_of_very_many_credentials_none_leaves(watched: Watched) -> None:
    random = Random(7)  # noqa: S311 - has to be reproducible
    secrets = tuple(f"{random.getrandbits(128):032x}"[:28] + "Q7z9" for _ in range(1_500))
    named = "\n".join(f"export SERVICE{at}_API_KEY={secret}" for at, secret in enumerate(secrets))
    bare = " ".join(secrets[::-1])
    result = compacted(watched.client, body(used({"path": ".env"}, named) + said(f"Rotate {bare}")), "many")
    assert leaks(secrets, all_but_the_kept(result)) == []
    assert leaks(secrets, watched.told("many")) == []


def test_what_the_work_needs_is_never_masked(watched: Watched) -> None:
    random = Random(11)  # noqa: S311 - has to be reproducible
    benign: list[str] = []
    for at in range(50):
        benign += [f"{random.getrandbits(160):040x}", str(UUID(int=random.getrandbits(128), version=4))]
        benign += [f"sha256:{random.getrandbits(256):064x}", f"toolu_01{encoded(random.randbytes(12).hex())[:22]}"]
        benign += [f"{random.getrandbits(28):07x}", f"COMP-{4000 + at}", f"src/auth/token_{at}/password_reset{at}.py"]
    shown = "\n".join(f"{at}. commit {one}, id={one} \"key{at}\": '{one}'" for at, one in enumerate(benign))
    policy = {"summarizer": "EXTRACTIVE"}
    sent = body(
        used({"command": "git log", "note": shown}, shown) + said("\n\n".join(credentials.LOOK_ALIKES.values()))
    )
    result = compacted(watched.client, sent, "benign", policy=policy)
    history = watched.history("benign")
    assert "[masked: " not in history
    assert "[masked: " not in str(result.response)
    assert [one for one in benign if one not in history] == []


@pytest.mark.parametrize(
    "broken",
    [
        b'{"model":"claude-opus-5","messages":[{"role":"user","content":"%s"',
        b'{"model":"claude-opus-5","max_tokens":5,"messages":[{"role":"%s","content":"x"}]}',
        b'{"model":"claude-opus-5","max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_result",'
        b'"tool_use_id":"toolu_9","content":"%s"}]}]}',
        b'{"model":"%s","max_tokens":5,"messages":[{"role":"user","content":[{"kind":"%s"}]}]}',
        b'{"model":"claude-opus-5","max_tokens":5,"messages":[{"role":"user","content":"\\ud83d %s"}]}',
        b'{"model":"claude-opus-5","max_tokens":5,"%s":1,"%s":2,"messages":[{"role":"user","content":NaN}]}',
    ],
)
def test_no_error_repeats_a_credential(watched: Watched, broken: bytes) -> None:
    watched.provider.script(text(SUMMARY))
    sent = broken.replace(b"%s", TOKEN.encode())
    with pytest.raises(CompactionError) as caught:
        watched.client.compact(sent, format="anthropic", session_id="broken", policy={"redact": True})
    assert TOKEN not in f"{caught.value} {caught.value.message} {caught.value.metadata}"
    with pytest.raises(CompactionError) as caught:
        watched.client.compact(body(said("x")), session_id=f"{TOKEN}/", policy={"redact": True})
    assert TOKEN not in f"{caught.value.message} {caught.value.metadata}"
    assert leaks((TOKEN,), watched.told("broken")) == []


def test_a_history_that_cannot_be_written_comes_back_masked(watched: Watched) -> None:
    folder = watched.server.history_root / "conversation_history" / "taken.md"
    folder.mkdir(parents=True, exist_ok=True)
    result = compacted(watched.client, body(said(f"API_KEY={TOKEN}")), "taken", policy={"summarizer": "EXTRACTIVE"})
    assert "API_KEY=[masked: " in result.response.history.markdown
    assert leaks((TOKEN,), str(result.response)) == []


def test_a_server_that_starts_keeps_nobody_waiting_who_does_not_redact(
    start_server: StartServer, tmp_path: Path
) -> None:
    """The catalogue is read from scratch here. A call that redacts waits for it, or is told in time to come again."""
    server = start_server(None, KF_RULE_CACHE_DIR=str(tmp_path))
    sent = json.dumps(body(said(f"API_KEY={TOKEN}"))).encode()

    def request(*, redact: bool) -> pb.CompactRequest:
        policy = {"max_input_tokens": 60_000, "reserve_output_tokens": 0, "keep_message_count": 2, "redact": redact}
        return pb.CompactRequest(
            session_id="start", reason=3, native={"format": 1, "body": sent}, policy=policy_pb2.Policy(**policy)
        )

    with grpc.insecure_channel(server.target) as channel:
        stub = pb_grpc.CompactionServiceStub(channel)
        began = time.monotonic()
        try:
            early = stub.Compact(request(redact=True), timeout=1.0)
            assert leaks((TOKEN,), early.compaction.summary) == []
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED  # noqa: PT017 - either is right
            assert "being read" in error.details()  # noqa: PT017
            assert time.monotonic() - began < 1.0
        waits = stub.Compact.future(request(redact=True), timeout=120)
        assert stub.Compact(request(redact=False), timeout=30).outcome == pb.OUTCOME_SUMMARIZED
        assert leaks((TOKEN,), waits.result().compaction.summary) == []
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0
