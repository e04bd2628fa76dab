"""The data files that ship with the package."""

import pytest

from smart_context.base.errors import ModelFailed
from smart_context.llm.minilm import files


@pytest.mark.parametrize("name", files.DIGESTS)
def test_the_shipped_file_is_the_one_that_the_code_expects(name):
    assert files.read_checked(files.FOLDER, name)


def test_a_changed_file_is_refused_with_both_digests(tmp_path):
    (tmp_path / files.VOCABULARY).write_bytes(b"[PAD]\n")
    with pytest.raises(ModelFailed, match=f"expected {files.DIGESTS[files.VOCABULARY]}, found"):
        files.read_checked(tmp_path, files.VOCABULARY)
