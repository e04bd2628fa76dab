import numpy as np
import pytest

from smart_context.topics.naming.naming import reused_labels

TEXTS = ["tax return", "vat tax", "bike tour", "bike path"]
GROUPS = [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("previous", "closeness", "expected"),
    [
        pytest.param(["Tax Return"], [[0.6, 0.0]], {0: "Tax Return"}, id="it fits one group"),
        pytest.param(["Tax & Bike"], [[0.4, 0.4]], {}, id="it fits two groups alike"),
        pytest.param(["Guitar"], [[0.2, 0.1]], {}, id="it fits no group"),
        pytest.param(
            ["Vat", "Tax"], [[0.5, 0.0], [0.9, 0.0]], {0: "Tax"}, id="the better one of two"
        ),
        pytest.param([], np.zeros((0, 2)), {}, id="there was none"),
    ],
)
def test_a_former_label_is_used_again_when(previous, closeness, expected):
    found = reused_labels(previous, np.array(closeness, dtype=np.float32), TEXTS, GROUPS)
    assert found == expected
