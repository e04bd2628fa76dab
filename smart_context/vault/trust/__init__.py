"""Trust in a vault: its parts, the user's grants, and what is off until then (docs/security.md).

A vault is untrusted until the user says otherwise. Everything that can act for it (plugins, roles
and templates, endpoints, git) is a part pinned to its content: a part that changes is off again,
the others stay on.
"""
