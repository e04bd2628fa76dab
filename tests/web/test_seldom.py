from smart_context.web.seldom import Seldom


def test_a_line_is_due_at_once_and_then_once_in_a_while():
    now = [0.0]
    seldom = Seldom(quiet_s=60, clock=lambda: now[0])
    assert seldom.count() == 1
    assert [seldom.count() for _ in range(1000)] == [0] * 1000
    now[0] = 60
    assert seldom.count() == 1001
    assert seldom.count() == 0
