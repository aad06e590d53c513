import { readFile } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { resultJsonSchema } from "../../src/results/json-schema.js";
import {
  buildCell,
  buildColdStart,
  buildDocument,
  buildEmulatedDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  defaultSweepCells,
} from "../helpers/result-document.js";

const shipped = JSON.parse(await readFile(new URL("../../schema/result-v1.json", import.meta.url), "utf8"));
// The pattern beside it checks the same; the format itself needs a package of its own.
const validate = new Ajv2020({ formats: { "date-time": true } }).compile(shipped);

describe("schema/result-v1.json", () => {
  it("is what the zod schema says; `npm run schema` writes it", () => {
    expect(shipped).toEqual(JSON.parse(JSON.stringify(resultJsonSchema())));
  });

  it("has a name and says what it describes", () => {
    expect(shipped).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "urn:pinbench:schema:result-v1",
      title: expect.stringContaining("version 1"),
      description: expect.stringContaining("GB"),
    });
  });

  it.each([
    ["a default sweep", buildDocument({ cells: defaultSweepCells(), coldStart: [buildColdStart()] })],
    ["the emulated device", buildEmulatedDocument()],
    [
      "cells that were not measured",
      buildDocument({
        cells: [buildFailed({}, "X", "x"), buildSkipped({ workers: 2 }, "y"), buildMismatch({ workers: 4 })],
      }),
    ],
    ["a run that goes on", buildDocument({ run: { status: "running", finishedAt: null }, cells: [] })],
  ])("accepts %s", (_, document) => {
    validate(document);
    expect(validate.errors).toBeNull();
  });

  it.each([
    ["another version", { ...buildDocument(), schemaVersion: 2 }],
    ["a missing part", { ...buildDocument(), host: undefined }],
    [
      "a number as text",
      { ...buildDocument(), devices: [{ ...buildDocument().devices[0], linkLimitGBps: "63" }] },
    ],
    ["an unknown outcome", buildDocument({ cells: [{ ...buildCell(), outcome: "good" as "converged" }] })],
    ["a time that is none", buildDocument({ run: { startedAt: "yesterday" } })],
    ["a negative size", buildDocument({ cells: [{ ...buildCell(), sizeBytes: -1 }] })],
  ])("rejects %s", (_, document) => {
    expect(validate(JSON.parse(JSON.stringify(document)))).toBe(false);
  });
});
