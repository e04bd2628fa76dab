"""An embedder that can be told what to answer, and that remembers what it was asked."""

import asyncio
import hashlib

import numpy as np

from smart_context.base.errors import ModelFailed
from smart_context.chat.messages import Message


class FakeEmbedder:
    def __init__(self, name="fake", dimensions=4, vectors=None):
        self.name = name
        self.dimensions = dimensions
        self.vectors = vectors or {}
        self.batches = []
        self.failing = False
        self.gate = None
        self.entered = asyncio.Event()

    @property
    def asked(self):
        return [text for batch in self.batches for text in batch]

    async def embed(self, texts):
        self.batches.append(list(texts))
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.failing:
            raise ModelFailed("the embedder is down")
        rows = [self.vector(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), -1)

    def vector(self, text):
        if text in self.vectors:
            return self.vectors[text]
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
        row = np.random.default_rng(seed).standard_normal(self.dimensions)
        return row / np.linalg.norm(row)


def messages_saying(*texts):
    return [
        Message(id=f"m{number}", role="user" if number % 2 else "assistant", content=text)
        for number, text in enumerate(texts, start=1)
    ]
