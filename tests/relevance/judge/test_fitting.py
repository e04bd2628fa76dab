import json
import logging
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.relevance.judge.calibrate import PROBABLY, Scale
from smart_context.relevance.judge.fitting import (
    NotEnough,
    fitted,
    store_calibration,
    stored_scale,
)
from smart_context.storage.files.documents import FileVaultDocuments

FILE_NAME = ".calibration.json"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def fit(about, others, **changes):
    known = {"model": "some/model", "chats": 3, "topics": 9, "now": NOW} | changes
    return fitted(about, others, **known)


def spread(middle, width, count):
    return np.linspace(middle - width, middle + width, count)


def test_probable_lies_between_both_and_sure_where_most_are_about_it():
    found = fit(spread(0.7, 0.1, 100), spread(0.2, 0.1, 300))
    assert found.scale.unrelated == pytest.approx(0.2, abs=0.01)
    assert 0.3 < found.scale.probable < 0.6
    assert 0.7 < found.scale.sure < 0.8
    assert found.auc == 1
    assert found.about_quantiles[2] == pytest.approx(0.7)
    assert found.scale.to_user(found.scale.probable) == pytest.approx(PROBABLY)


def test_where_both_overlap_errors_of_both_kinds_are_as_few_as_can_be():
    about, others = spread(0.5, 0.2, 201), spread(0.3, 0.2, 401)
    found = fit(about, others)
    assert 0.3 <= found.scale.probable <= 0.5
    assert 0.5 < found.auc < 1


@given(st.floats(-0.5, 0.8), st.floats(0.05, 0.4), st.integers(80, 200))
def test_any_evidence_that_tells_them_apart_gives_a_rising_scale(middle, apart, count):
    found = fit(spread(middle + apart, 0.1, count), spread(middle, 0.05, 2 * count))
    assert found.scale.unrelated < found.scale.probable < found.scale.sure


@pytest.mark.parametrize(
    ("about", "others", "topics", "words"),
    [
        pytest.param([0.5] * 39, [0.1] * 80, 4, "40 messages about them, found 39", id="members"),
        pytest.param([0.5] * 40, [0.1] * 79, 4, "another one, found 79", id="others"),
        pytest.param([0.5] * 40, [0.1] * 80, 3, "4 topics with known messages, found 3", id="few"),
        pytest.param([0.5] * 40, [np.nan] * 80, 4, "another one, found 0", id="no numbers"),
        pytest.param([0.3] * 40, [0.3] * 80, 4, "hardly closer .*50%", id="both are alike"),
    ],
)
def test_too_little_evidence_says_what_is_missing(about, others, topics, words):
    with pytest.raises(NotEnough, match=words):
        fit(about, others, topics=topics)


def test_what_is_stored_is_read_back_for_that_model_only(tmp_path):
    found = fit(spread(0.7, 0.1, 100), spread(0.2, 0.1, 300))
    where = store_calibration(FileVaultDocuments(tmp_path), found)
    path = tmp_path / FILE_NAME
    assert where == str(path)
    assert stored_scale(FileVaultDocuments(tmp_path), "some/model") == found.scale
    assert stored_scale(FileVaultDocuments(tmp_path), "another") is None
    evidence = json.loads(path.read_text())["evidence"]
    assert (evidence["chats"], evidence["about"], evidence["others"]) == (3, 100, 300)
    assert evidence["about_quantiles"]["50"] == pytest.approx(0.7)


def test_without_a_file_no_scale_is_known(tmp_path, caplog):
    assert stored_scale(FileVaultDocuments(tmp_path / "none"), "some/model") is None
    assert not caplog.records


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"version": 1, "model": "some/model"}',
        '{"version": 1, "model": "some/model", "scale": {"unrelated": 1, "probable": 0}}',
        '{"version": 1, "model": "some/model", "scale": {"unrelated": null}}',
    ],
)
def test_a_damaged_file_counts_as_none_and_is_reported(tmp_path, text, caplog):
    (tmp_path / FILE_NAME).write_text(text)
    with caplog.at_level(logging.WARNING):
        assert stored_scale(FileVaultDocuments(tmp_path), "some/model") is None
    assert "smart-context calibrate" in caplog.text


def test_a_file_of_a_later_version_is_passed_over(tmp_path):
    (tmp_path / FILE_NAME).write_text('{"version": 2, "model": "some/model"}')
    assert stored_scale(FileVaultDocuments(tmp_path), "some/model") is None


def test_a_scale_must_rise():
    with pytest.raises(ValueError, match="rise"):
        Scale(unrelated=0.3, probable=0.3, sure=0.5)
