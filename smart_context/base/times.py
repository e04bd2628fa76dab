"""Times as messages, receipts and lists have them."""

from datetime import UTC, datetime


def utc_stamp(moment: datetime | float | None = None) -> str:
    """A moment as `2026-01-31T09:30:00Z`; by default now.

    Args:
        moment: With a time zone, or in seconds since 1970.
    """
    if moment is None:
        moment = datetime.now(UTC)
    elif not isinstance(moment, datetime):
        moment = datetime.fromtimestamp(moment, UTC)
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def moment_of(text: object) -> datetime | None:
    """The moment of an ISO 8601 text, in UTC where it names no zone; `None` for anything else."""
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        return moment and (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
