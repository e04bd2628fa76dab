"""The headers that every response has: nothing from elsewhere, nothing inline. Pure."""

import base64
import hashlib

PLAIN_STYLE = (
    ":root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif}"
    "main{max-width:36rem;margin:15vh auto;padding:0 1.5rem}"
    "h1{font-size:1.4rem;line-height:1.3}"
    "code{font:1em/1.6 ui-monospace,monospace;user-select:all}"
)
"""The style of pages for those who may fetch nothing else, such as a style sheet."""

PLAIN_STYLE_SOURCE = (
    f"'sha256-{base64.b64encode(hashlib.sha256(PLAIN_STYLE.encode()).digest()).decode()}'"
)


def security_headers(path: str, host: str, *, is_secure: bool = False) -> dict[str, str]:
    """The headers of a response.

    Args:
        path: The path of the request; pages of panels may be framed by our own pages.
        host: What `named_host` says, for which sockets may be opened; empty for none.
        is_secure: The request came over TLS.
    """
    is_panel = path.startswith("/panels/")
    ancestors = "'self'" if is_panel else "'none'"
    sockets = f" {'wss' if is_secure else 'ws'}://{host}" if host else ""
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' {PLAIN_STYLE_SOURCE}; "
        "img-src 'self' data:; font-src 'self'; "
        f"connect-src 'self'{sockets}; frame-src 'self'; manifest-src 'self'; "
        f"base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN" if is_panel else "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Cache-Control": "no-cache",
    }
