import { describe, expect, it } from "vitest";
import type { ColdStart } from "../../src/results/schema.js";
import { buildColdStart, KiB, MiB } from "../helpers/result-document.js";
import { noLink, pair, textsOfProcesses } from "./answer-texts.js";

describe("when pinning has paid off", () => {
  const sentence = (pinning: ColdStart["pinning"]) =>
    textsOfProcesses(pair(10, 30), { ...noLink, coldStart: [buildColdStart({ pinning })] })[0]?.split(
      ". ",
    )[1];
  const [record] = buildColdStart().pinning;
  const paidOff = (sizeBytes: number, pinned: number | null, registered: number | null = null) => ({
    ...record!,
    sizeBytes,
    payOff: { pinned: { h2d: pinned, d2h: 99 }, registered: { h2d: registered, d2h: 99 } },
  });

  it.each([
    [
      "from the first copy on",
      [paidOff(MiB, 1), paidOff(16 * MiB, 0)],
      "Pinning a buffer pays off with its first copy.",
    ],
    [
      "from the first copy of a size on",
      [paidOff(64 * KiB, 9), paidOff(MiB, 1), paidOff(16 * MiB, 1)],
      "Pinning a buffer pays off with its first copy from 1 MiB on, and after at most about 9 copies if it is smaller.",
    ],
    [
      "from the first copy of a size on, with the largest costs first",
      [paidOff(16 * MiB, 1), paidOff(MiB, 3), paidOff(64 * KiB, 1)],
      "Pinning a buffer pays off with its first copy from 16 MiB on, and after at most about 3 copies if it is smaller.",
    ],
    [
      "after some copies",
      [paidOff(MiB, 2), paidOff(16 * MiB, 7)],
      "Pinning a buffer pays off after about 2 to 7 copies.",
    ],
    ["by the cheaper way", [paidOff(MiB, 5, 3)], "Pinning a buffer pays off after about 3 copies."],
    [
      "only as far as it is known",
      [paidOff(MiB, 2), paidOff(16 * MiB, null)],
      "Pinning a buffer pays off after about 2 copies (known for 1 of 2 sizes).",
    ],
    ["never, for all that is known", [paidOff(MiB, null)], "When pinning a buffer pays off is not known."],
  ])("is given: %s", (_, pinning, text) => {
    expect(sentence(pinning)).toBe(text);
  });

  it("is that of the direction that needs more copies, if pinned memory is faster in both", () => {
    const cells = [...pair(10, 30), ...pair(10, 30, { direction: "d2h" })];
    for (const [h2d, d2h] of [
      [2, 5],
      [5, 2],
    ]) {
      const payOff = { pinned: { h2d: h2d!, d2h: d2h! }, registered: { h2d: null, d2h: null } };
      const coldStart = [buildColdStart({ pinning: [{ ...record!, payOff }] })];
      expect(textsOfProcesses(cells, { ...noLink, coldStart })[0]).toContain("pays off after about 5 copies");
    }
    const toDevice = { pinned: { h2d: 9, d2h: 4 }, registered: { h2d: null, d2h: null } };
    const coldStart = [buildColdStart({ pinning: [{ ...record!, payOff: toDevice }] })];
    const back = [...pair(10, 8), ...pair(10, 30, { direction: "d2h" })];
    expect(textsOfProcesses(back, { ...noLink, coldStart })[0]).toContain(
      ". Pinning a buffer whose bytes go from the device pays off after about 4 copies",
    );
  });

  it("is given only for the direction in which pinned memory is faster", () => {
    const cells = [...pair(10, 30), ...pair(10, 8, { direction: "d2h" })];
    expect(textsOfProcesses(cells, { ...noLink, coldStart: [buildColdStart()] })[0]).toContain(
      ". Pinning a buffer whose bytes go to the device pays off with its first copy",
    );
  });

  it("is left out if pinned memory is not faster, or its cost was not measured", () => {
    const coldStart = [buildColdStart()];
    expect(textsOfProcesses(pair(10, 10.01), { ...noLink, coldStart })[0]).not.toContain("paid");
    expect(textsOfProcesses(pair(10, 30))[0]).not.toContain("paid");
  });
});
