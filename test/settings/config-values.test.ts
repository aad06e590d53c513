import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../src/settings/configuration.js";
import { knownKeys } from "../../src/settings/configuration-schema.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import { configFile, folderOf } from "../helpers/config.js";
import { callCli } from "../helpers/in-process.js";

const configured = (config: unknown) =>
  loadConfiguration({ config: null }, folderOf({ [configFile]: config }));

describe("values in a configuration file", () => {
  it("are parsed like the values of flags", async () => {
    const { plan } = await configured({
      plan: {
        preset: "quick",
        device: "0,1",
        backend: "cuda",
        sizes: "1KiB..4KiB*2,6KB",
        workers: "2,1",
        memory: "pinned,pageable",
        direction: "d2h",
        mode: "latency",
        cache: "warm",
        precision: "2%",
        budget: "500ms",
        samples: "30",
        verify: "every",
        maxPinned: "1GiB",
        numa: "1",
      },
    });
    expect(plan).toEqual({
      preset: "quick",
      devices: [0, 1],
      backend: "cuda",
      sizesBytes: [1024, 2048, 4096, 6000],
      workers: [1, 2],
      memory: ["pageable", "pinned"],
      directions: ["d2h"],
      modes: ["latency"],
      caches: ["warm"],
      precision: 0.02,
      budgetNs: 500e6,
      samplesPerCell: 30,
      verify: "every",
      maxPinnedBytes: 1024 ** 3,
      numa: 1,
    });
  });

  it("may be arrays and numbers instead of text", async () => {
    const { plan } = await configured({
      plan: {
        device: [0, 1],
        sizes: ["64KiB", 4096, "1MiB..4MiB*2"],
        workers: [4, 1],
        memory: ["pinned", "pageable"],
        precision: 0.02,
        samples: 30,
        numa: 0,
      },
    });
    expect(plan).toEqual({
      devices: [0, 1],
      sizesBytes: [4096, 65536, 1024 ** 2, 2 * 1024 ** 2, 4 * 1024 ** 2],
      workers: [1, 4],
      memory: ["pageable", "pinned"],
      precision: 0.02,
      samplesPerCell: 30,
      numa: 0,
    });
  });

  it("have the names of the flags as their keys", async () => {
    const { stdout } = await callCli(["help", "run"]);
    for (const key of knownKeys.plan!) {
      const flag = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      expect(stdout).toMatch(new RegExp(`^ {2}(-\\w, )?--${flag}\\b`, "m"));
    }
  });
});

describe("the comparison settings of a configuration", () => {
  it("have thresholds as shares, and the baseline's path relative to the file's folder", async () => {
    const folder = folderOf({
      [`ci/${configFile}`]: {
        baseline: "baselines/h200.json",
        runs: 5,
        thresholds: {
          default: "4%",
          memory: { pageable: "10%" },
        },
        strict: true,
      },
    });
    expect(await loadConfiguration({ config: null }, join(folder, "ci"))).toEqual({
      path: join(folder, "ci", configFile),
      plan: {},
      baseline: join(folder, "ci/baselines/h200.json"),
      runs: 5,
      thresholds: {
        default: 0.04,
        memory: { pageable: 0.1 },
      },
      strict: true,
    });
  });

  it("are unset if no configuration sets them", async () => {
    const open = {
      plan: {},
      baseline: null,
      runs: null,
      thresholds: defaultThresholds,
      strict: false,
    };
    expect(await configured({})).toEqual({ ...open, path: expect.any(String) });
    expect(await loadConfiguration({ config: false }, folderOf({ [configFile]: { runs: 3 } }))).toEqual({
      ...open,
      path: null,
    });
  });
});
