import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { findings } from "../../src/report/findings/answer.js";
import { resultKind } from "../../src/report/result-report.js";
import type { ResultDocument } from "../../src/results/schema.js";
import type { Given } from "../../src/settings/setting.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import type { runSettings } from "../../src/settings/table.js";
import { drawn } from "../helpers/drawn.js";
import { buildCell, buildDocument, type CellPart, MiB } from "../helpers/result-document.js";

const size = { sizeBytes: 64 * MiB };
const control = (part: CellPart) => buildCell({ memory: "host", ...size, ...part });
const line = "host memory, the CPU's own copies: ";

const oneWay = [
  buildCell({ memory: "pageable", ...size, GBps: 10.2 }),
  buildCell({ memory: "pinned", ...size, GBps: 55.4 }),
  control({ GBps: 12.3 }),
  control({ workers: 4, GBps: 31 }),
];

const asking = (given: Given<typeof runSettings>) => ({
  settings: fillRunSettings({ origin: "flag", given }),
});

function table(part: Parameters<typeof buildDocument>[0]): string {
  return drawn(resultKind, buildDocument(part), "table", fileScreen()).replaceAll(/\s+/g, " ");
}

describe("the controls of host memory", () => {
  it("are a line below the table of what they control, and no column of it", () => {
    const text = table({ cells: oneWay });
    expect(text).toMatch(/ size workers pageable pinned pageable link ─/);
    expect(text).toContain(
      `64 MiB 1 10.2 55.4 5.4× 87.9 % ${line}12.3 GB/s with 1 worker, 31.0 with 4 (64 MiB) `,
    );
  });

  it("name the size of each if it is not the same", () => {
    expect(table({ cells: [...oneWay, control({ workers: 8, sizeBytes: MiB, GBps: 40 })] })).toContain(
      `${line}12.3 GB/s with 1 worker (64 MiB), 31.0 with 4 (64 MiB), 40.0 with 8 (1 MiB)`,
    );
  });

  it("are those of both ways below the table of both directions at once", () => {
    const both = buildCell({
      direction: "bidir",
      memory: "staged",
      ...size,
      GBps: { h2d: 9, d2h: 8, sum: 17 },
    });
    const cells = [both, control({ GBps: 12.3 }), control({ direction: "d2h", GBps: 10 })];
    const text = table({ cells });
    expect(text).toContain(
      `${line}H2D 12.3 GB/s with 1 worker (64 MiB); D2H 10.0 GB/s with 1 worker (64 MiB)`,
    );
    expect(text).not.toContain("Host to device");
  });

  it("are in the order of their workers", () => {
    expect(table({ cells: [oneWay[0]!, oneWay[1]!, ...oneWay.slice(2).toReversed()] })).toContain(
      `${line}12.3 GB/s with 1 worker, 31.0 with 4 (64 MiB)`,
    );
  });

  it("are no line if they have no figure, or belong to another device, direction, mode, timer or cache", () => {
    const [pageable, pinned] = oneWay;
    const failed = control({ result: { outcome: "failed" } });
    const others = [
      control({ direction: "d2h", GBps: 10 }),
      control({ device: 1, GBps: 10 }),
      control({ mode: "latency", GBps: 10 }),
      control({ cache: "warm", GBps: 10 }),
    ];
    expect(table({ cells: [pageable!, pinned!, failed, ...others] })).not.toContain(line);
    const byEvents = buildCell({ ...size, timer: "event", GBps: 55 });
    expect(table({ cells: [byEvents, control({ GBps: 12 })] })).not.toContain(line);
  });

  it.each<[string, Partial<NonNullable<ResultDocument["plan"]>>]>([
    ["by --memory host", asking({ memory: ["host", "pageable", "pinned"] })],
    ["by the ids of some", asking({ cells: oneWay.map(({ id }) => id) })],
  ])("that were asked for %s are a column as any kind", (_, plan) => {
    const text = table({ cells: oneWay, plan });
    expect(text).toMatch(/ size workers pageable host pinned /);
    expect(text).not.toContain(line);
  });

  it("are a line in Markdown, too", () => {
    expect(drawn(resultKind, buildDocument({ cells: oneWay }), "markdown")).toContain(
      `\n\n${line}12.3 GB/s with 1 worker, 31.0 with 4 (64 MiB)\n\n`,
    );
  });

  it("are no evidence for a finding: nothing goes to a device", () => {
    const told = findings(
      buildDocument({ cells: [control({ GBps: 12.3 }), control({ workers: 4, GBps: 31 })] }),
    );
    expect(told).toEqual([]);
  });

  it("do not explain a sign that stands in no table", () => {
    const cells = [oneWay[0]!, control({ GBps: 12, result: { outcome: "budget" } })];
    expect(table({ cells })).not.toContain("* not converged");
  });
});
