import { describe, expect, it } from "vitest";
import {
  buildCell,
  buildColdStart,
  buildDocument,
  buildEmulatedDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  sweepCells,
} from "../helpers/result-document.js";
import { schemaErrors } from "../helpers/schema-errors.js";

describe("schema/result-v1.json", () => {
  it.each([
    ["a default sweep", buildDocument({ cells: sweepCells(), coldStart: [buildColdStart()] })],
    ["the emulated device", buildEmulatedDocument()],
    [
      "cells that were not measured",
      buildDocument({
        cells: [buildFailed({}, "X", "x"), buildSkipped({ workers: 2 }, "y"), buildMismatch({ workers: 4 })],
      }),
    ],
    ["a run in progress", buildDocument({ run: { status: "running", finishedAt: null }, cells: [] })],
  ])("accepts %s", (_, document) => {
    expect(schemaErrors(document)).toBeNull();
  });

  it.each([
    ["another version", { ...buildDocument(), schemaVersion: 2 }],
    ["a missing part", { ...buildDocument(), host: undefined }],
    [
      "a number as text",
      { ...buildDocument(), devices: [{ ...buildDocument().devices[0], linkLimitGBps: "63" }] },
    ],
    ["an unknown outcome", buildDocument({ cells: [{ ...buildCell(), outcome: "good" as "converged" }] })],
    ["an invalid time", buildDocument({ run: { startedAt: "yesterday" } })],
    ["a negative size", buildDocument({ cells: [{ ...buildCell(), sizeBytes: -1 }] })],
  ])("rejects %s", (_, document) => {
    expect(schemaErrors(JSON.parse(JSON.stringify(document)))).not.toBeNull();
  });
});
