"""Rule R17: a good summary is taken in any style and language, and a bad reply never stands for messages."""

from __future__ import annotations

import pytest

from compactor.core.acceptance import Rejected, judged

SOURCE = '<message n="0" from="user">\nPlease look at src/app/main.py and fix the failing test.\n</message>\n' * 3


def accepted(text: str, source: str = SOURCE) -> str:
    found = judged(text, "end_turn", source, calls_tool=False)
    assert isinstance(found, str), found
    return found


def rejected(text: str, stop_reason: str = "end_turn", source: str = SOURCE) -> Rejected:
    found = judged(text, stop_reason, source, calls_tool=False)
    assert isinstance(found, Rejected), found
    return found


@pytest.mark.parametrize(
    "text",
    [
        "No changes were made.",
        "The user asked for a fix in src/app/main.py; it was made, and the tests pass.",
        "## Done\n- Read `src/a.py`\n- Fixed the import\n\n## Open\n- Deploy to staging?",
        "| file | state |\n| --- | --- |\n| src/a.py | changed |\n| src/b.py | read |",
        "1. Read the log.\n2. Found commit 9fceb02.\n3. Reverted it.",
        "**Goal**: move to PostgreSQL 16.\n\n**State**: migrations 0001 to 0007 are applied.",
        "```python\nprint('hi')\n```\nwas added to src/a.py, and nothing else.",
        "修复了登录错误，测试通过。",
        "用户要求修复 src/app/main.py 中失败的测试；已完成修改，所有测试通过。",
        "사용자가 src/app/main.py의 실패한 테스트를 고쳐 달라고 했고, 수정했다.",
        "ユーザーは src/app/main.py の失敗するテストの修正を依頼し、修正は完了した。",
        "El usuario pidió corregir la prueba de src/app/main.py; ya está corregida.",
        "Der Benutzer wollte, dass der Test in src/app/main.py läuft; er läuft jetzt.",
        "L'utilisateur a demandé de corriger src/app/main.py ; c'est fait, les tests passent.",
        "Пользователь попросил исправить тест в src/app/main.py; тест исправлен.",
        "طلب المستخدم إصلاح الاختبار في src/app/main.py وتم ذلك.",
        "\u202eThe test in src/app/main.py was fixed.\u202c",
    ],
)
def test_summary_is_taken_in_any_style_and_language(text: str) -> None:
    assert accepted(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "The filter now strips `<think>` and `</think>` from replies; tests were added.",
        'Replies are cleaned with `re.sub("<think>.*</think>", "", text)` in clean.py.',
        "The parser handles this:\n\n```xml\n<thinking>a</thinking>\n<tool_call>\n```\n\nNothing else changed.",
        "Support for ``<reasoning>`` blocks was added to reader.py.",
        "The agent's calls are written as `<function_calls>` in the log of run 7.",
    ],
)
def test_tags_that_a_summary_writes_about_are_no_reasoning(text: str) -> None:
    assert accepted(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "404 page was added to src/pages/missing.tsx and linked.",
        "500 errors in /checkout came from a null cart; fixed in cart.py.",
        "Error 500 on /checkout was traced to a null cart and fixed in cart.py.",
        "Error handling was rewritten: client.py raises ApiError now.",
        "Rate limit handling was added to client.py; it waits for retry-after.",
        "Rate limited requests are tried again three times.",
        "Overloaded operators were added to Vector; tests pass.",
        "Service unavailable answers of the gateway are retried now.",
        "## Error\nconnection refused at 10.0.0.7:5432\n\n## Fix\nport 5433 in settings.py",
        "Error: connection refused at 10.0.0.7:5432.\n\nThe port was wrong; settings.py has 5433 now.",
        "The tool said: Error: connection refused at 10.0.0.7:5432. It was not tried again.",
        "The user was told that the assistant can't help with taxes, and apologized for asking.",
        "Sorry, the page for lost carts, was translated and cannot be reached without a session.",
        "Unfortunately the tests cannot run on Windows; everything else is done.",
        "- Open: could you please provide the transcript of the meeting? (asked of the user)",
        "The user was asked to please provide the API key; it is in .env now.",
        "Consumers do not see any messages on topic orders; the offset was wrong and is fixed.",
        "The queue was checked: no messages were lost during the restart.",
        "There was no content type on the answer; the header is set now.",
        "抱歉页面的文案已经更新，测试通过。",
    ],
)
def test_summary_about_errors_refusals_and_questions_is_none(text: str) -> None:
    assert accepted(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"| src/module_{number}.py | read | ok |\n" for number in range(200)),
        "".join(f"- [x] Step {number}: table_{number} has the new schema\n" for number in range(200)),
        "".join(f"- Invoice INV-{number * 7919 % 90000 + 10000}: paid\n" for number in range(200)),
    ],
)
def test_long_regular_list_does_not_repeat_itself(text: str) -> None:
    assert accepted(text) == text.strip()


@pytest.mark.parametrize(
    ("reply", "summary"),
    [
        ("<think>Let me see.</think>\n\nThe test was fixed.", "The test was fixed."),
        ("<thinking>a < b </b></thinking><analysis>c</analysis>The test was fixed.", "The test was fixed."),
        ("<summary>\nThe test was fixed.\n</summary>", "The test was fixed."),
        ("<analysis>x</analysis>\n<summary>The test was fixed.</summary>", "The test was fixed."),
        ("<previous_summary>\nThe test was fixed.\n</previous_summary>", "The test was fixed."),
        ("```markdown\n# State\nThe test was fixed.\n```", "# State\nThe test was fixed."),
        ("The test\r\nwas fixed\x00\x1b[0m.", "The test\nwas fixed[0m."),
        ("The test was \ud800fixed.", "The test was fixed."),
    ],
)
def test_summary_is_taken_out_of_what_is_around_it(reply: str, summary: str) -> None:
    assert accepted(reply) == summary


def test_two_summaries_side_by_side_are_not_torn() -> None:
    text = "<summary>The first half.</summary>\n<summary>The second half.</summary>"
    assert accepted(text) == text


@pytest.mark.parametrize("text", ["", " \n\t ", "OK.", "---\n***\n", "好的。", "\x00" * 99, "<think>all of it</think>"])
def test_reply_that_says_nothing_is_rejected(text: str) -> None:
    assert rejected(text) == Rejected("it says nothing")


@pytest.mark.parametrize(
    "text",
    [
        "<think>The test was fixed, and then I went on.",
        "The test was fixed.</think>",
        "</think>\nThe test in src/app/main.py was fixed.",
        "The test was fixed.\n<Thinking>What else was there?</Thinking>",
        '<think type="deep">hm</think>The test in src/app/main.py was fixed.',
        "<think><analysis>a</analysis></think>The test in src/app/main.py was fixed.",
    ],
)
def test_left_over_reasoning_is_rejected(text: str) -> None:
    assert rejected(text) == Rejected("reasoning tags are left in it")


@pytest.mark.parametrize(
    "text",
    [
        'I will look first.\n<function_calls>\n<invoke name="read_file">\n</invoke>\n</function_calls>',
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>',
        '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.py"}}]',
        '{"name": "read_file", "arguments": {"path": "/conversation_history/s.md"}}',
    ],
)
def test_tool_call_in_words_is_rejected(text: str) -> None:
    rejected(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m really sorry, but I can’t assist with summarizing this.",
        "Sorry, I cannot comply with this request.",
        "Unfortunately, I am not able to summarize this conversation.",
        "I cannot and will not help with that.",
        "As an AI language model, I cannot do that.",
        "很抱歉，我无法帮助您完成这个请求。",
        "申し訳ありませんが、そのご依頼にはお応えできません。",
        "죄송하지만 그 요청은 도와드릴 수 없습니다.",
        "Lo siento, pero no puedo ayudarte con eso.",
        "Es tut mir leid, aber dabei kann ich nicht helfen.",
        "Je suis désolé, mais je ne peux pas vous aider.",
        "Извините, но я не могу помочь с этим.",
    ],
)
def test_refusal_is_rejected(text: str) -> None:
    rejected(text)


@pytest.mark.parametrize(
    "text",
    [
        "Please provide the conversation that you would like me to summarize.",
        "I'm ready to write the briefing! Could you please share the transcript?",
        "I don't see any conversation here to work on.",
        "It looks like no messages were provided.",
        "The transcript appears to be empty, so there is nothing to say.",
    ],
)
def test_question_for_the_conversation_is_rejected(text: str) -> None:
    rejected(text)


@pytest.mark.parametrize(
    "text",
    [
        "Error: 529 overloaded_error, please try again",
        'API Error: 400 {"type":"error","error":{"type":"invalid_request_error"}}',
        "Error code: 500 - something went wrong",
        "503 Service Unavailable",
        "429: too many requests",
        "HTTP/1.1 502 Bad Gateway",
        "Internal Server Error",
        "Rate limit exceeded, please wait.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Traceback (most recent call last):\n  File 'a.py'",
        '{"type": "error", "error": {"message": "' + "x" * 900 + '"}}',
        "<!DOCTYPE html><html><head><title>Bad gateway</title></head>" + "<p>Try again later.</p>\n<br>" * 30,
    ],
)
def test_error_text_is_rejected(text: str) -> None:
    rejected(text)


@pytest.mark.parametrize(
    "text",
    [
        "The test was fixed.\n" * 40,
        "The test was fixed. " * 200,
        "测试已经修复。" * 200,
        "a" * 5_000,
        "The agent read the files and changed two of them; then it ran the checks. " + "and so on " * 300,
    ],
)
def test_reply_that_got_stuck_is_rejected(text: str) -> None:
    assert rejected(text) == Rejected("it repeats itself")


def test_echo_is_rejected_also_with_other_white_space() -> None:
    passage = " ".join(f"word{number} of a message that somebody wrote" for number in range(40))
    assert rejected(passage.replace(" word", "\n\nword"), source=f"before {passage} after").why.startswith("it echoes")


def test_quotes_in_a_summary_are_no_echo() -> None:
    passage = " ".join(f"word{number} of a message that somebody wrote" for number in range(40))
    text = (
        f"The user wrote: {passage[:500]}\n\nThat was done: the words were counted, sorted, and written to words.txt."
    )
    assert accepted(text, passage) == text


@pytest.mark.parametrize(
    ("stop_reason", "wants_less"),
    [
        ("max_tokens", True),
        ("model_context_window_exceeded", True),
        ("refusal", False),
        ("tool_use", False),
        ("pause_turn", False),
        ("something_new", False),
    ],
)
def test_reply_that_did_not_end_by_itself_is_rejected(stop_reason: str, wants_less: bool) -> None:
    assert rejected("The test in src/app/main.py was fixed.", stop_reason).wants_less is wants_less


@pytest.mark.parametrize("stop_reason", ["end_turn", "stop_sequence", ""])
def test_reply_that_calls_a_tool_is_rejected_whatever_it_says(stop_reason: str) -> None:
    found = judged("The test in src/app/main.py was fixed.", stop_reason, SOURCE, calls_tool=True)
    assert found == Rejected("the model called a tool")
