from smart_context.web.gate.refusals import security_headers


def test_the_policy_lets_nothing_in_from_elsewhere():
    policy = security_headers("/", "127.0.0.1:8000")["Content-Security-Policy"]
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["connect-src"] == "'self' ws://127.0.0.1:8000"
    assert directives["frame-ancestors"] == "'none'"
    assert directives["script-src"] == "'self'"
    assert "unsafe" not in policy
    assert "*" not in policy


def test_only_pages_of_panels_may_be_framed_and_only_by_us():
    panel = security_headers("/panels/smart_context", "h:1", is_secure=True)
    assert "frame-ancestors 'self'" in panel["Content-Security-Policy"]
    assert "wss://h:1" in panel["Content-Security-Policy"]
    assert panel["X-Frame-Options"] == "SAMEORIGIN"
    assert security_headers("/", "h:1")["X-Frame-Options"] == "DENY"
