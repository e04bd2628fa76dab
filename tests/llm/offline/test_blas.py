"""One thread for linear algebra."""

from smart_context.llm.offline.blas import use_one_thread


def test_asking_for_one_thread_never_fails_and_can_be_repeated():
    assert use_one_thread() == use_one_thread()
