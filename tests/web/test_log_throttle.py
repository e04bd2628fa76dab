from smart_context.web.connections import LogThrottle


def test_a_line_is_due_at_once_and_then_once_in_a_while():
    now = [0.0]
    throttle = LogThrottle(quiet_s=60, clock=lambda: now[0])
    assert throttle.count() == 1
    assert [throttle.count() for _ in range(1000)] == [0] * 1000
    now[0] = 60
    assert throttle.count() == 1001
    assert throttle.count() == 0
