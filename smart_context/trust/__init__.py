"""What a vault may do: what it wants, what the user has granted, and what is off until then.

A vault is a stranger's folder until the user trusts it. Whatever can act for it (plugins, roles and
templates, endpoints, git) is a part that is pinned to its content: a part that changes is off
again, the others go on.
"""
