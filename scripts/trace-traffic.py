"""The traffic of scripts/record-traces: plain TCP sockets, no raw packets.

    trace-traffic.py SCENARIO CLIENT_NAMESPACE SERVER_NAMESPACE

A socket stays in the network namespace in which it was made, so one process can hold both ends:
it enters the namespace, makes the socket, and goes on.
"""

import ctypes
import os
import socket
import struct
import sys

# The folder's record-traces gives the namespaces these addresses.
SCANNER, SERVER, SERVER6 = "192.0.2.1", "192.0.2.2", "2001:db8::2"
CLIENTS = [f"192.0.2.{number}" for number in range(101, 111)]
CLIENTS6 = [f"2001:db8::{number}" for number in range(101, 111)]
OPEN_PORT = 8080
REQUEST, ANSWER = b"GET / HTTP/1.0\r\n\r\n", b"x" * 4000
CLONE_NEWNET = 0x40000000


class Namespace:
    """A network namespace made by `ip netns add`."""

    _libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, name):
        self.path = f"/run/netns/{name}"

    def make_socket(self, address, port=0):
        """A socket bound to `address`; port 0 lets the kernel choose."""
        handle = os.open(self.path, os.O_RDONLY)
        try:
            if self._libc.setns(handle, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"cannot enter {self.path}")
        finally:
            os.close(handle)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        made.settimeout(5)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        return made

    def listen(self, address, port=OPEN_PORT):
        listener = self.make_socket(address, port)
        listener.listen()
        return listener


def connected(client, address, listener):
    """Both ends of a new connection from `address`."""
    near = client.make_socket(address)
    near.connect(listener.getsockname()[:2])
    far, _ = listener.accept()
    far.settimeout(5)
    return near, far


def read_exactly(end, size):
    while size > 0:
        size -= len(end.recv(size))


def exchange(near, far):
    """A request and its answer."""
    near.sendall(REQUEST)
    read_exactly(far, len(REQUEST))
    far.sendall(ANSWER)
    read_exactly(near, len(ANSWER))


def close_orderly(first, second):
    """FIN from each side, the second after it has seen the first."""
    first.shutdown(socket.SHUT_WR)
    assert second.recv(1) == b""
    second.close()
    assert first.recv(1) == b""
    first.close()


def reset(end):
    """Closes with a RST: lingering for zero seconds drops the connection."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def is_open(client, source, address, port):
    with client.make_socket(source) as near:
        try:
            near.connect((address, port))
        except ConnectionRefusedError:
            return False
        return True


def handshakes(client, server, sources=CLIENTS, address=SERVER):
    """Two connections a client: open, request, answer, orderly close from either side in turn."""
    with server.listen(address) as listener:
        for source in sources:
            for client_closes_first in (True, False):
                near, far = connected(client, source, listener)
                exchange(near, far)
                close_orderly(*((near, far) if client_closes_first else (far, near)))


def refused(client, server, sources=CLIENTS, address=SERVER):
    """Two connections a client to closed ports: SYN, and RST+ACK for an answer."""
    del server
    for source in sources:
        for port in (9000, 9001):
            assert not is_open(client, source, address, port)


def resets(client, server, sources=CLIENTS, address=SERVER):
    """Connections that end in a RST: after data from the client, from the server, at once."""
    with server.listen(address) as listener:
        for number, source in enumerate(sources):
            near, far = connected(client, source, listener)
            if number % 3 != 2:
                exchange(near, far)
            aborting, other = (far, near) if number % 3 == 1 else (near, far)
            reset(aborting)
            try:
                other.recv(1)
            except ConnectionResetError:
                pass
            other.close()


def port_scan(client, server):
    """One source, one connection attempt to each of a hundred ports, two of them open."""
    with server.listen(SERVER, 22) as ssh, server.listen(SERVER, 80) as web:
        found = [port for port in range(1, 101) if is_open(client, SCANNER, SERVER, port)]
        assert found == [22, 80], found
        for listener in (ssh, web):
            far, _ = listener.accept()
            far.close()


def ipv6(client, server):
    """Orderly connections, refused ports and resets over IPv6."""
    handshakes(client, server, CLIENTS6[:5], SERVER6)
    refused(client, server, CLIENTS6[5:7], SERVER6)
    resets(client, server, CLIENTS6[7:], SERVER6)


def mixed(client, server):
    """All of the above, one after the other: a small network on which someone scans a server."""
    for scenario in (handshakes, refused, port_scan, resets, ipv6):
        scenario(client, server)


SCENARIOS = {
    "handshakes": handshakes,
    "refused": refused,
    "resets": resets,
    "port-scan": port_scan,
    "ipv6": ipv6,
    "mixed": mixed,
}

if __name__ == "__main__":
    scenario_name, client_name, server_name = sys.argv[1:]
    SCENARIOS[scenario_name](Namespace(client_name), Namespace(server_name))
