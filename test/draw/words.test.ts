import { expect, it } from "vitest";
import { splitWords, timeText, unbroken } from "../../src/draw/words.js";

it("a time is shown to the minute in UTC", () => {
  expect(timeText("2026-11-21T10:22:59.123Z")).toBe("2026-11-21 10:22 UTC");
});

it("no line is wrapped before a unit, an interval or a number of workers, or after a sign", () => {
  expect(splitWords("pinned 64 MiB x4 reaches 55.4 GB/s ±1.2 % on 2 GPUs")).toEqual([
    ...["pinned", "64 MiB x4", "reaches", "55.4 GB/s ±1.2 %", "on", "2", "GPUs"],
  ]);
  expect(splitWords("within ± 3 ms of n = 5 Bits")).toEqual(["within ± 3 ms", "of", "n", "= 5", "Bits"]);
});

it("blanks within a figure and its unit do not break on a page", () => {
  expect(unbroken("at 55.4 GB/s now")).toBe("at 55.4\u00a0GB/s now");
});
