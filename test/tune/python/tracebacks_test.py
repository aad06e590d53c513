"""What the probe tells of a traceback: the error, the place in the script's own code, and the frames of that."""

import json
import os
import unittest
from unittest import mock

import support  # noqa: F401
import torch

from pinbench_probe.faults import tracebacks


class TracebackTest(unittest.TestCase):
    def test_a_place_is_relative_below_the_current_folder_alone_and_without_one_as_it_is(self):
        here = os.path.join(os.getcwd(), "a", "b.py")
        self.assertEqual(tracebacks.shorten(here), os.path.join("a", "b.py"))
        self.assertEqual(tracebacks.shorten("/elsewhere/b.py"), "/elsewhere/b.py")
        with mock.patch.object(tracebacks.os.path, "relpath", side_effect=FileNotFoundError):
            self.assertEqual(tracebacks.shorten(here), here)

    def test_the_place_of_a_syntax_error_is_its_own(self):
        with self.assertRaises(SyntaxError) as raised:
            compile("a =\n", "/of-the-user/train.py", "exec")
        found = tracebacks.UserTraceback(raised.exception)
        self.assertEqual(
            (found.place, found.text.split("\n")[0]),
            ("/of-the-user/train.py:1", '  File "/of-the-user/train.py", line 1'),
        )

    def test_an_error_within_a_library_has_the_place_from_which_that_was_called(self):
        try:
            json.loads("{")
        except ValueError as error:
            found = tracebacks.UserTraceback(error)
        self.assertRegex(found.place, r"tracebacks_test\.py:\d+$")
        self.assertIn("decoder.py", found.text)

    def test_of_errors_one_after_another_the_last_one_counts(self):
        def first():
            raise KeyError("a")

        def second():
            try:
                first()
            except KeyError:
                raise ValueError("b\nmore of it")

        try:
            second()
        except ValueError as error:
            found = tracebacks.UserTraceback(error)
        self.assertEqual(found.error, "ValueError: b")
        self.assertTrue(found.place.endswith(":%d" % (second.__code__.co_firstlineno + 4)), found.place)
        refusal = tracebacks.refuse_for(SystemExit(3), "It failed", hint="a hint")
        self.assertEqual(
            (refusal.message, refusal.kind, refusal.hint),
            ("It failed: it called sys.exit(3).", "measurement", "a hint"),
        )

    def of_worker(self, *lines):
        """What is read of an error that torch has made from a worker's."""
        said = "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        return tracebacks.UserTraceback(RuntimeError(said + "\n".join(lines) + "\n"))

    def test_of_a_worker_s_error_the_frames_of_the_script_are_told_and_the_place_is_that_of_the_last_one(self):
        torchs = '  File "%s/worker.py", line 309, in _worker_loop\n    data = fetch()' % os.path.dirname(
            torch.__file__
        )
        users = '  File "%s", line %d, in make\n    raise'
        again = "\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):"
        found = self.of_worker(
            users % (__file__, 12),
            torchs,
            "KeyError: 'a'",
            again,
            torchs,
            users % (__file__, 15),
            "ValueError: b",
            "more",
        )
        self.assertEqual(found.error, "ValueError: b")
        self.assertRegex(found.place, r"tracebacks_test\.py:15$")
        self.assertNotIn("_worker_loop", found.text)
        self.assertIn("KeyError: 'a'", found.text)
        # The last one has no place of the script's.
        self.assertIsNone(self.of_worker(users % (__file__, 12), "KeyError: 'a'", again, torchs, "ValueError: b").place)
        for lines in ((torchs, "ValueError: b"), ("ValueError: b",)):
            found = self.of_worker(*lines)
            self.assertEqual((found.text, found.error, found.place), ("ValueError: b", "ValueError: b", None))

    def test_a_library_is_known_by_its_folder(self):
        for path, is_library in (
            (__file__, False),
            ("/no/such/file.py", True),
            (os.__file__, True),
            (torch.__file__, True),
        ):
            self.assertIs(tracebacks._is_library(path), is_library)


if __name__ == "__main__":
    unittest.main()
