import { describe, expect, it } from "vitest";
import { healthCheckCodes, nagiosCodes, nodeState } from "../../src/doctor/automation.js";
import { diagnosisKind } from "../../src/doctor/diagnosis-report.js";
import { fileScreen } from "../../src/draw/screen.js";
import { buildDiagnosis, buildFinding, buildSlowDiagnosis } from "../helpers/diagnosis.js";
import { drawn } from "../helpers/drawn.js";

const screen = fileScreen({ columns: 120 });
const healthy = buildDiagnosis();
const slow = buildSlowDiagnosis();

describe("the text of a diagnosis", () => {
  it("begins with why its verdict is what it is", () => {
    expect(drawn(diagnosisKind, slow, "table", screen)).toMatch(
      /^pinbench 0\.1\.0 doctor\n\n=> The link of device 1 /,
    );
  });

  it("says of each finding what was seen, what it costs, what to do and how sure that is", () => {
    const text = drawn(diagnosisKind, slow, "table", screen).replaceAll(/\s+/g, " ");
    expect(text).toContain("costs 41.4 GB/s in each direction, estimated");
    expect(text).toContain("seen NVML, while copies ran: gen5 x4, at most gen5 x16 0000:15:01.0");
    expect(text).toContain("do Reseat the card");
    expect(text).toContain("sure certain");
  });

  it("tells costs, risks and explanations apart, in this order", () => {
    const text = drawn(diagnosisKind, slow, "table", screen);
    const places = ["What costs", "What may cost", "What explains", "What was not seen"].map((title) =>
      text.indexOf(title),
    );
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it("has a column for copies together only where there are some", () => {
    expect(drawn(diagnosisKind, slow, "table", screen)).toContain("together");
    expect(drawn(diagnosisKind, healthy, "table", screen)).not.toContain("together");
  });
});

describe("the line for health checks", () => {
  it("is OK if nothing is wrong", () => {
    expect(drawn(diagnosisKind, healthy, "nhc", screen)).toMatch(
      /^OK: {2}pinbench doctor: {2}Pinned copies are [^\n]*\n$/,
    );
  });

  it("is an error as NHC writes it, with the reason", () => {
    expect(drawn(diagnosisKind, slow, "nhc", screen)).toBe(
      `ERROR:  nhc:  Health check failed:  pinbench doctor:  ${slow.reason}\n`,
    );
  });

  it("is short, whatever the reason is", () => {
    const line = drawn(diagnosisKind, { ...slow, reason: "x".repeat(5000) }, "nhc", screen);
    expect(line).toMatch(/ x{237}\.\.\.\n$/);
  });
});

describe("for Nagios", () => {
  const watched = buildFinding({ weight: "risk", cost: null, action: "monitor" });

  it.each([
    ["OK", healthy],
    ["WARNING", buildDiagnosis({ findings: [watched] })],
    ["CRITICAL", slow],
    ["CRITICAL", buildDiagnosis({ findings: [buildFinding({ action: "reset" })], verdict: "faulty" })],
    ["UNKNOWN", buildDiagnosis({ verdict: "inconclusive", findings: [watched] })],
  ])("is %s, with the rates behind a bar", (word, diagnosis) => {
    const line = drawn(diagnosisKind, { ...diagnosis, reason: "A | B | C." }, "nagios", screen);
    expect(line).toMatch(new RegExp(`^PINBENCH ${word} - A / B / C\\. \\| gpu0_h2d_gbps=55\\.37;;;0; `));
    expect(nagiosCodes[nodeState(diagnosis)]).toBe(["OK", "WARNING", "CRITICAL", "UNKNOWN"].indexOf(word));
  });

  it("is no line of an error in a health check if it is to be watched, or unknown", () => {
    for (const verdict of ["healthy", "inconclusive"] as const) {
      const diagnosis = buildDiagnosis({ findings: [watched], verdict });
      expect(drawn(diagnosisKind, diagnosis, "nhc", screen)).toMatch(/^WARNING: {2}pinbench doctor: {2}/);
      expect(healthCheckCodes[nodeState(diagnosis)]).not.toBe(1);
    }
  });
});

describe("for Prometheus", () => {
  const text = drawn(diagnosisKind, slow, "openmetrics", screen);

  it("has rates, findings with what to do, and costs, as gauges of the host", () => {
    const lines = text.trimEnd().split("\n");
    expect(lines.at(-1)).toBe("# EOF");
    expect(lines).toContain(
      'pinbench_doctor_finding{host="node-17",gpu="1",cause="link-narrow",weight="costs",action="isolate"} 1',
    );
    expect(lines).toContain(
      'pinbench_doctor_cost_bytes_per_second{host="node-17",gpu="1",cause="link-narrow",direction="both",copies="pinned"} 41460000000',
    );
    expect(lines).toContain('pinbench_doctor_verdict{host="node-17",verdict="costs",state="critical"} 1');
    expect(text).toMatch(
      /^pinbench_doctor_bandwidth_bytes_per_second\{host="node-17",gpu="0",direction="h2d",copies="alone"\} 55370000000$/m,
    );
  });

  it("has the UUID of the device that a finding is about, whatever its place in the list", () => {
    const devices = slow.devices.map((one) => ({ ...one, uuid: `GPU-${one.ordinal}` })).toReversed();
    expect(drawn(diagnosisKind, { ...slow, devices }, "openmetrics", screen)).toContain(
      'pinbench_doctor_finding{host="node-17",gpu="1",uuid="GPU-1",cause="link-narrow"',
    );
  });

  it("names each family before its samples, and has no empty line", () => {
    const told = new Set<string>();
    for (const line of text.trimEnd().split("\n")) {
      expect(line).not.toBe("");
      const [, type] = /^# TYPE (\S+) gauge$/.exec(line) ?? [];
      if (type !== undefined) told.add(type);
      if (!line.startsWith("#")) expect(told).toContain(/^[a-z0-9_]+/.exec(line)![0]);
    }
  });
});

describe("the copies of several devices", () => {
  const [device] = healthy.devices;
  const withCopies = (...copies: NonNullable<(typeof healthy.devices)[number]["copies"]>[]) =>
    drawn(
      diagnosisKind,
      buildDiagnosis({ devices: copies.map((one, ordinal) => ({ ...device!, ordinal, copies: one })) }),
      "markdown",
      screen,
    );

  it("show a fault of one direction of the device with the fewest that were compared", () => {
    const copies = { made: 100, proven: 100 };
    expect(withCopies({ ...copies, provenEachWay: 60 }, { ...copies, provenEachWay: 30 })).toContain(
      "all 200 timed copies compared: a fault in 1 of 10 copies of one direction",
    );
    // Older documents do not know the directions: half of them at most are of one.
    expect(withCopies(copies)).toContain("a fault in 1 of 16 copies of one direction");
  });
});
