"""Stands for the product's own plugin where a test is not about it."""


class Quiet:
    async def on_load(self, context):
        pass
