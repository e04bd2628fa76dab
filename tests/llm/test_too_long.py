"""What endpoints say of a request that is too long."""

import pytest

from smart_context.base.errors import TooLong
from smart_context.llm.too_long import too_long

SAID = {
    "llama.cpp": (
        "request (11858 tokens) exceeds the available context size (8192 tokens)",
        (11_858, 8_192),
    ),
    "llama.cpp, without numbers": (
        ("the request exceeds the available context size. try increasing the context size"),
        (None, None),
    ),
    "llama.cpp, in the middle of an answer": (
        "Context size has been exceeded.",
        (None, None),
    ),
    "llama-cpp-python": (
        "Requested tokens (11858) exceed context window of 8192",
        (11_858, 8_192),
    ),
    "vLLM": (
        (
            "This model's maximum context length is 8192 tokens. However, your request has "
            "11858 input tokens. Please reduce the length of the input messages."
        ),
        (11_858, 8_192),
    ),
    "vLLM, as it was": (
        (
            "This model's maximum context length is 8192 tokens. However, you requested "
            "11858 tokens in the messages, Please reduce the length of the messages."
        ),
        (11_858, 8_192),
    ),
    "vLLM, where the answer has no room": (
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's "
            "maximum context length is 8192 tokens and your request has 6336 input tokens "
            "(4096 > 8192 - 6336)."
        ),
        (6_336, 8_192),
    ),
    "vLLM, with the answer": (
        (
            "This model's maximum context length is 262144 tokens. However, you requested "
            "128000 output tokens and your prompt contains at least 134145 input tokens, "
            "for a total of at least 262145 tokens. Please reduce the length of the input "
            "prompt."
        ),
        (262_145, 262_144),
    ),
    "vLLM, offline": (
        ("The decoder prompt (length 11858) is longer than the maximum model length of 8192."),
        (11_858, 8_192),
    ),
    "Ollama, of an embedding": (
        "the input length exceeds the context length",
        (None, None),
    ),
    "LM Studio": (
        (
            "Trying to keep the first 11858 tokens when context the overflows. However, the"
            " model is loaded with context length of only 8192 tokens, which is not enough."
        ),
        (11_858, 8_192),
    ),
    "LM Studio, without numbers": (
        ("The number of tokens to keep from the initial prompt is greater than the context length"),
        (None, None),
    ),
    "OpenAI": (
        (
            "This model's maximum context length is 8192 tokens. However, your messages "
            "resulted in 11858 tokens. Please reduce the length of the messages."
        ),
        (11_858, 8_192),
    ),
    "OpenAI, with the answer": (
        (
            "This model's maximum context length is 8192 tokens, however you requested "
            "11863 tokens (11858 in your prompt; 5 for the completion)."
        ),
        (11_863, 8_192),
    ),
    "OpenAI, without numbers": (
        "Your input exceeds the context window of this model. Please adjust your input.",
        (None, None),
    ),
    "OpenAI, where it is configured": (
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages "
            "resulted in 428548 tokens. Please reduce the length of the messages."
        ),
        (428_548, 272_000),
    ),
    "Anthropic": (
        "prompt is too long: 213462 tokens > 200000 maximum",
        (213_462, 200_000),
    ),
    "Anthropic, with the answer": (
        (
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, "
            "decrease input length or `max_tokens` and try again"
        ),
        (188_240, 200_000),
    ),
    "Mistral": (
        (
            "Prompt contains 152960 tokens and 0 draft tokens, too large for model with "
            "131072 maximum context length"
        ),
        (152_960, 131_072),
    ),
    "Groq": (
        (
            "Request too large for model `m` in organization `o` service tier `on_demand` "
            "on tokens per minute (TPM): Limit 6000, Requested 11858, please reduce your "
            "message size and try again"
        ),
        (11_858, 6_000),
    ),
    "Groq, without numbers": (
        "Please reduce the length of the messages or completion.",
        (None, None),
    ),
    "OpenRouter": (
        (
            "This endpoint's maximum context length is 32768 tokens. However, you requested"
            " about 42832 tokens (42832 of text input). Please reduce the length of either "
            "one"
        ),
        (42_832, 32_768),
    ),
    "DeepSeek": (
        (
            "This model's maximum context length is 131,072 tokens. However, you requested "
            "140,000 tokens (136000 in the messages, 4000 in the completion)."
        ),
        (140_000, 131_072),
    ),
    "Google": (
        ("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."),
        (1_196_265, 1_048_575),
    ),
    "xAI": (
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        (537_812, 131_072),
    ),
    "Moonshot": (
        "Your request exceeded model token limit: 262144 (requested: 300000)",
        (300_000, 262_144),
    ),
    "Together": (
        ("The input (516368 tokens) is longer than the model's context length (262144 tokens)."),
        (516_368, 262_144),
    ),
    "GitHub": (
        "prompt token count of 70000 exceeds the limit of 64000",
        (70_000, 64_000),
    ),
    "SiliconFlow": (
        "number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.",
        (204_703, 202_752),
    ),
    "TGI": (
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20"),
        (5_000, 4_096),
    ),
    "oMLX": (
        "Prompt too long: 9000 tokens exceeds max context window of 8192",
        (9_000, 8_192),
    ),
    "DashScope": (
        ("InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"),
        (None, 129_024),
    ),
    "its window alone": (
        "This model's maximum context length is 8192 tokens",
        (None, 8_192),
    ),
}


@pytest.mark.parametrize(("words", "numbers"), SAID.values(), ids=SAID)
def test_how_much_too_long_a_request_was_is_read_from_what_the_endpoint_says(words, numbers):
    asked, window = numbers
    assert too_long(words) == TooLong(asked=asked, window=window)


def test_ollama_says_by_how_much_alone():
    said = too_long("prompt too long; exceeded max context length by 4 tokens")
    assert said == TooLong(over=4)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "Incorrect API key provided",
        "The model `gpt-9` does not exist",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Rate limit reached: Limit 6000, Used 5000, Requested 2000. Please try again in 12s.",
    ],
)
def test_other_errors_say_nothing_of_length(words):
    assert too_long(words) is None
