"""Whether a text that is being written is about another topic than the picked ones."""

import numpy as np
import pytest

from smart_context.relevance.scorer import clearly_elsewhere


@pytest.mark.parametrize(
    ("near", "picked", "meant"),
    [
        pytest.param([0.9, 0.2, 0.1], [1], 0, id="clearly another one"),
        pytest.param([0.9, 0.2, 0.1], [0], None, id="the picked one"),
        pytest.param([0.9, 0.4, 0.1], [1], None, id="nearly as near to the picked one"),
        pytest.param([0.9, 0.1, 0.7], [1], None, id="as near to a third"),
        pytest.param([0.35, -0.3, -0.3], [1], None, id="far from all"),
        pytest.param([0.9, 0.1], [], None, id="nothing picked"),
        pytest.param([0.9, 0.1], [0, 1], None, id="all picked"),
        pytest.param([], [], None, id="no topics"),
    ],
)
def test_a_text_is_off_the_pick_only_if_it_is_clearly_about_another_topic(near, picked, meant):
    assert clearly_elsewhere(np.array(near), picked) == meant
