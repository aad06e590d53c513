import { describe, expect, it } from "vitest";
import { headTexts } from "../../src/draw/report.js";
import { fileScreen } from "../../src/draw/screen.js";
import { answer } from "../../src/report/findings/answer.js";
import { serverConstants } from "../../src/report/findings/server-constants.js";
import { resultKind } from "../../src/report/result-report.js";
import { cutoffGrids } from "../../src/report/tables/block-grids.js";
import { termsNamed } from "../../src/report/terms.js";
import { type BlockCutoffs, coarseBytes } from "../../src/results/cutoffs/cutoff-schema.js";
import { resultSchema } from "../../src/results/schema.js";
import type { BlockWay } from "../../src/settings/choices.js";
import { buildBlocks } from "../helpers/blocks.js";
import { drawn } from "../helpers/drawn.js";
import { buildDevice, buildDocument, KiB, MiB } from "../helpers/result-document.js";

type Column = Pick<BlockCutoffs, "direction" | "blockCount">;
const wayOf = (way: BlockWay, multiprocessors: number | null = null) => ({ way, multiprocessors });

/** A kernel below a size and a batch from there on, which the search has closed in on. */
function changing(
  column: Column,
  leastKiB: number,
  mostKiB: number,
  sms: number | null = null,
): BlockCutoffs {
  const sizes = [...new Set([...coarseBytes, leastKiB * KiB, mostKiB * KiB])].sort((a, b) => a - b);
  const bytes = Math.round(Math.sqrt(leastKiB * mostKiB)) * KiB;
  const [below, above] = [wayOf("kernel", sms), wayOf("batch")];
  return {
    ...{ device: 0, memory: "pinned", workers: 1 },
    ...column,
    sizes: sizes.map((blockBytes) => ({
      blockBytes,
      fastest: blockBytes <= leastKiB * KiB ? below : above,
      isCertain: blockBytes <= leastKiB * KiB || blockBytes >= mostKiB * KiB,
    })),
    cutoffs: [{ leastBytes: leastKiB * KiB, mostBytes: mostKiB * KiB, bytes, below, above }],
  };
}

function same(column: Column, way: BlockWay, isCertain = true): BlockCutoffs {
  const sizes = coarseBytes.map((blockBytes) => ({ blockBytes, fastest: wayOf(way), isCertain }));
  return { device: 0, memory: "pinned", workers: 1, ...column, sizes, cutoffs: [] };
}

const cells = buildBlocks(4 * KiB, 16, 55, { batch: [10, 100], kernel: [30, 5] });
const documentOf = (...blockCutoffs: BlockCutoffs[]) => ({ ...buildDocument({ cells }), blockCutoffs });

const whole = documentOf(
  changing({ direction: "h2d", blockCount: 16 }, 48, 80, 12),
  changing({ direction: "h2d", blockCount: 256 }, 28, 32, 12),
  changing({ direction: "d2h", blockCount: 16 }, 14, 16),
  same({ direction: "d2h", blockCount: 256 }, "batch", false),
);

describe("the map of a search", () => {
  it("is replaced by the rates if it was interrupted before any size had an interval", () => {
    const shown = (document: typeof whole) =>
      drawn(resultKind, document, "table", fileScreen({ isVerbose: false }));
    const rates = /in scattered blocks, GB\/s\n(.*\n)+? +4 KiB +16 +pinned/;
    expect(shown(documentOf())).toMatch(rates);
    expect(shown(whole)).not.toMatch(rates);
  });

  it("has a table a direction: the fastest way by block size and number of blocks, and the cut-offs", () => {
    expect(resultSchema.parse(whole).blockCutoffs).toEqual(whole.blockCutoffs);
    const [h2d, d2h] = cutoffGrids(whole).map(({ caption, columns, rows }) => ({
      caption,
      heads: headTexts(columns),
      rows: rows.map((row) => row.map(({ text }) => text)),
    }));
    expect(h2d).toEqual({
      caption: "Host to device (H2D), fastest way by block size and number of blocks",
      heads: ["block", "16 blocks", "256 blocks"],
      rows: [
        ["4 KiB", "kernel on 12 SMs", "kernel on 12 SMs"],
        ["16 KiB", "kernel on 12 SMs", "kernel on 12 SMs"],
        ["28 KiB", "", "kernel on 12 SMs"],
        ["32 KiB", "", "batch"],
        ["48 KiB", "kernel on 12 SMs", ""],
        ["64 KiB", "(batch)", "batch"],
        ["80 KiB", "batch", ""],
        ["256 KiB", "batch", "batch"],
        ["1 MiB", "batch", "batch"],
        ["cut-off", "48 KiB to 80 KiB", "28 KiB to 32 KiB"],
      ],
    });
    expect(d2h!.rows.at(-1)).toEqual(["cut-off", "14 KiB to 16 KiB", "-"]);
    expect(termsNamed("cut-off")).not.toEqual([]);
  });

  it("shows few rows without --verbose: the first sizes and those beside a cut-off", () => {
    const column = changing({ direction: "h2d", blockCount: 16 }, 28, 32);
    column.sizes.push({ blockBytes: 512 * KiB, fastest: wayOf("batch"), isCertain: true });
    const [grid] = cutoffGrids(documentOf(column));
    const shown = grid!.keyRows!.map((row) => grid!.rows[row]![0]!.text);
    expect(shown).toEqual(["4 KiB", "16 KiB", "28 KiB", "32 KiB", "64 KiB", "256 KiB", "1 MiB", "cut-off"]);
  });

  it("is one for each device, kind of memory and number of workers, by name if these vary", () => {
    const column = changing({ direction: "h2d", blockCount: 16 }, 28, 32);
    const captionsOf = (parts: Partial<BlockCutoffs>[], ordinals = [0]) => {
      const columns = parts.map((part) => ({ ...column, ...part }));
      const devices = ordinals.map((ordinal) => buildDevice({ ordinal }));
      const grids = cutoffGrids({ ...documentOf(...columns), devices });
      expect(grids.map(({ footnote }) => footnote !== undefined)).toEqual(grids.map((_, i) => i === 0));
      return grids.map(({ caption }) =>
        caption.replace(", fastest way by block size and number of blocks", ""),
      );
    };
    const title = "Host to device (H2D)";
    expect(captionsOf([{ memory: "pinned" }, { memory: "pageable" }])).toEqual([
      ...[`${title}, pinned`, `${title}, pageable`],
    ]);
    expect(captionsOf([{ workers: 1 }, { workers: 2 }])).toEqual([
      `${title}, 1 worker`,
      `${title}, 2 workers`,
    ]);
    expect(captionsOf([{ device: 1 }, { device: 3 }], [1, 3])).toEqual([
      `Device 1: ${title}`,
      `Device 3: ${title}`,
    ]);
  });

  it("has all cut-offs of a number of blocks, with the rows beside each of them", () => {
    const first = changing({ direction: "h2d", blockCount: 16 }, 28, 32);
    const second = changing({ direction: "h2d", blockCount: 16 }, 512, 640);
    const both = {
      ...first,
      sizes: [...first.sizes, ...second.sizes],
      cutoffs: [...first.cutoffs, ...second.cutoffs],
    };
    const [grid] = cutoffGrids(documentOf(same({ direction: "h2d", blockCount: 1 }, "loop"), both));
    expect(headTexts(grid!.columns)).toEqual(["block", "1 block", "16 blocks"]);
    expect(grid!.rows.at(-1)!.map(({ text }) => text)).toEqual([
      ...["cut-off", "-", "28 KiB to 32 KiB; 512 KiB to 640 KiB"],
    ]);
    const shown = grid!.keyRows!.map((row) => grid!.rows[row]![0]!.text);
    expect(shown).toEqual(expect.arrayContaining(["28 KiB", "32 KiB", "512 KiB", "640 KiB"]));
  });

  it("comes before what to paste, in a terminal and in Markdown", () => {
    const text = drawn(resultKind, whole, "table");
    expect(text.indexOf("cut-off")).toBeGreaterThan(0);
    expect(text.indexOf("THRESHOLD_BYTES")).toBeGreaterThan(text.lastIndexOf("cut-off "));
    expect(drawn(resultKind, whole, "markdown")).toContain("THRESHOLD_BYTES = 30 * 1024");
  });

  it("has its main line in the answer", () => {
    const texts = answer(whole).map(({ text }) => text);
    expect(texts).toContainEqual(
      "In scattered blocks of pinned memory, H2D: a kernel is fastest up to 28 KiB and a batch from 32 KiB on (256 blocks); " +
        "D2H: a kernel is fastest up to 14 KiB and a batch from 16 KiB on (16 blocks).",
    );
    const lineOf = (...columns: BlockCutoffs[]) => answer(documentOf(...columns)).at(-1)!.text;
    expect(lineOf(same({ direction: "h2d", blockCount: 16 }, "kernel"))).toMatch(
      /, a kernel is fastest at every size \(H2D\)\.$/,
    );
    const mixed = same({ direction: "h2d", blockCount: 16 }, "kernel");
    mixed.sizes.push({ blockBytes: 512 * KiB, fastest: wayOf("batch"), isCertain: true });
    for (const column of [same({ direction: "h2d", blockCount: 16 }, "kernel", false), mixed])
      expect(lineOf(column)).toMatch(
        /, these intervals show no block size at which the best way changes \(H2D\)\.$/,
      );
    const [few, most] = [16, 256].map((blockCount) => changing({ direction: "h2d", blockCount }, 28, 32));
    expect(lineOf(few!, most!)).toContain("(256 blocks)");
  });
});

describe("several devices, numbers of workers and kinds of memory", () => {
  const own = changing({ direction: "h2d", blockCount: 16 }, 28, 32);
  const others = [{ device: 1 }, { workers: 4 }].map((part) => ({
    ...changing({ direction: "h2d", blockCount: 256 }, 48, 80),
    ...part,
  }));

  it("have the first one's answer and settings", () => {
    const document = documentOf(own, ...others);
    expect(answer(document).at(-1)!.text).toMatch(
      /up to 28 KiB and a batch from 32 KiB on \(H2D\)|\(16 blocks\) \(H2D\)/,
    );
    expect(serverConstants(document)).toBe(serverConstants(documentOf(own)));
  });

  it("have a line for each kind of memory, and settings for pinned memory", () => {
    const pageable = { ...own, memory: "pageable" as const };
    const pinned = changing({ direction: "h2d", blockCount: 16 }, 48, 80);
    const document = documentOf(pageable, pinned);
    expect(serverConstants(document)).toBe(serverConstants(documentOf(pinned)));
    expect(serverConstants(documentOf(pageable))).toBeNull();
  });
});

describe("settings of inference servers", () => {
  const of = (...columns: BlockCutoffs[]) => serverConstants(documentOf(...columns));

  it("are none where one way is the best at some sizes and another at others, without a cut-off", () => {
    const ways = (...names: BlockWay[]) => {
      const column = same({ direction: "h2d", blockCount: 16 }, names[0]!);
      const sizes = column.sizes.map((size, i) => ({ ...size, fastest: wayOf(names[i % names.length]!) }));
      return { ...column, sizes };
    };
    expect(of(ways("kernel", "gather"))).toBeNull();
    expect(of(ways("loop", "gather"))).toBeNull();
    expect(of(ways("loop", "batch"))).toContain("--transfer-copy-mode direct");
  });

  it("skip cut-offs between other ways", () => {
    const column = changing({ direction: "h2d", blockCount: 16 }, 48, 80);
    const [kernel] = column.cutoffs;
    const gather = { ...kernel!, leastBytes: 4 * KiB, mostBytes: 8 * KiB, bytes: 6 * KiB };
    const cutoffs = [{ ...gather, below: wayOf("gather"), above: wayOf("kernel") }, kernel!];
    expect(of({ ...column, cutoffs })).toBe(of(column));
  });

  it("are the cut-off of the most blocks to the device, and the fewest blocks that have one", () => {
    expect(serverConstants(whole)!.split("\n")).toEqual([
      "# vLLM, kv_offload/cpu/swap_blocks_triton.py (H2D)",
      "THRESHOLD_BYTES = 30 * 1024",
      "MIN_N = 16",
      "NUM_SMS = 12",
      "# SGLang, for blocks below 30 KiB; from there on: --hicache-io-backend direct",
      "--hicache-io-backend kernel",
      "# LMCache",
      "--transfer-copy-mode auto --direct-copy-min-block-bytes 30720",
    ]);
  });

  it("are one way where that is the best at every size", () => {
    const kernel = of(same({ direction: "h2d", blockCount: 16 }, "kernel"))!;
    expect(kernel).toContain(`THRESHOLD_BYTES = ${MiB / KiB} * 1024  # at least`);
    expect(kernel).toContain("--hicache-io-backend kernel\n# LMCache\n--transfer-copy-mode kernel");
    const direct = of(same({ direction: "h2d", blockCount: 16 }, "loop"))!;
    expect(direct).toContain("THRESHOLD_BYTES = 0");
    expect(direct).toContain("--hicache-io-backend direct\n# LMCache\n--transfer-copy-mode direct");
  });

  it("are those of the other direction where that alone was measured, but for vLLM's, which are of H2D", () => {
    const text = of(changing({ direction: "d2h", blockCount: 16 }, 14, 16))!;
    expect(text).not.toContain("vLLM");
    expect(text).toContain("--direct-copy-min-block-bytes 15360");
  });

  it("are none where nothing is certain, and where the CPU's way is the best", () => {
    expect(of(same({ direction: "h2d", blockCount: 16 }, "kernel", false))).toBeNull();
    expect(of(same({ direction: "h2d", blockCount: 16 }, "gather"))).toBeNull();
    expect(of()).toBeNull();
    expect(serverConstants(buildDocument({ cells }))).toBeNull();
  });
});
