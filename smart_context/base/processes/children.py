"""The child processes of this program, one for each kind of work."""

from dataclasses import dataclass, field

from smart_context.base.processes.child import Child


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """Two processes at most, each started by its first job.

    Attributes:
        files: Reads attached files, which may take seconds.
        texts: Does what a page or a turn waits for: templates, Markdown, colours of code.
    """

    files: Child = field(default_factory=Child)
    texts: Child = field(default_factory=Child)

    def close(self) -> None:
        """Kill both; no others are started."""
        self.files.close()
        self.texts.close()
