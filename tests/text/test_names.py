import json
import re

from hypothesis import given
from hypothesis import strategies as st

from smart_context.text.names import encodable, shown


def test_control_and_direction_marks_and_half_characters_become_escapes():
    assert shown("a\nb\x1b\u202e\udcff") == "a\\nb\\x1b\\u202e\\udcff"


@given(st.text(max_size=20))
def test_a_shown_path_is_one_line_that_can_be_encoded(path):
    assert len(re.split("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", shown(path))) == 1
    shown(path).encode()


def test_a_path_that_is_no_utf8_can_stand_in_json():
    written = json.dumps(encodable("caf\udce9 é"), ensure_ascii=False)
    assert written.encode().decode() == '"caf\\\\udce9 é"'
