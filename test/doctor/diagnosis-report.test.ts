import { describe, expect, it } from "vitest";
import { healthCheckCodes, nagiosCodes, nodeState } from "../../src/doctor/automation.js";
import { diagnosisKind } from "../../src/doctor/diagnosis-report.js";
import { fileScreen } from "../../src/draw/screen.js";
import { buildDiagnosis, buildFinding, buildSlowDiagnosis } from "../helpers/diagnosis.js";
import { blocksOf, drawn, reportOf } from "../helpers/drawn.js";

const screen = fileScreen({ columns: 120 });
const healthy = buildDiagnosis();
const slow = buildSlowDiagnosis();

describe("the text of a diagnosis", () => {
  it("begins with the reason for its verdict", () => {
    expect(drawn(diagnosisKind, slow, "table", screen)).toMatch(
      /^pinbench 0\.1\.0 doctor\n\n=> The link of device 1 /,
    );
  });

  it("has for each finding its evidence, its cost, what to do and how sure it is", () => {
    const text = drawn(diagnosisKind, slow, "table", screen).replaceAll(/\s+/g, " ");
    expect(text).toContain("costs 41.4 GB/s in each direction, estimated");
    expect(text).toContain("seen NVML, while copies ran: gen5 x4, at most gen5 x16 0000:15:01.0");
    expect(text).toContain("do Reseat the card");
    expect(text).toContain("confidence certain");
  });

  it("lists costs, risks and explanations separately, in this order", () => {
    const text = drawn(diagnosisKind, slow, "table", screen);
    const places = ["What costs", "What may cost", "Notes (no problem)", "What could not be seen"].map(
      (title) => text.indexOf(title),
    );
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it("has a column for simultaneous copies only if there are some", () => {
    expect(drawn(diagnosisKind, slow, "table", screen)).toContain("together");
    expect(drawn(diagnosisKind, healthy, "table", screen)).not.toContain("together");
    const labelsOf = (diagnosis: typeof slow) =>
      blocksOf(reportOf(diagnosisKind, diagnosis), "table")[0]!.grid.labels;
    expect([slow, healthy].map(labelsOf)).toEqual([3, 2]);
  });
});

describe("the device section of a diagnosis", () => {
  const [device] = healthy.devices;
  const textOf = (part: Parameters<typeof buildDiagnosis>[0]) =>
    drawn(diagnosisKind, buildDiagnosis(part), "table", fileScreen({ columns: 200 })).replaceAll(/ +/g, " ");

  it("has each device's link, and the source of expected rates once if it is the same for all", () => {
    const link = "NVIDIA H200, 0000:18:00.0, PCIe gen5 x16 under load, limit 63.0 GB/s each way\n";
    const source = "from recordings of the NVIDIA H200\n";
    expect(textOf({})).toContain(` Device ${link} Expected ${source}`);
    const bare = { ...device!, ordinal: 1, pciBusId: null, link: null, limitGigabytesPerSecond: null };
    expect(textOf({ devices: [device!, bare] })).toContain(
      ` Device 0 ${link} Device 1 NVIDIA H200, link not known\n Expected ${source}`,
    );
    const others = [
      { ...bare, link: "PCIe gen4 x8", reference: "a site" },
      { ...bare, ordinal: 2, reference: null },
    ];
    expect(textOf({ devices: [device!, ...others] })).toContain(
      " Device 1 NVIDIA H200, PCIe gen4 x8 under load\n Device 2 NVIDIA H200, link not known\n" +
        ` Expected device 0: ${source} Expected device 1: from a site\n` +
        " Expected device 2: not known: there is no reference\n",
    );
  });

  it("shows labels, a notice and unseen facts only if there are any", () => {
    const text = textOf({ labels: { rack: "7", room: "north" }, notice: "This is no GPU.", unseen: [] });
    expect(text).toContain(" Labels rack=7, room=north\n");
    expect(text).toContain("This is no GPU.");
    expect(text).not.toContain("What could not be seen");
    expect(textOf({})).not.toContain("Labels");
  });

  it("marks a low rate as a warning only if the verdict is costs, and shows unknown rates", () => {
    const [h2d, d2h] = device!.rates.map((rate) => ({ ...rate, expectedGigabytesPerSecond: 55.26 }));
    const rates = [
      { ...h2d!, gigabytesPerSecond: 52.6 },
      { ...d2h!, gigabytesPerSecond: 52.4, shareOfLimit: null },
      { ...h2d!, together: true, gigabytesPerSecond: null, shareOfLimit: null },
      { ...d2h!, together: true, expectedGigabytesPerSecond: null },
    ];
    const rowsOf = (verdict: "healthy" | "costs") => {
      const report = reportOf(diagnosisKind, buildDiagnosis({ devices: [{ ...device!, rates }], verdict }));
      return blocksOf(report, "table")[0]!.grid.rows.map((row) => row.map(({ text, tone }) => [text, tone]));
    };
    expect(rowsOf("costs").map((row) => row.map(([text]) => text))).toEqual([
      ["0", "alone", "D2H", "52.4", "55.2", "94.8 %", "-"],
      ["0", "alone", "H2D", "52.6", "55.2", "95.1 %", "87.8 %"],
      ["0", "together", "H2D", "-", "55.2", "-", "-"],
      ["0", "together", "D2H", "55.2", "-", "-", "87.6 %"],
    ]);
    const tones = (verdict: "healthy" | "costs") => rowsOf(verdict).map((row) => row[5]![1]);
    expect(tones("costs").slice(0, 2)).toEqual(["warning", "plain"]);
    expect(tones("healthy").slice(0, 2)).toEqual(["plain", "plain"]);
  });

  it("names each GPU model once in its title", () => {
    expect(reportOf(diagnosisKind, slow).name).toBe("Diagnosis: NVIDIA H200, 2026-11-22 10:00 UTC");
  });
});

describe("the cost of a finding", () => {
  const cost = buildFinding().cost!;
  it.each([
    [{}, "41.4 GB/s in each direction, estimated"],
    [{ direction: "h2d", basis: "measured" }, "41.4 GB/s H2D, measured"],
    [{ copies: "slow" }, "41.4 GB/s in each direction beyond the median, estimated"],
    [{ copies: "registered" }, "41.4 GB/s in each direction from registered memory, estimated"],
    [{ copies: "together" }, "41.4 GB/s in each direction with all devices, estimated"],
  ] as const)("with %j reads: %s", (part, text) => {
    const findings = [buildFinding({ cost: { ...cost, ...part } })];
    expect(drawn(diagnosisKind, buildDiagnosis({ findings, verdict: "costs" }), "table", screen)).toMatch(
      new RegExp(` costs +${text}\n`),
    );
  });
});

describe("the next step that a diagnosis recommends", () => {
  const other = { summary: "Another one is slow.", fix: "Look at it.", cost: null };
  const answerOf = (...findings: ReturnType<typeof buildFinding>[]) => {
    const { reason } = slow;
    const report = reportOf(diagnosisKind, buildDiagnosis({ findings, verdict: "costs", reason }));
    return blocksOf(report, "answer").map(({ text }) => text);
  };
  const watched = buildFinding({ ...other, action: "monitor" });

  it("is that of the finding that acts on the node, or else of the first with a cost", () => {
    const step = "It costs 41.4 GB/s in each direction, estimated. Isolate: Reseat the card and its riser";
    expect(answerOf(watched, buildFinding())[1]).toContain(step);
    expect(answerOf({ ...watched, weight: "risk" }, buildFinding({ action: "none" }))[1]).toContain(
      " Do: Reseat",
    );
    expect(answerOf(watched)[1]).toBe("Another one is slow. Monitor: Look at it.");
  });

  it("is absent for a healthy machine, and for a finding with nothing to do", () => {
    const costly = buildFinding({ action: "none" });
    const report = reportOf(diagnosisKind, buildDiagnosis({ findings: [costly], verdict: "healthy" }));
    expect(blocksOf(report, "answer")).toHaveLength(1);
    expect(answerOf(buildFinding({ fix: null }))).toHaveLength(1);
  });

  it("names the action on the node in words, and none if there is none", () => {
    const text = (action: "isolate" | "none") =>
      drawn(diagnosisKind, buildDiagnosis({ findings: [buildFinding({ action })] }), "table", screen);
    expect(text("isolate")).toMatch(/ action +isolate the node until that is done\n/);
    expect(text("none")).not.toMatch(/ action +nothing/);
  });
});

describe("the line for Node Health Check (NHC)", () => {
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

  it("names the finding that takes the node out of use, if the verdict has another reason", () => {
    const other = { summary: "It is so.", weight: "risk" } as const;
    const [none, watched] = (["none", "monitor"] as const).map((action) =>
      buildFinding({ ...other, action }),
    );
    const asks = buildFinding({ summary: "It broke.", action: "reset" });
    const lineOf = (verdict: "costs" | "faulty", ...findings: ReturnType<typeof buildFinding>[]) => {
      const diagnosis = buildDiagnosis({ findings, verdict, reason: "The reason." });
      return drawn(diagnosisKind, diagnosis, "nhc", screen).split("pinbench doctor:  ")[1];
    };
    expect(lineOf("costs", watched!, asks)).toBe("It broke.\n");
    expect(lineOf("costs", asks, watched!)).toBe("The reason.\n");
    expect(lineOf("costs", none!, watched!)).toBe("The reason.\n");
    expect(lineOf("faulty", watched!, asks)).toBe("The reason.\n");
  });

  it("shortens a reason of more than 240 characters", () => {
    const line = drawn(diagnosisKind, { ...slow, reason: "x".repeat(5000) }, "nhc", screen);
    expect(line).toMatch(/ x{237}\.\.\.\n$/);
  });
});

describe("the line for Nagios", () => {
  const watched = buildFinding({ weight: "risk", cost: null, action: "monitor" });

  it.each([
    ["OK", healthy],
    ["WARNING", buildDiagnosis({ findings: [watched] })],
    ["CRITICAL", slow],
    ["CRITICAL", buildDiagnosis({ findings: [buildFinding({ action: "reset" })], verdict: "faulty" })],
    ["UNKNOWN", buildDiagnosis({ verdict: "inconclusive", findings: [watched] })],
  ])("begins with %s, and has the rates after a bar (case %#)", (word, diagnosis) => {
    const line = drawn(diagnosisKind, { ...diagnosis, reason: "A | B | C." }, "nagios", screen);
    expect(line).toMatch(new RegExp(`^PINBENCH ${word} - A / B / C\\. \\| gpu0_h2d_gb_per_s=55\\.37;;;0; `));
    expect(nagiosCodes[nodeState(diagnosis)]).toBe(["OK", "WARNING", "CRITICAL", "UNKNOWN"].indexOf(word));
  });

  it("has all known rates of each device, alone and together", () => {
    const devices = slow.devices.map((device) => ({
      ...device,
      rates: device.rates.map((rate, i) => (i === 1 ? { ...rate, gigabytesPerSecond: null } : rate)),
    }));
    expect(drawn(diagnosisKind, { ...slow, devices }, "nagios", screen).split(" | ")[1]).toBe(
      "gpu0_h2d_gb_per_s=55.37;;;0; gpu0_h2d_together_gb_per_s=52.80;;;0; gpu0_d2h_together_gb_per_s=52.10;;;0; " +
        "gpu1_h2d_gb_per_s=13.80;;;0; gpu1_h2d_together_gb_per_s=13.60;;;0; gpu1_d2h_together_gb_per_s=13.50;;;0;\n",
    );
  });

  it("has an NHC counterpart that only warns if the node is to be watched or its state is unknown", () => {
    for (const verdict of ["healthy", "inconclusive"] as const) {
      const diagnosis = buildDiagnosis({ findings: [watched], verdict });
      expect(drawn(diagnosisKind, diagnosis, "nhc", screen)).toMatch(/^WARNING: {2}pinbench doctor: {2}/);
      expect(healthCheckCodes[nodeState(diagnosis)]).not.toBe(1);
    }
  });
});

describe("the metrics for Prometheus", () => {
  const text = drawn(diagnosisKind, slow, "openmetrics", screen);

  it("have rates, findings with actions, costs and the verdict, labelled with the host", () => {
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

  it("have simultaneous copies, expected rates, which copies a finding slows, and the time", () => {
    const lines = text.split("\n");
    const ofTogether = 'host="node-17",gpu="1",direction="d2h",copies="together"';
    expect(lines).toContain(`pinbench_doctor_bandwidth_bytes_per_second{${ofTogether}} 13500000000`);
    expect(lines).toContain(`pinbench_doctor_expected_bytes_per_second{${ofTogether}} 52300000000`);
    expect(lines).toContain('pinbench_doctor_emulated{host="node-17"} 0');
    expect(lines).toContain(
      `pinbench_doctor_timestamp_seconds{host="node-17"} ${Date.UTC(2026, 10, 22, 10) / 1000}`,
    );
    const cost = { ...buildFinding().cost!, direction: "h2d", copies: "slow" } as const;
    const [device] = healthy.devices;
    const rates = device!.rates.map((rate) => ({ ...rate, gigabytesPerSecond: null }));
    const other = { findings: [buildFinding({ cost })], notice: "No GPU.", devices: [{ ...device!, rates }] };
    const ofOther = drawn(diagnosisKind, buildDiagnosis(other), "openmetrics", screen);
    expect(ofOther).toContain('direction="h2d",copies="slow"} 41460000000\n');
    expect(ofOther).toContain('pinbench_doctor_emulated{host="node-17"} 1\n');
    expect(ofOther).not.toMatch(/^pinbench_doctor_bandwidth/m);
  });

  it("have the UUID of the device that a finding is about, whatever its place in the list", () => {
    const inOrder = slow.devices.map((one) => ({ ...one, uuid: `GPU-${one.ordinal}` }));
    for (const devices of [inOrder, inOrder.toReversed()]) {
      expect(drawn(diagnosisKind, { ...slow, devices }, "openmetrics", screen)).toContain(
        'pinbench_doctor_finding{host="node-17",gpu="1",uuid="GPU-1",cause="link-narrow"',
      );
    }
  });
});

describe("the line on compared copies of several devices", () => {
  const [device] = healthy.devices;
  const withCopies = (...copies: NonNullable<(typeof healthy.devices)[number]["copies"]>[]) =>
    drawn(
      diagnosisKind,
      buildDiagnosis({ devices: copies.map((one, ordinal) => ({ ...device!, ordinal, copies: one })) }),
      "markdown",
      screen,
    );

  it("reports how rare a fault would be noticed on the device with the fewest compared copies", () => {
    const copies = { made: 100, proven: 100 };
    expect(withCopies({ ...copies, provenEachWay: 60 }, { ...copies, provenEachWay: 30 })).toContain(
      "all 200 timed copies compared: a fault in 1 of 10 copies of one direction",
    );
    const part = withCopies({ made: 100, proven: 40, provenEachWay: 2 });
    expect(part).toContain("40 of 100 timed copies compared");
    expect(part).not.toContain("a fault in");
  });
});
