"""Times in the form that messages, receipts and lists use."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo


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


def moment_of(text: object, zone: tzinfo = UTC) -> datetime | None:
    """The moment of an ISO 8601 text, in UTC; `None` for anything else.

    Args:
        text: The text.
        zone: The time zone of a text that names none.
    """
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        return moment and (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def zone_named(name: str) -> tzinfo:
    """The time zone of an IANA name such as `Europe/Berlin`; UTC if there is none of that name."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ValueError, OSError, KeyError):  # a path, a folder, an unknown name
        return UTC
