"""Processes that are ended together: a program, and all that it started.

For POSIX systems that is a process group, for Windows a job object.
"""

import contextlib
import os
import signal
import struct
import subprocess  # noqa: TID251  the type of what others start
import sys

if sys.platform == "win32":
    import ctypes
    import weakref

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.CreateJobObjectW.restype = ctypes.c_void_p
    _kernel.OpenProcess.restype = ctypes.c_void_p
    _ASSIGNABLE = 0x0101  # PROCESS_SET_QUOTA | PROCESS_TERMINATE
    _EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
    _END_WHEN_CLOSED = 0x2000  # JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
    _LIMITS = struct.Struct("@2qI2PIP2I6Q4P")  # JOBOBJECT_EXTENDED_LIMIT_INFORMATION
    _FLAGS_ONLY = 0, 0, _END_WHEN_CLOSED, *[0] * 16

    class ProcessGroup:
        """A process that was just started, with all that it starts.

        Args:
            ends_with_us: Ended by the system when this process ends in any way.
        """

        def __init__(
            self, process: "subprocess.Popen[bytes]", *, ends_with_us: bool = False
        ) -> None:
            self._process = process
            self._job = ctypes.c_void_p(_kernel.CreateJobObjectW(None, None))
            self._closing = weakref.finalize(self, _kernel.CloseHandle, self._job)
            if ends_with_us:
                limits = _LIMITS.pack(*_FLAGS_ONLY)
                _kernel.SetInformationJobObject(self._job, _EXTENDED_LIMITS, limits, len(limits))
            opened = ctypes.c_void_p(_kernel.OpenProcess(_ASSIGNABLE, False, process.pid))
            self._holds = bool(_kernel.AssignProcessToJobObject(self._job, opened))
            _kernel.CloseHandle(opened)

        def kill(self) -> None:
            """End all of them at once."""
            if self._holds:
                _kernel.TerminateJobObject(self._job, 1)
            else:  # it has ended, or a rule of the administrator forbids this
                self._process.kill()

else:

    class ProcessGroup:
        """A process that was just started in a session of its own, with all that it starts.

        Args:
            ends_with_us: No effect here: the process ends itself (`child_main`).
        """

        def __init__(
            self,
            process: "subprocess.Popen[bytes]",
            *,
            ends_with_us: bool = False,  # noqa: ARG002 - see above
        ) -> None:
            self._id = process.pid

        def kill(self) -> None:
            """End all of them at once."""
            with contextlib.suppress(ProcessLookupError, PermissionError):  # all of them are gone
                os.killpg(self._id, signal.SIGKILL)
