import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { fileScreen } from "../src/draw/screen.js";
import { fleetKind } from "../src/fleet/report/fleet-report.js";
import { recordedKinds } from "../src/reference/recorded-kinds.js";
import { fleetSettings } from "../src/settings/table.js";
import { median } from "../src/stats/order-statistics.js";
import { drawn } from "./helpers/drawn.js";
import { buildMixedFleet } from "./helpers/fleet.js";

/** Compares what the documents say about fleets and recorded machines with the code and the recordings. */

const root = fileURLToPath(new URL("..", import.meta.url));
const textOf = (path: string) => readFileSync(join(root, path), "utf8");

interface Recorded {
  cells: {
    memory: string;
    direction: string;
    sizeBytes: number;
    workers: number;
    mediansGBps: number[] | number[][];
  }[];
}

/** Medians of pageable copies by one worker in a recording, of each machine and size apart. */
function pageableRates(path: string, direction: "h2d" | "d2h"): number[] {
  if (path.endsWith(".txt")) {
    // Records of doctor have no such chapter.
    const part = textOf(path).split(direction === "h2d" ? "Host to device" : "Device to host")[1] ?? "";
    return [...part.split("\n\n")[0]!.matchAll(/^ +32 MiB +1 +([\d.]+)/gm)].map(([, rate]) => Number(rate));
  }
  const { cells } = JSON.parse(textOf(path)) as Recorded;
  return cells
    .filter((cell) => cell.memory === "pageable" && cell.direction === direction && cell.workers === 1)
    .filter(({ sizeBytes, mediansGBps }) => sizeBytes >= 2 ** 24 && mediansGBps !== undefined)
    .flatMap(({ mediansGBps: medians }) =>
      medians.every((one) => typeof one === "number")
        ? [median(medians)]
        : medians.map((one) => median(one as number[])),
    );
}

function rangeText(rates: readonly number[]): string {
  const [low, high] = [Math.min(...rates).toFixed(1), Math.max(...rates).toFixed(1)];
  return low === high ? low : `${low} to ${high}`;
}

describe("docs/machines.md", () => {
  const text = textOf("docs/machines.md");

  it("has a row for each kind of GPU that doctor and fleet know", () => {
    const rows = text
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .slice(2);
    expect(rows).toEqual(
      recordedKinds.map(({ gpu, link, alone, tolerance, machines, recorded, by }) => {
        const rates = [alone.h2d, alone.d2h].map((rate) => rate.toFixed(1));
        const least = `${Math.round(100 * (1 - tolerance))} %`;
        return `| ${[gpu, `gen${link.generation} x${link.width}`, ...rates, least, machines, recorded.join(", "), by].join(" | ")} |`;
      }),
    );
  });

  it("has the pageable rates of its recordings, and what GPUs reach together", () => {
    const folders = {
      "nvidia-h200": ["noise.json", "pinned.json", "sessions.json", "at-once-together.json"],
      "nvidia-h100": ["before-and-after.txt"],
    };
    for (const [folder, files] of Object.entries(folders)) {
      for (const way of ["h2d", "d2h"] as const) {
        const rates = files.flatMap((file) => pageableRates(`results/${folder}/${file}`, way));
        expect(text.replaceAll(/\s+/g, " ")).toContain(rangeText(rates));
      }
    }
    const { h2d, d2h } = recordedKinds[0]!.together!;
    expect(text).toContain(`reach ${h2d.toFixed(1)} (H2D) and ${d2h.toFixed(1)} (D2H) each`);
  });

  it("counts machines and days that the recordings of the H200 show", () => {
    const h200 = recordedKinds.find(({ gpu }) => gpu === "NVIDIA H200")!;
    const read = (name: string) => JSON.parse(textOf(`results/nvidia-h200/${name}.json`));
    // One that was recorded for noise, those of the sessions, and one with two GPUs.
    expect(read("noise").fingerprint.gpuCount).toBe("1");
    expect(read("at-once-together").devices).toHaveLength(2);
    expect(h200.machines).toBe(1 + read("sessions").sessions.length + 1);
    const days = [read("noise"), read("pinned").run, read("at-once-together").run].map(({ startedAt }) =>
      startedAt.slice(0, 10),
    );
    expect(h200.recorded).toEqual([...new Set(days)]);
    expect(`gen${h200.link.generation} x${h200.link.width}`).toBe(read("noise").fingerprint.linkUnderLoad);
  });
});

it("docs/fleet.md shows lines of real reports", () => {
  const [, sample = ""] = /```text\n(=>[\s\S]*?)```/.exec(textOf("docs/fleet.md")) ?? [];
  const shown = drawn(fleetKind, buildMixedFleet(), "table", fileScreen({ columns: 100 })).split("\n");
  const lines = sample.split("\n").filter((line) => line !== "" && line !== "…");
  expect(lines.length).toBeGreaterThan(8);
  for (const line of lines) expect(shown).toContain(line);
});

it("docs/reference.md names all options of the library's fleet()", () => {
  const [line = ""] = /^- `fleet` takes .*$/m.exec(textOf("docs/reference.md")) ?? [];
  const named = [...line.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(named.sort()).toEqual(["fleet", "results", ...Object.keys(fleetSettings)].sort());
});
