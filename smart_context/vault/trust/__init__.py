"""Trust in a vault: its parts, and the user's grants (docs/security.md).

A vault is untrusted until the user says otherwise. Everything that can act for it (plugins, roles
and templates, endpoints, git) is a part pinned to its content: a part that changes is off again,
the others stay on.
"""
