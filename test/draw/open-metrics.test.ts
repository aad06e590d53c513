import { expect, it } from "vitest";
import { openMetricsText } from "../../src/draw/document-kind.js";

it("OpenMetrics escapes each backslash, quote and line break in a label's value once", () => {
  const samples = [{ labels: { host: 'a "b" c:\\d\ne' }, value: 1 }];
  const text = openMetricsText([{ name: "rate", help: "Rate.", samples }]);
  expect(text.split("\n")[2]).toBe(String.raw`rate{host="a \"b\" c:\\d\ne"} 1`);
});

it("OpenMetrics names a metric's unit, leaves out labels of null, and prints no empty braces", () => {
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
