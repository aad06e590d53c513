import { expect, it } from "vitest";
import { openMetricsText } from "../../src/draw/document-kind.js";

it("a label's value has each backslash, quote and line break escaped once", () => {
  const samples = [{ labels: { host: 'a "b" c:\\d\ne' }, value: 1 }];
  const text = openMetricsText([{ name: "rate", help: "Rate.", samples }]);
  expect(text.split("\n")[2]).toBe(String.raw`rate{host="a \"b\" c:\\d\ne"} 1`);
});
