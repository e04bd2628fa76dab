"""Where the keys of the API's clients are kept, and at which address a server takes them."""

from smart_context.app.browsers import session_file
from smart_context.base.environment import user_folder
from smart_context.gateway.connecting import DEFAULT_BASE_URL
from smart_context.web.gate.client_keys import KeyFile


def key_file() -> KeyFile:
    """The keys of this user."""
    return KeyFile(user_folder())


def base_url() -> str:
    """The base URL of the server that runs; the usual one if none does, or several do."""
    servers = session_file().read()[1].servers.values()
    addresses = {server.address for server in servers}
    return f"{addresses.pop()}/v1" if len(addresses) == 1 else DEFAULT_BASE_URL
