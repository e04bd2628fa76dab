"""The limit of open files and sockets of this process."""

import sys

from smart_context.web.limits import WANTED_DESCRIPTORS

if sys.platform == "win32":

    def raised_limit(wanted: int = WANTED_DESCRIPTORS) -> int:
        """The wanted number; this system sets no limit."""
        return wanted

else:
    import resource

    def raised_limit(wanted: int = WANTED_DESCRIPTORS) -> int:
        """Raise the limit towards the wanted one; returns the limit in force."""
        limit, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
        if limit == resource.RLIM_INFINITY or limit >= wanted:
            return wanted
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, ceiling))
        except (OSError, ValueError):
            return limit
        return wanted
