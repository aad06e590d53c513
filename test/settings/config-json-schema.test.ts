import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
// @ts-expect-error Scripts are JavaScript without types.
import { described, undescribed } from "../../scripts/lib/published-schema.mjs";
import { configurationSchema } from "../../src/settings/configuration-schema.js";
import { documentJsonSchema } from "../../src/settings/schema-parts.js";

describe("schema/config-v1.json", () => {
  const shipped = JSON.parse(readFileSync(new URL("../../schema/config-v1.json", import.meta.url), "utf8"));
  const validate = new Ajv2020({ allowUnionTypes: true }).compile(shipped);
  const example = /^```json\n([\s\S]*?)^```$/m.exec(
    readFileSync(new URL("../../docs/reference.md", import.meta.url), "utf8").split("## Configuration")[1] ??
      "",
  );

  it("equals the zod schema in the code (`npm run schema` writes it)", () => {
    expect(shipped).toEqual(described(JSON.parse(JSON.stringify(documentJsonSchema(configurationSchema)))));
    expect(undescribed(shipped)).toEqual([]);
  });

  it("accepts the documented example, and so does pinbench", () => {
    const config = JSON.parse(example?.[1] ?? "");
    expect(validate(config) ? [] : validate.errors).toEqual([]);
    expect(configurationSchema.safeParse(config).error).toBeUndefined();
  });

  it.each([
    [{ plan: { size: "1MiB" } }],
    [{ plan: { memory: ["shared"] } }],
    [{ thresholds: { memory: { shared: "5%" } } }],
    [{ runs: 0 }],
    [{ strict: "yes" }],
    [[]],
  ])("rejects %j", (config) => {
    expect(validate(config)).toBe(false);
  });
});
