"""Deaths of workers that belong to a tried setting: they may die, for lack of memory say, while the script does
something else, or may neither deliver nor end.
"""

import contextlib
import os
import signal
import threading
import weakref

# The loaders that are being tried in this process.
_tried = weakref.WeakSet()
_is_waiting = False
_is_ending = False
# Whether a child may have ended since all tried workers were found alive.
_has_news = True


class WorkerDied(RuntimeError):
    pass


class TookTooLong(RuntimeError):
    def __init__(self, seconds):
        super().__init__("no batch came within %.3g s" % seconds)
        self.seconds = seconds


def watch(inner):
    """torch raises an error about a dead worker anywhere in the main thread. For workers of `inner` it is postponed
    until a batch is waited for.
    """
    global _has_news
    _tried.add(inner)
    _has_news = True
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGCHLD)
    if not callable(before) or getattr(before, "is_put_off", False):
        return

    def handle(number, frame):
        global _has_news
        _has_news = True
        if not _is_ending and (_is_waiting or not any(map(_has_died, _tried))):
            before(number, frame)

    handle.is_put_off = True
    signal.signal(signal.SIGCHLD, handle)


def end(inner, grace=1):
    """Ends it regularly, even if some workers have died; those that take longer than `grace` seconds are killed."""
    global _is_ending
    _is_ending = True
    try:
        with _limited(inner, grace):
            inner.end()
    finally:
        _is_ending = False
        _tried.discard(inner)


@contextlib.contextmanager
def _limited(inner, grace):
    """Its workers end within this context, or are killed."""
    workers = inner.workers()
    killer = threading.Timer(grace, _kill, [workers])
    if workers:
        # No thread starts while Python ends, when torch has ended its workers, or where too many run: then torch's own
        # limits hold.
        with contextlib.suppress(RuntimeError):
            killer.start()
    try:
        yield
    finally:
        killer.cancel()


def end_of(inner, grace):
    """Like next_of() when all was delivered: the loader ends its workers, for which torch would wait longer."""
    with _limited(inner, grace):
        return next_of(inner)


def next_of(inner, seconds=None):
    """The next batch of an inner loader. For one that is tried, raises WorkerDied or torch's own error if it has lost a
    worker, and TookTooLong if none comes within `seconds`.
    """
    global _is_waiting
    if inner.is_own:
        return next(inner.iterator)
    if inner.has_lost_files():
        raise OSError("the script has closed the descriptors of the workers that pinbench has started")
    if _is_lost(inner):
        raise WorkerDied("a worker exited unexpectedly")
    _is_waiting = True
    try:
        return inner.next_within(seconds)
    except RuntimeError as error:
        if seconds is None or not str(error).startswith("DataLoader timed out"):
            raise
        raise TookTooLong(seconds) from error
    finally:
        _is_waiting = False


def _kill(workers):
    for worker in workers:
        # The number of one that was waited for may be another process' by now.
        if worker._popen is not None and worker._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)


def exit_code(inner):
    """Exit code of a dead worker, below 0 for a signal; None if none has died, or if it is unknown by now."""
    return dead_worker(inner)[1]


def dead_worker(inner):
    """Its process id and exit code."""
    codes = ((pid, _exit_code(pid)) for pid in inner.worker_pids())
    return next(((pid, code) for pid, code in codes if code), (None, None))


def _is_lost(inner):
    """Like _has_died(), without a question for each worker at each batch: the kernel tells when a child has ended."""
    global _has_news
    handler = signal.getsignal(signal.SIGCHLD)
    is_told = getattr(handler, "is_put_off", False) and threading.current_thread() is threading.main_thread()
    if is_told and not _has_news:
        return False
    # Before looking, because another child may end meanwhile.
    _has_news = False
    _has_news = any(map(_has_died, _tried)) or _has_news
    return _has_died(inner)


def _has_died(inner):
    return exit_code(inner) is not None


def _exit_code(pid):
    try:
        # Left for multiprocessing to collect.
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
