"""What is an overflow and what only looks like one, by what providers were seen to say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from hango.compaction import ContextOverflow, overflow_in, overflow_of
from hango.compaction.overflow import LONGEST_TEXT

# Text, the input tokens that it names, the window that it names.
OVERFLOWS = {
    "anthropic": ("prompt is too long: 213462 tokens > 200000 maximum", 213_462, 200_000),
    "anthropic-with-output": (
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or "
        "`max_tokens` and try again",
        178_959,
        200_000,
    ),
    "anthropic-bytes": ("413 Request exceeds the maximum allowed number of bytes. The maximum is 32 MB.", 0, 0),
    "openai-messages": (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please "
        "reduce the length of the messages.",
        8_545,
        8_192,
    ),
    "openai-completion": (
        "This model's maximum context length is 8192 tokens. However, you requested 8213 tokens (6683 in the messages, "
        "730 in the functions, and 800 in the completion). Please reduce the length of the messages, functions, or "
        "completion.",
        7_413,
        8_192,
    ),
    "openai-prompt": (
        "This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10346 in "
        "your prompt; 5 "
        "for the completion). Please reduce your prompt; or completion length.",
        10_346,
        8_191,
    ),
    "openai-responses": (
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        0,
        0,
    ),
    "openai-possessive": ("Your input exceeds the model's context window", 0, 0),
    "openai-one-string": (
        "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760, but got a "
        "string with length 15000000 instead.",
        0,
        0,
    ),
    "azure": (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please "
        "reduce the length of the messages.",
        509_178,
        272_000,
    ),
    "bedrock": (
        "An error occurred (ValidationException) when calling the Converse operation: Input is too long for requested "
        "model.",
        0,
        0,
    ),
    "bedrock-claude": (
        "The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum",
        200_049,
        200_000,
    ),
    "bedrock-nova": (
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
        0,
        0,
    ),
    "bedrock-titan": ("Too many input tokens. Max input tokens: 8192, request input token count: 10000", 10_000, 8_192),
    "gemini": (
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        1_196_265,
        1_048_575,
    ),
    "gemini-without-count": (
        "The input token count exceeds the maximum number of tokens allowed (1048576).",
        0,
        1_048_576,
    ),
    "vertex": (
        "Unable to submit request because the input token count is 1,050,000 but model only supports up to 1,048,576. "
        "Reduce the input token count and try again.",
        1_050_000,
        1_048_576,
    ),
    "openrouter": (
        "This endpoint's maximum context length is 1048756 tokens. However, you requested about 1087438 "
        "tokens (4999 of "
        "text input, 33863 of tool input, 1048576 in the output). Please reduce the length of either one, or use the "
        "context-compression plugin to compress your prompt automatically.",
        38_862,
        1_048_756,
    ),
    "openrouter-poolside": (
        "Provider returned error: Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        131_393,
        131_040,
    ),
    "vllm": (
        "This model's maximum context length is 131072 tokens. However, you requested 4096 output tokens and "
        "your prompt "
        "contains at least 126977 input tokens, for a total of at least 131073 tokens.",
        126_977,
        131_072,
    ),
    "vllm-max-tokens": (
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 64001 "
        "tokens and your request has 42350 input tokens (32000 > 64001 - 42350).",
        42_350,
        64_001,
    ),
    "vllm-decoder": (
        "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that "
        "`max_model_len` is no smaller than the number of text tokens.",
        21_535,
        16_384,
    ),
    "sglang": (
        "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of "
        "140000 tokens: 131808 tokens from the input messages and 8192 tokens for the completion.",
        131_808,
        131_072,
    ),
    "openai-compatible": (
        "Input length (265330) exceeds model's maximum context length (262144).",
        265_330,
        262_144,
    ),
    "together": (
        "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
        516_368,
        262_144,
    ),
    "fireworks": ("The prompt is too long: 131073, model maximum context length: 131071", 131_073, 131_071),
    "mistral": (
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        65_673,
        32_768,
    ),
    "xai": (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        537_812,
        131_072,
    ),
    "deepseek": (
        "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the "
        "messages, 8192 in the completion). Please reduce the length of the messages or completion.",
        122_942,
        131_072,
    ),
    "groq": ("Please reduce the length of the messages or completion.", 0, 0),
    "cerebras": (
        "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
        42_328,
        40_000,
    ),
    "llama.cpp": ("the request exceeds the available context size, try increasing it", 0, 0),
    "llama.cpp-numbers": (
        "request (9012 tokens) exceeds the available context size (8192 tokens), try increasing it",
        9_012,
        8_192,
    ),
    "llama-cpp-python": ("Requested tokens exceed context window of 512", 0, 512),
    "lm-studio": (
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context "
        "length of only 32768 tokens, which is not enough.",
        111_490,
        32_768,
    ),
    "lm-studio-keep": (
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: "
        "15857>= n_ctx: "
        "8192). Try to load the model with a larger context length, or provide a shorter input.",
        15_857,
        8_192,
    ),
    "lm-studio-generation": (
        "Reached context length of 4096 tokens with model (arch: qwen3vlmoe) that does not currently support "
        "mid-generation context overflow.",
        0,
        4_096,
    ),
    "ollama": ("400 `prompt too long; exceeded max context length by 100918 tokens`", 0, 0),
    "copilot": ("prompt token count of 51808 exceeds the limit of 12288", 51_808, 12_288),
    "kimi": ("Your request exceeded model token limit: 262144 (requested: 263001)", 263_001, 262_144),
    "kimi-401": ("This model supports only 256K context, upgrade for more", 0, 0),
    "minimax": ("invalid params, context window exceeds limit", 0, 0),
    "zhipu": ("Prompt exceeds max length", 0, 0),
    "dashscope": ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]", 0, 98_304),
    "ds4": (
        "Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens",
        5_958_968,
        256_000,
    ),
    "cohere": (
        "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. "
        "Try using a "
        "shorter prompt or a smaller max_tokens value.",
        6_354,
        2_048,
    ),
    "tgi": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1244 `inputs` "
        "tokens and 1000 "
        "`max_new_tokens`",
        1_244,
        2_048,
    ),
    "tgi-inputs": (
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 1872",
        1_872,
        1_024,
    ),
    "litellm": (
        "litellm.ServiceUnavailableError: litellm.MidStreamFallbackError: litellm.APIConnectionError: "
        "OpenAIException - "
        "Requested token count exceeds the model's maximum context length of 131072 tokens.",
        0,
        131_072,
    ),
    "litellm-class": ("litellm.ContextWindowExceededError: litellm.BadRequestError: too much of it", 0, 0),
    "code-in-text": (
        "{'message': 'Provider returned error', 'raw': '{\"code\":\"context_length_exceeded\"}'}",
        0,
        0,
    ),
    "some-compatible": ("tokens in request more than max tokens allowed", 0, 0),
    "gateway": ("413 Request Entity Too Large", 0, 0),
    "chinese": ("输入长度超过模型限制", 0, 0),
}

LOOK_ALIKES = {
    "anthropic-rate": "This request would exceed your organization's rate limit of 30,000 input tokens "
    "per minute (org: x,"
    " model: claude-sonnet-4-6). Please reduce the prompt length or the maximum tokens requested, or try again later.",
    "openai-tpm": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. "
    "The input or output"
    " tokens must be reduced in order to run successfully.",
    "groq-tpm": "413 Request too large for model `llama-3.3-70b-versatile` in organization `org_x` "
    "service tier `on_demand`"
    " on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.",
    "bedrock-throttling": "ThrottlingException: Too many tokens, please wait before trying again.",
    "bedrock-daily": "Too many tokens per day, please wait before trying again.",
    "cerebras-rate": "Tokens per minute limit exceeded - too many tokens processed",
    "quota": "You exceeded your current quota, please check your plan and billing details.",
    "monthly": "Monthly token limit exceeded for this workspace",
    "gemini-exhausted": "Resource has been exhausted (e.g. check quota).",
    "too-many-requests": "Too many requests. Please slow down.",
    "long-context-tier": "Extra usage is required for long context requests.",
    "long-context-beta": "The long context beta is not yet available for this subscription.",
    "openai-output-reached": "Could not finish the message because max_tokens or model output limit was reached. "
    "Please try again with higher max_tokens.",
    "credit": "Your credit balance is too low to access the Anthropic API.",
    "overloaded": "Overloaded",
    "anthropic-output": "max_tokens: 200000 > 64000, which is the maximum allowed number of output "
    "tokens for claude-opus-4-5",
    "openai-output": "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you "
    "provided 8192.",
    "groq-output": "`max_tokens` must be less than or equal to `16384`, the maximum value for "
    "`max_tokens` is less than the"
    " `context_window` for this model",
    "bedrock-output": "The maximum tokens you requested exceeds the model limit of 4096. Try again with "
    "a maximum tokens "
    "value that is lower than 4096.",
    "dashscope-output": "Range of max_tokens should be [1, 8192]",
    "deepseek-output": "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    "vllm-output": "max_tokens=8192 cannot be greater than max_model_len=4096. Please request fewer output tokens.",
    "vllm-negative": "max_tokens must be at least 1, got -186.",
    "budget": "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
    "tool-description": "Invalid 'tools[0].function.description': string too long. Expected a string "
    "with maximum length "
    "1024, but got a string with length 1500 instead.",
    "tool-name": "Invalid 'messages[3].tool_calls[0].function.name': string too long. Expected a string "
    "with maximum length"
    " 64, but got a string with length 80 instead.",
    "tool-schema": "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
    "tools-count": "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 140 instead.",
    "image": "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
    "image-dimensions": "At least one of the image dimensions exceed max allowed size: 8000 pixels",
    "pairing": "messages.4: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
    "breakpoints": "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    "timeout": "Request timed out.",
    "deadline": "context deadline exceeded",
    "not-found": "The model `gpt-9` does not exist or you do not have access to it.",
    "key": "Incorrect API key provided: sk-x. It must have a length of 51",
    "unauthorized": "401 Invalid authentication credentials",
    "crash": "500 `model runner crashed unexpectedly`",
    "filter": "The response was filtered due to the prompt triggering content management policy.",
    "json": "Unterminated string starting at: line 1 column 20000 (char 19999)",
    "large-but-fine": "The context is large, but acceptable.",
    "empty": "",
}


def numbers(error: BaseException) -> tuple[int, int] | None:
    named = overflow_of(error)
    return None if named is None else (named.actual_input_tokens, named.max_input_tokens)


@pytest.mark.parametrize("case", OVERFLOWS)
def test_an_overflow_is_known_by_its_wording(case: str) -> None:
    text, actual, most = OVERFLOWS[case]
    assert numbers(RuntimeError(text)) == (actual, most)
    assert numbers(openai_error(400, {"message": text, "type": "invalid_request_error"})) == (actual, most)
    assert numbers(anthropic_error(500, {"error": {"type": "api_error", "message": text.upper()}})) == (actual, most)


@pytest.mark.parametrize("case", LOOK_ALIKES)
def test_what_only_looks_like_an_overflow_is_none(case: str) -> None:
    text = LOOK_ALIKES[case]
    assert numbers(RuntimeError(text)) is None
    assert numbers(openai_error(400, {"message": text, "type": "invalid_request_error"})) is None
    assert numbers(anthropic_error(400, {"error": {"type": "invalid_request_error", "message": text}})) is None


def response(status: int) -> httpx2.Response:
    return httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1"))


def openai_error(status: int, body: object) -> openai.APIStatusError:
    kind = openai.RateLimitError if status == 429 else openai.APIStatusError
    return kind(f"Error code: {status}", response=response(status), body=body)


def anthropic_error(status: int, body: object) -> anthropic.APIStatusError:
    return anthropic.APIStatusError(f"Error code: {status}", response=response(status), body=body)


CODES: list[tuple[int, dict[str, Any]]] = [
    (400, {"code": "context_length_exceeded", "message": "Too much."}),
    (401, {"code": "context_length_exceeded", "message": "Too much."}),
    (503, {"error": {"code": "model_max_prompt_tokens_exceeded", "message": "Too much."}}),
    (400, {"type": "exceed_context_size_error", "message": "Too much."}),
    (400, {"code": "3051", "message": "Too much.", "object": "error"}),
    (413, {"type": "error", "error": {"type": "request_too_large", "message": "Too much."}}),
    (413, {}),
]


@pytest.mark.parametrize(("status", "body"), CODES)
def test_an_overflow_is_known_by_its_code_whatever_the_status(status: int, body: dict[str, Any]) -> None:
    assert numbers(openai_error(status, body)) == (0, 0)
    assert numbers(anthropic_error(status, body)) == (0, 0)


@pytest.mark.parametrize("status", [400, 401, 403, 422, 429, 500, 503])
def test_a_plain_wording_counts_with_any_status(status: int) -> None:
    body = {
        "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens"
    }
    assert numbers(openai_error(status, body)) == (9_000, 8_192)


def test_a_wording_that_could_mean_rates_does_not_count_with_429() -> None:
    assert numbers(openai_error(400, {"message": "too many tokens"})) == (0, 0)
    assert numbers(openai_error(429, {"message": "too many tokens"})) is None


def test_a_code_of_rates_wins_over_the_wording() -> None:
    body = {"code": "rate_limit_exceeded", "type": "tokens", "message": "prompt is too long"}
    assert numbers(openai_error(413, body)) is None


def test_numbers_of_a_structured_answer_are_read() -> None:
    body = {
        "code": 400,
        "message": "Too much.",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 9012,
        "n_ctx": 8192,
    }
    assert numbers(openai_error(400, {"error": body})) == (9_012, 8_192)


def test_what_a_gateway_hides_behind_a_sentence_of_its_own_is_found() -> None:
    raw = '{"error":{"message":"This model\'s maximum context length is 262144 tokens. However, your messages resulted '
    raw += 'in 262897 tokens.","code":400}}'
    body = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "Nvidia"}}
    assert numbers(openai_error(400, body)) == (262_897, 262_144)


def test_what_the_answer_repeats_of_the_request_says_nothing() -> None:
    echoed = {
        "type": "string_type",
        "loc": ["body", "messages", 0],
        "msg": "Input should be valid",
        "input": "prompt is too long",
    }
    assert numbers(openai_error(422, {"detail": [echoed]})) is None


class ClientError(Exception):
    """As botocore's: everything is in `response`."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(f"An error occurred ({code}) when calling the Converse operation: {message}")
        self.response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}


def test_exceptions_of_botocore_are_read() -> None:
    assert numbers(ClientError("ValidationException", "Input is too long for requested model.", 400)) == (0, 0)
    assert numbers(ClientError("ThrottlingException", "Too many tokens", 429)) is None
    assert numbers(ClientError("ModelErrorException", "no", 413)) == (0, 0)


def test_exceptions_of_google_are_read() -> None:
    error = RuntimeError("400 INVALID_ARGUMENT")
    message = "The input token count (1,196,265) exceeds the maximum number of tokens allowed (1,048,575)."
    vars(error).update(code=400, status="INVALID_ARGUMENT", details={"error": {"message": message, "code": 400}})
    assert numbers(error) == (1_196_265, 1_048_575)


class ContextWindowExceededError(Exception):
    """As litellm's."""


class Stubborn(Exception):
    """Fails at everything that is asked of it."""

    @property
    def body(self) -> object:
        raise ValueError

    def __str__(self) -> str:
        raise ValueError


def test_a_class_that_means_nothing_else_is_enough() -> None:
    assert numbers(ContextWindowExceededError("no")) == (0, 0)
    assert numbers(ContextOverflow(None, None)) == (0, 0)


def test_an_exception_that_cannot_be_read_is_no_overflow() -> None:
    assert numbers(Stubborn()) is None


def raised(error: Exception, cause: BaseException) -> Exception:
    try:
        raise error from cause
    except Exception as caught:  # noqa: BLE001
        return caught


def test_causes_are_looked_at_and_the_first_verdict_decides() -> None:
    overflow = RuntimeError("prompt is too long: 9 tokens > 8 maximum")
    assert numbers(raised(ValueError("the model call failed"), overflow)) == (9, 8)
    assert numbers(raised(ValueError("rate limit reached"), overflow)) is None
    circular = ValueError("no")
    circular.__cause__ = KeyError("no")
    circular.__cause__.__cause__ = circular
    assert numbers(circular) is None


def test_an_exception_that_was_only_being_handled_is_no_cause() -> None:
    error = ValueError("the other provider failed too")
    error.__context__ = RuntimeError("prompt is too long")
    assert numbers(error) is None


@pytest.mark.parametrize(
    "text",
    [
        "prompt " * 300_000,
        "exceeds the " * 200_000,
        "1," * 1_000_000,
        "(1" * 1_000_000,
        "'messages[" * 200_000,
        "9" * 2_000_000,
    ],
)
def test_hostile_texts_come_to_an_end(text: str) -> None:
    assert numbers(openai_error(400, {"message": text})) is None
    assert numbers(RuntimeError(text)) is None


def test_a_long_text_is_looked_at_from_both_ends() -> None:
    sentence = "prompt is too long: 9 tokens > 8 maximum"
    assert numbers(RuntimeError(sentence + " x" * LONGEST_TEXT)) == (9, 8)
    assert numbers(RuntimeError("x " * LONGEST_TEXT + sentence)) == (9, 8)
    assert numbers(RuntimeError("prompt is too long: " + "9" * 5_000 + " tokens > 8 maximum")) == (0, 8)


USAGE = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 0}
STOPS: list[tuple[dict[str, Any], int | None]] = [
    ({"stop_reason": "model_context_window_exceeded", "usage": USAGE}, 100),
    ({"stop_reason": "model_context_window_exceeded"}, 0),
    ({"stopReason": "model_context_window_exceeded", "usage": {"inputTokens": 7, "outputTokens": 1}}, 7),
    ({"choices": [{"finish_reason": "model_context_window_exceeded"}], "usage": {"prompt_tokens": 9}}, 9),
    ({"choices": [{"finish_reason": "length"}], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}, 0),
    ({"choices": [{"finish_reason": "length"}], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}, None),
    ({"choices": [{"finish_reason": "length"}], "usage": {"prompt_tokens": 9}}, None),
    ({"choices": [{"finish_reason": "length"}]}, None),
    ({"choices": [{"finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}, None),
    ({"stop_reason": "max_tokens", "usage": USAGE}, None),
    ({"stop_reason": "end_turn", "usage": USAGE}, None),
    ({"choices": []}, None),
    ({}, None),
]


def as_object(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: as_object(inner) for name, inner in value.items()})
    return [as_object(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("reply", "actual"), STOPS)
def test_stop_reasons_are_read_from_dicts_and_objects(reply: dict[str, Any], actual: int | None) -> None:
    for form in (reply, as_object(reply)):
        named = overflow_in(form)
        assert (None if named is None else named.actual_input_tokens) == actual


@pytest.mark.parametrize("reply", [None, "text", b"bytes", 3, [], object()])
def test_a_reply_that_cannot_be_read_is_no_overflow(reply: object) -> None:
    assert overflow_in(reply) is None
