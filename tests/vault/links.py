"""The links of notes, as tests compare them."""


def outlinks(index, path):
    """The other files that a file links to, each once, in the order of its text."""
    targets = dict.fromkeys(resolved.path for _, resolved in index.links(path))
    return tuple(target for target in targets if target not in (None, path))
