"""A small OpenID provider over HTTP: it logs in whoever the test says."""

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "smart-context", "a secret of this server alone"


class Provider:
    """Its state.

    Attributes:
        sub: Who logs in next.
        claims: Further claims of the next token, or others in place of the right ones.
        asked: The queries with which browsers came.
    """

    def __init__(self, origin):
        self.origin = origin
        self.key = RSAKey.generate_key(2048, parameters={"kid": "one"})
        self.signs_with = self.key
        self.sub = "alice"
        self.claims = {}
        self.asked = []
        self.codes = {}

    def metadata(self):
        return {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "jwks_uri": f"{self.origin}/keys",
        }

    def authorize(self, query):
        self.asked.append(query)
        code = f"code-{len(self.asked)}"
        self.codes[code] = query, self.sub
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form, authorization):
        user, _, password = b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        asked, sub = self.codes.pop(form.get("code"), ({}, ""))
        verifier = sha256(form.get("code_verifier", "").encode()).digest()
        challenge = urlsafe_b64encode(verifier).rstrip(b"=").decode()
        right = (CLIENT, SECRET, asked.get("code_challenge"), asked.get("redirect_uri"))
        if (
            user,
            unquote(password.replace("+", " ")),
            challenge,
            form.get("redirect_uri"),
        ) != right:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.origin,
            "sub": sub,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "name": sub.title(),
            **self.claims,
        }
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.signs_with)
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": token}


@contextmanager
def providing():
    """A provider on a free port."""
    holder = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", holder["provider"].authorize(query))
                self.end_headers()
            elif parts.path == "/keys":
                public = holder["provider"].key.as_dict(private=False)
                self.say(200, {"keys": [{**public, "use": "sig", "alg": "RS256"}]})
            else:
                self.say(200, holder["provider"].metadata())

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self.say(*holder["provider"].token(form, self.headers.get("Authorization", "")))

        def say(self, status, value):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    holder["provider"] = Provider(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield holder["provider"]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
