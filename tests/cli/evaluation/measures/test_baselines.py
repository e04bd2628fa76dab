import numpy as np

from smart_context.cli.evaluation.measures.measures import Baselines

TEXTS = ["the kite is red", "tea", "bread and salt", "my boat", "a kite again", "the newest one"]
ROWS = np.eye(6, dtype=np.float32)


def test_each_way_takes_its_best_until_the_tokens_are_used_up():
    simple = Baselines.of(TEXTS, ROWS, [1] * 6)
    one = simple.recalls("kite", ROWS[3], [5], 1)
    assert one == {"newest": 1, "bm25": 0, "cosine": 0, "both": 0}
    kites = simple.recalls("kite", ROWS[3], [0, 4], 2)
    assert kites["bm25"] == 1
    assert simple.recalls("kite", ROWS[3], [3], 1)["cosine"] == 1
    assert set(simple.recalls("kite", ROWS[3], [0, 3], 6).values()) == {1}
    assert set(simple.recalls("kite", ROWS[3], [0, 3], 0).values()) == {0}
