"""The limits of the web layer, such as the size of requests and the lag of clients."""

MIB = 1024 * 1024

MAX_FRAME_BYTES = 8 * MIB
"""Largest frame or body; larger ones are refused."""

MAX_WIRE_FRAME_BYTES = 2 * MAX_FRAME_BYTES
"""Frames larger than this aren't read: the socket closes with 1009."""

MAX_UPLOAD_BYTES = 25 * MIB
"""Largest file that can be attached."""

MAX_DROPPED_BYTES = 8 * MAX_FRAME_BYTES
"""Most bytes of a body too large that are read, so that its sender gets an answer."""

MAX_JSON_DEPTH = 100
"""Deepest nesting of JSON; deeper JSON is refused before it is parsed."""

MAX_OUTBOX_BYTES = 8 * MIB
"""Most bytes that wait for a slow client, before it is disconnected."""

MAX_STALL_S = 30.0
"""Longest wait for a client that does not read at all."""

MAX_RUNNING_COMMANDS = 256
"""Most requests of one client that run at a time; the next is read when one ends."""

HEAD_DEADLINE_S = 10.0
"""Time for a connection until a request is let in, and for each later request head."""

KEEP_ALIVE_S = 5
"""Longest rest of a connection between two requests."""

WANTED_DESCRIPTORS = 8192
"""File descriptors that the server asks the system for."""

SPARE_DESCRIPTORS = 64
"""Fewest descriptors kept for files, models and child processes."""

MAX_STRANGERS = 1024
"""Most connections on which no request has been let in yet."""

ACCEPTED_IN_A_ROW = 16
"""Connections accepted in a row, before they are counted."""

QUIET_S = 60.0
"""Time between two log lines about the same trouble."""

PING_INTERVAL_S = 20.0
PING_TIMEOUT_S = 20.0

SESSIONS_POLL_S = 2.0
"""Time between two checks for ended sessions."""

MIN_TOKEN_CHARS = 16
"""Fewest characters of a user's token; shorter ones could be guessed."""

STOP_HOST_S = 3.2
"""Time for the host to stop and save running answers."""

STOP_GRACE_S = 0.5
"""Time to tell clients after that how their commands ended."""

STOP_CONNECTIONS_S = 1
"""Time for open connections to close after that; in all under 5 s."""
