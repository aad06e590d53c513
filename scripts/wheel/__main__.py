"""The program of `pinbench` and `python -m pinbench`: replaces this process by the wheel's Node."""

import os
import sys
from importlib.util import find_spec

program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program")


def environment():
    """The environment for pinbench. If this Python has torch, trainings will use it."""
    variables = dict(os.environ)
    if sys.executable and find_spec("torch") is not None:
        variables.setdefault("PINBENCH_PYTHON", sys.executable)
    # In the C locale Python sets LC_CTYPE for itself (PEP 538), and pinbench would take it for the user's.
    if "LC_CTYPE" in variables and not was_given("LC_CTYPE"):
        del variables["LC_CTYPE"]
    return variables


def was_given(name):
    try:
        with open("/proc/self/environ", "rb") as file:
            return any(entry.startswith(os.fsencode(name) + b"=") for entry in file.read().split(b"\0"))
    except OSError:
        return True


def main():
    """Replaces this process, so signals and the exit code are pinbench's own."""
    node = os.path.join(program, "runtime", "node")
    try:
        os.execve(node, [node, os.path.join(program, "bin", "pinbench.js"), *sys.argv[1:]], environment())
    except OSError as error:
        sys.stderr.write(
            f"pinbench: its own Node, {node}, cannot be run: {error.strerror}. "
            "It needs Linux on the wheel's processor, and a file system that may hold programs (not mounted noexec).\n"
        )
        sys.exit(3)


if __name__ == "__main__":
    main()
