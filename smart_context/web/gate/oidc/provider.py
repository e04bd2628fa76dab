"""An OpenID provider, asked by authlib; the extra `team` brings that."""

import asyncio
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from smart_context.base.config.access import AccessSettings
from smart_context.base.config.addresses import is_loopback
from smart_context.base.values import JsonObject

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""Signature methods with keys that only the provider has; its clients can't make these."""

_SCOPE = "openid profile email"
_KNOWN_S = 3600.0
_KEYS_AGAIN_S = 30.0
_TIMEOUT_S = 10.0
_LEEWAY_S = 60
_NAMES = ("name", "preferred_username", "email")


class ProviderFailed(Exception):
    """The provider can't be asked, or refuses; the words are for the person who logs in."""


class LoginProvider:
    """One provider.

    Args:
        settings: Its address, and this server's name there.
        secret: This server's secret there; empty for none.
    """

    def __init__(self, settings: AccessSettings, secret: str) -> None:
        self._settings = settings
        self._secret = secret
        self._metadata: JsonObject = {}
        self._keys: KeySet | None = None
        self._known_at = self._keys_at = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    async def login_address(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """The address at which a browser logs in.

        Raises:
            ProviderFailed: The provider can't be asked.
        """
        metadata = await self._known()
        async with self._client(redirect_uri) as client:
            address, _ = client.create_authorization_url(
                metadata["authorization_endpoint"],
                state=state,
                nonce=nonce,
                code_verifier=verifier,
            )
            return str(address)

    async def person(
        self, code: str, redirect_uri: str, nonce: str, verifier: str
    ) -> tuple[str, str]:
        """The person who logged in: the provider's name for them, and their own.

        Raises:
            ProviderFailed: The code is not valid, or the answer is not the provider's.
        """
        metadata = await self._known()
        try:
            async with self._client(redirect_uri) as client:
                token: JsonObject = await client.fetch_token(
                    metadata["token_endpoint"], code=code, code_verifier=verifier
                )
        except OAuthError as error:
            raise ProviderFailed(f"the provider refused the login ({error.error})") from error
        except (httpx2.HTTPError, ValueError) as error:
            raise ProviderFailed("the provider does not answer") from error
        claims = await self._claims(token, nonce)
        names = (claims.get(name) for name in _NAMES)
        shown = next((name for name in names if isinstance(name, str) and name.strip()), "")
        return claims["sub"], shown or claims["sub"]

    def is_issuer(self, issuer: str | None) -> bool:
        """True unless an answer names another provider."""
        return issuer is None or issuer.rstrip("/") == self._settings.issuer.rstrip("/")

    async def _claims(self, token: JsonObject, nonce: str) -> CodeIDToken:
        id_token = token.get("id_token")
        if not isinstance(id_token, str):
            raise ProviderFailed("the provider did not say who logged in")
        try:
            decoded = await self._decoded(id_token)
            claims = CodeIDToken(
                decoded.claims,
                decoded.header,
                options={
                    "iss": {"essential": True, "value": self._metadata["issuer"]},
                    "aud": {"essential": True, "value": self._settings.client_id},
                },
                params={
                    "nonce": nonce,
                    "client_id": self._settings.client_id,
                    "access_token": token.get("access_token"),
                },
            )
            claims.validate(leeway=_LEEWAY_S)
        except (JoseError, OAuthError, ValueError, KeyError, TypeError) as error:
            raise ProviderFailed("the provider's answer is not valid") from error
        if not isinstance(claims.get("sub"), str):
            raise ProviderFailed("the provider did not say who logged in")
        return claims

    async def _decoded(self, id_token: str) -> jwt.Token:
        try:
            return jwt.decode(id_token, await self._key_set(), algorithms=_ALGORITHMS)
        except (JoseError, ValueError):
            if time.monotonic() - self._keys_at < _KEYS_AGAIN_S:
                raise
            self._keys = None  # the provider may have new keys
            return jwt.decode(id_token, await self._key_set(), algorithms=_ALGORITHMS)

    async def _key_set(self) -> KeySet:
        if self._keys is None:
            self._keys_at = time.monotonic()
            self._keys = KeySet.import_key_set(await self._json(self._metadata["jwks_uri"]))  # type: ignore[arg-type] # checked there
        return self._keys

    async def _known(self) -> JsonObject:
        """The provider's metadata.

        Raises:
            ProviderFailed: If the metadata can't be fetched, or is not the provider's.
        """
        if time.monotonic() - self._known_at > _KNOWN_S:
            # All waiting requests share one answer: asked one by one, a provider that hangs would
            # delay each of them.
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask())
            await asyncio.shield(self._asking)
        return self._metadata

    async def _ask(self) -> None:
        address = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        metadata = await self._json(address)
        if not self.is_issuer(str(metadata.get("issuer"))):
            raise ProviderFailed("the provider calls itself by another name")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not _is_safe(metadata.get(name)):
                raise ProviderFailed(f"the provider's {name} is not an https address")
        self._metadata, self._known_at = metadata, time.monotonic()

    async def _json(self, address: str) -> JsonObject:
        try:
            async with self._client("") as client:
                answer = await client.request("GET", address, withhold_token=True)
                answer.raise_for_status()
                value: Any = answer.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise ProviderFailed("the provider does not answer") from error
        if not isinstance(value, dict):
            raise ProviderFailed("the provider's answer is not valid")
        return value

    def _client(self, redirect_uri: str) -> AsyncOAuth2Client:
        return AsyncOAuth2Client(
            client_id=self._settings.client_id,
            client_secret=self._secret or None,
            token_endpoint_auth_method=None if self._secret else "none",
            scope=_SCOPE,
            redirect_uri=redirect_uri or None,
            code_challenge_method="S256",
            follow_redirects=False,
            timeout=_TIMEOUT_S,
            trust_env=not is_loopback(urlsplit(self._settings.issuer).hostname or ""),
        )


def _is_safe(address: object) -> bool:
    if not isinstance(address, str):
        return False
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
