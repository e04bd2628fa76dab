"""The words of messages as short vectors, so that shared words count as well as meaning."""

import math
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.words import content_words
from smart_context.llm.models import Matrix
from smart_context.topics.clusters.unit_length import at_unit_length

_WIDTH = 256
_WEIGHT = 0.3
"""The squared length of a row: the weight of words, where an embedding has 1."""


def word_vectors(texts: Sequence[str]) -> Matrix:
    """Shape (n, 256): rows of equal length; zero for a text without a shared word.

    Words are weighted by rarity and folded by a fixed random projection: the same texts give the
    same rows on every machine.
    """
    documents = [set(content_words(text)) for text in texts]
    holding = Counter(word for document in documents for word in document)
    rows = np.zeros((len(texts), _WIDTH), dtype=np.float32)
    directions: dict[str, NDArray[np.float32]] = {}
    for place, document in enumerate(documents):
        for word in sorted(word for word in document if holding[word] > 1):
            if word not in directions:
                rarity = math.log(1 + len(texts) / holding[word])
                directions[word] = _direction(word) * np.float32(rarity)
            rows[place] += directions[word]
    return np.asarray(at_unit_length(rows) * math.sqrt(_WEIGHT), dtype=np.float32)


def _direction(word: str) -> NDArray[np.float32]:
    seed = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    return np.random.default_rng(seed).standard_normal(_WIDTH).astype(np.float32)
