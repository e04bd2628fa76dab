"""How many files and sockets this process may have open."""

import sys

from smart_context.web.limits import WANTED_DESCRIPTORS

if sys.platform == "win32":

    def raised_limit(wanted: int = WANTED_DESCRIPTORS) -> int:
        """The wanted number: this system has no limit of its own."""
        return wanted

else:
    import resource

    def raised_limit(wanted: int = WANTED_DESCRIPTORS) -> int:
        """The limit in force, raised to the wanted one as far as the system allows."""
        limit, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
        if limit == resource.RLIM_INFINITY or limit >= wanted:
            return wanted
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, ceiling))
        except (OSError, ValueError):
            return limit
        return wanted
