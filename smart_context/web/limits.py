"""How much a stranger may send, and how long a client may lag behind.

Every limit of the web edge is here, so that they can be read, and judged, together.
"""

MIB = 1024 * 1024

MAX_FRAME_BYTES = 8 * MIB
"""A frame or a body larger than this is refused (contract A10)."""

MAX_WIRE_FRAME_BYTES = 2 * MAX_FRAME_BYTES
"""A frame larger than this isn't even read: the socket closes with 1009."""

MAX_UPLOAD_BYTES = 25 * MIB
"""A file larger than this can't be attached."""

MAX_DROPPED_BYTES = 8 * MAX_FRAME_BYTES
"""How much of a body that is too large is read and dropped, so that its sender gets an answer."""

MAX_JSON_DEPTH = 100
"""Objects and arrays within each other; deeper JSON is refused before it is parsed."""

MAX_OUTBOX_BYTES = 8 * MIB
"""What may wait for a client that reads too slowly, before it is disconnected."""

MAX_STALL_S = 30.0
"""How long one frame may wait for a client that does not read at all."""

MAX_RUNNING_COMMANDS = 256
"""Requests of one client that run at the same time; the next one is not read until one ends."""

HEAD_DEADLINE_S = 10.0
"""How long a connection may take until a request on it is let in, or its next head is whole."""

KEEP_ALIVE_S = 5
"""How long a connection that was let in may rest between two requests."""

WANTED_DESCRIPTORS = 8192
"""How many files and sockets the server asks the system for."""

SPARE_DESCRIPTORS = 64
"""The least that is kept for files, models and child processes."""

MAX_STRANGERS = 1024
"""The most connections at a time on which no request has been let in yet."""

ACCEPTED_IN_A_ROW = 16
"""How many connections are taken before those that were taken are counted."""

QUIET_S = 60.0
"""How long a log line about the same trouble keeps the next one back."""

PING_INTERVAL_S = 20.0
PING_TIMEOUT_S = 20.0

SESSIONS_POLL_S = 2.0
"""How often it is looked whether somebody has ended a browser's session."""

MIN_TOKEN_CHARS = 16
"""A shorter token of the user's could be guessed."""

STOP_HOST_S = 3.2
"""How long the host may take to stop: it keeps the parts of running answers."""

STOP_GRACE_S = 0.5
"""How long clients may then take to be told how their commands ended."""

STOP_CONNECTIONS_S = 1
"""How long open connections may then take to close; all of it stays under 5 s."""
