"""What one test did to a browser context must not reach the next test."""

import pytest

from tests.browser.contexts import Contexts

pytestmark = pytest.mark.browser


def test_a_context_whose_clock_a_test_stopped_is_not_used_again(chromium):
    contexts = Contexts(chromium)
    stopped = contexts.take()
    stopped.context.new_page().clock.install()
    contexts.give_back(stopped)
    following = contexts.take()
    assert following is not stopped
    contexts.give_back(following)
    assert contexts.take() is following
    following.context.close()
