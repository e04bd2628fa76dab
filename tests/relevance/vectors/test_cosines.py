import numpy as np
import pytest

from smart_context.relevance.vectors.cosines import similarities


@pytest.mark.parametrize("queries", [0, 1, 4, 5, 9])
@pytest.mark.parametrize("count", [0, 1, 511, 512, 1_300])
def test_similarities_are_the_plain_dot_products(queries, count):
    random = np.random.default_rng(queries)
    matrix = random.standard_normal((count, 24)).astype(np.float32)
    wanted = random.standard_normal((queries, 24)).astype(np.float32)
    found = similarities(wanted, matrix)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted @ matrix.T, rtol=1e-4, atol=1e-4)
