"""What every test may ask for."""

import hypothesis
import pytest

pytest_plugins = ["tests.vaults"]

# A machine that is busy with other tests is slow at times; that is no fault of the code.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture
def anyio_backend():
    return "asyncio"
