import { describe, expect, it } from "vitest";
import { settingsOfResult } from "../../src/compare/result-set.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import { runSettings } from "../../src/settings/table.js";
import { buildDocument } from "../helpers/result-document.js";

const values = { precision: 0.02, samplesPerCell: 7, maxPinnedBytes: 2 ** 30, numa: 1 } as const;
const settings = fillRunSettings({ origin: "flag", values });

/** A result that carries these settings. */
function resultWith(changes: Record<string, unknown>): ResultDocument {
  const document = buildDocument();
  const text = JSON.stringify({
    ...document,
    plan: { ...document.plan, settings: { ...settings, ...changes } },
  });
  return parseResult(text);
}

describe("the settings of a result", () => {
  it("are those in its plan, with the backend that measured", () => {
    const { backend, plan } = resultWith({});
    expect(settingsOfResult(resultWith({}))).toEqual({ ...settings, backend, budgetNs: plan!.budgetNs });
  });

  it("are required of a result with a plan", () => {
    const { plan, ...document } = buildDocument();
    const text = JSON.stringify({ ...document, plan: { ...plan, settings: undefined } });
    expect(() => parseResult(text)).toThrow("plan.settings");
  });

  it.each(Object.keys(runSettings))("are refused without %s", (key) => {
    expect(() => resultWith({ [key]: undefined })).toThrow(`plan.settings.${key}`);
  });

  it.each([
    ["samplesPerCell", 0],
    ["samplesPerCell", 2e6],
    ["precision", 0],
    ["precision", 1],
    ["budgetNs", 9e17],
  ])("are refused with %s %d, as the flag is", (key, value) => {
    expect(() => resultWith({ [key]: value })).toThrow(`plan.settings.${key}`);
  });

  it("may be null only if null is the setting's default", () => {
    for (const [key, setting] of Object.entries(runSettings)) {
      const read = () => resultWith({ [key]: null });
      if (setting.default === null) expect(read).not.toThrow();
      else expect(read, key).toThrow(`plan.settings.${key}`);
    }
  });
});
