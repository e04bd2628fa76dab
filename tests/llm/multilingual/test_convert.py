"""The data files of the multilingual model."""

import numpy as np
import pytest

from smart_context.llm.minilm.files import read_checked
from smart_context.llm.multilingual import files
from tests.benchmarks import convert_multilingual as convert


@pytest.mark.parametrize("name", files.DIGESTS)
def test_each_file_is_the_one_that_convert_writes(name):
    assert read_checked(files.FOLDER, name, files.DIGESTS)


def test_the_pieces_of_wanted_scripts_and_the_likeliest_latin_ones_stay():
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "zz", "ก", "שש", "ü", "qq", ",", "ыы", "हिं"]
    scores = np.array([0, 0, 0, 0, -5, -1, -9, -9, -8, -1, -1, -9], dtype=np.float32)
    assert convert.kept_places(pieces, scores, 9).tolist() == [0, 1, 2, 3, 4, 6, 7, 9, 11]


def test_the_notice_names_the_model_and_its_licence():
    notice = (files.FOLDER / "NOTICE").read_text(encoding="utf-8")
    assert "intfloat/multilingual-e5-small" in notice
    assert "MIT License" in notice
