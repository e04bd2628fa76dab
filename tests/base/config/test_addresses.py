"""A host that passes for a known one is refused, or shown in ASCII with a warning."""

import pytest

from smart_context.base.config.addresses import (
    AddressRefused,
    displayed_address,
    host_warning,
    open_warning,
    plain_address,
)


@pytest.mark.parametrize(
    ("address", "is_open"),
    [
        ("http://models.example/v1", True),
        ("http://8.8.8.8:8080/v1", True),
        ("https://models.example/v1", False),
        ("http://127.0.0.1:11434/v1", False),
        ("http://192.168.1.7/v1", False),
        ("http://[fd00::1]/v1", False),
        ("http://studio.local:1234/v1", False),
        ("http://localhost:1234/v1", False),
    ],
)
def test_what_goes_unencrypted_to_another_network_has_a_warning(address, is_open):
    assert open_warning(address).startswith("Warning: it is not encrypted") == is_open


@pytest.mark.parametrize(
    "address",
    [
        "https://API.example.com/v1",
        "http://127.0.0.1:11434/v1",
        "http://[::1]:80/v1",
        "http://localhost:1",
        "http://my_host:8/v1?version=1",
        "https://example.com./v1",
    ],
)
def test_an_ordinary_address_stays_as_it_is_without_a_warning(address):
    assert (plain_address(address), host_warning(address)) == (address, "")


@pytest.mark.parametrize(
    ("address", "plain", "named"),
    [
        ("https://api.open\u0430i.com/v1", "https://api.xn--openi-7ve.com/v1", "CYRILLIC"),
        ("https://ap\u0131.x.com", "https://xn--ap-ipa.x.com", "LATIN SMALL LETTER DOTLESS I"),
        ("https://\u03b1pi.x.com:81", "https://xn--pi-b9b.x.com:81", "GREEK SMALL LETTER ALPHA"),
        ("https://api.xn--openi-7ve.com", "https://api.xn--openi-7ve.com", "CYRILLIC"),
    ],
    ids=["cyrillic", "dotless i", "greek", "punycode"],
)
def test_a_host_of_other_letters_is_in_punycode_with_a_warning(address, plain, named):
    assert plain_address(address) == displayed_address(address) == plain
    assert host_warning(address).startswith("Warning: its host has letters that can pass for")
    assert named in host_warning(address)
    assert host_warning(address).isascii()


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("https://api.openai.com\u2044v1.evil.example/v1", id="fraction slash"),
        pytest.param("https://api.openai.com\u2215v1.evil.example/v1", id="division slash"),
        pytest.param("https://api.openai.com\uff0fv1.evil.example/v1", id="full-width slash"),
        pytest.param("https://api\uff0eopenai.com", id="full-width dot"),
        pytest.param("https://api\u3002openai.com", id="ideographic dot"),
        pytest.param("https://\uff45vil.example", id="full-width letter"),
        pytest.param("https://api.openai.com@evil.example/v1", id="user info like a host"),
        pytest.param("https://api.openai.com:443@evil.example/v1", id="and like a port"),
        pytest.param("https://api.openai.com\uff20evil.example", id="full-width at"),
        pytest.param("https://api.openai.com\\.evil.example", id="backslash"),
        pytest.param("https://api%2eopenai.com", id="percent"),
        pytest.param("https://api.open\u200bai.com", id="zero width space"),
        pytest.param("https://api.open\u00adai.com", id="soft hyphen"),
        pytest.param("https://api.open\u3164ai.com", id="a letter that is not seen"),
        pytest.param("https://api.openai.com\u202e/v1", id="direction"),
        pytest.param("https://api.open\tai.com", id="tab"),
        pytest.param("https://api.openai.com\x00.evil.example", id="null"),
        pytest.param("http://2130706433/v1", id="number"),
        pytest.param("http://0x7f.1/v1", id="hexadecimal"),
        pytest.param("http://127.1/v1", id="short number"),
        pytest.param("https://a..b", id="empty label"),
        pytest.param("https://" + "a." * 127 + "com", id="too long"),
        pytest.param("ftp://example.com", id="another scheme"),
    ],
)
def test_what_is_no_host_is_refused_in_words_that_are_harmless(address):
    with pytest.raises(AddressRefused) as refusal:
        plain_address(address)
    assert str(refusal.value).isascii()
    assert str(refusal.value).isprintable()
    assert displayed_address(address).isascii()
    assert displayed_address(address).isprintable()
    assert host_warning(address) == "Its host is not valid."
