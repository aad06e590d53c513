import { expect, it } from "vitest";
import { openMetricsText } from "../../src/draw/document-kind.js";

it("a label's value has each backslash, quote and line break escaped once", () => {
  const samples = [{ labels: { host: 'a "b" c:\\d\ne' }, value: 1 }];
  const text = openMetricsText([{ name: "rate", help: "Rate.", samples }]);
  expect(text.split("\n")[2]).toBe(String.raw`rate{host="a \"b\" c:\\d\ne"} 1`);
});

it("a family has its unit; a label of null is none, and without labels there are no braces", () => {
  const samples = [
    { labels: { host: "a", driver: null, device: 0 }, value: 2 },
    { labels: { driver: null }, value: 3 },
  ];
  const text = openMetricsText([
    { name: "none", help: "None.", unit: "bytes", samples: [] },
    { name: "rate_bytes", help: "Rate.", unit: "bytes", samples },
  ]);
  expect(text.split("\n")).toEqual([
    "# TYPE rate_bytes gauge",
    "# UNIT rate_bytes bytes",
    "# HELP rate_bytes Rate.",
    'rate_bytes{host="a",device="0"} 2',
    "rate_bytes 3",
    ...["# EOF", ""],
  ]);
});
