"""Trust in a vault: its parts, and the user's grants (docs/security.md).

A vault is untrusted until the user trusts it. Everything that can act for it (plugins, roles and
templates, endpoints, git and so on) is a part that is pinned to its content: a part that changes is
off again, the others stay on.
"""
