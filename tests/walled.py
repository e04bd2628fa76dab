"""A network without a way out, in which every attempt to leave is recorded.

    report = walled("tests.product.test_nothing_is_sent:everyday", tmp_path)

runs the function in a process of its own, within a network namespace that has a loopback and a
device that leads nowhere. What any process sends there is seen where it leaves, whoever sends it:
Python, native code or a program that was started.
"""

import importlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

_NAMESPACE = ("unshare", "--user", "--map-root-user", "--net", "--")
_DEVICES = """
link set lo up
link add out0 type veth peer name out1
link set out0 arp off
link set out0 up
link set out1 up
addr add 192.0.2.1/24 dev out0
route add default via 192.0.2.254 dev out0
"""
_IPV6_DEVICES = """
-6 addr add 2001:db8::1/64 dev out0 nodad
-6 route add default via 2001:db8::2 dev out0
"""
_EVERY_PROTOCOL = 3
_LEAVING = 4
_TCP, _UDP = 6, 17
_OPENS, _ANSWERS = 0x02, 0x10


def walled(scenario, folder):
    """What `module:function` returned for the folder, and the places that were contacted."""
    if not (shutil.which("unshare") and shutil.which("ip")):
        pytest.skip("needs unshare (util-linux) and ip (iproute2)")
    if subprocess.run([*_NAMESPACE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs user namespaces, which this system does not allow")
    report = folder / "report.json"
    run = subprocess.run(
        [*_NAMESPACE, sys.executable, "-m", "tests.walled", scenario, str(folder), str(report)],
        check=False,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
    )
    if run.returncode == _NO_DEVICES:
        pytest.skip(f"can't make devices in a network namespace: {run.stderr}")
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(report.read_text(encoding="utf-8"))


_NO_DEVICES = 77


def main(scenario, folder, report):
    """Run one scenario; called within the namespace."""
    try:
        _ip(_DEVICES)
        recorder = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_EVERY_PROTOCOL))
    except (OSError, subprocess.CalledProcessError) as error:
        print(getattr(error, "stderr", error), file=sys.stderr)
        return _NO_DEVICES
    if Path("/proc/net/if_inet6").exists():
        _ip(_IPV6_DEVICES)
    module, name = scenario.split(":")
    with _recording(recorder) as contacted:
        returned = getattr(importlib.import_module(module), name)(Path(folder))
    places = sorted({*contacted})
    Path(report).write_text(json.dumps({"returned": returned, "contacted": places}))
    return 0


def _ip(lines):
    for line in filter(None, lines.splitlines()):
        subprocess.run(["ip", *line.split()], check=True, capture_output=True, text=True)


@contextmanager
def _recording(recorder):
    """A list that fills with `[address, port]` of each connection or datagram."""
    contacted = []
    recorder.settimeout(0.2)
    over = threading.Event()

    def record():
        while True:
            try:
                packet, sender = recorder.recvfrom(256)
            except TimeoutError:
                if over.is_set():
                    return
                continue
            if sender[2] == _LEAVING and (place := _place(packet)):
                contacted.append(place)

    thread = threading.Thread(target=record)
    thread.start()
    try:
        yield contacted
    finally:
        over.set()
        thread.join()
        recorder.close()


def _place(packet):
    """Where a packet opens a connection to, or sends a datagram; `None` for any other packet."""
    if packet[0] >> 4 == 4:
        protocol, address, payload = packet[9], packet[16:20], packet[(packet[0] & 15) * 4 :]
    elif packet[0] >> 4 == 6:
        protocol, address, payload = packet[6], packet[24:40], packet[40:]
    else:
        return None
    opens = protocol == _TCP and payload[13] & (_OPENS | _ANSWERS) == _OPENS
    if not opens and protocol != _UDP:
        return None
    family = socket.AF_INET if len(address) == 4 else socket.AF_INET6
    return socket.inet_ntop(family, address), struct.unpack(">H", payload[2:4])[0]


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main(*sys.argv[1:]))
