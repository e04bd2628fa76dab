"""Matrices of four bits a weight."""

import struct

import numpy as np

from smart_context.llm.multilingual.e5 import BLOCK
from tests.benchmarks.convert_multilingual import four_bits


def block(scale, weights):
    """A block of 32 weights of 0 to 15."""
    packed = bytes(weights[i] | weights[i + BLOCK // 2] << 4 for i in range(BLOCK // 2))
    return struct.pack("<e", scale) + packed


def test_blocks_give_their_weights_in_order():
    weights = [i % 16 for i in range(BLOCK)]
    matrix = four_bits(block(0.5, weights) + block(2, [8] * BLOCK), BLOCK)
    np.testing.assert_array_equal(matrix.whole()[0], [(w - 8) / 2 for w in weights])
    np.testing.assert_array_equal(matrix.rows(np.array([[1, 0]]))[0, 0], np.zeros(BLOCK))
