import { type BlockCutoffs, latticeBytes } from "../../results/cutoffs/cutoff-schema.js";
import type { ResultDocument } from "../../results/schema.js";
import type { BlockWay } from "../../settings/choices.js";
import { formatSize, KiB } from "../../settings/units.js";

/* The result of `--blocks auto` as settings of inference servers, under the servers' names. */

type WayChoice = { fromBytes: number; leastCount: number } | "kernel" | "direct";

/**
 * Settings to paste for servers that choose between a kernel and copies by block size; null if nothing is
 * certain. Servers have one setting for both directions, or only for H2D, which requests wait for: so H2D
 * decides, or D2H if H2D is not known.
 */
export function serverConstants({ blockCutoffs }: Pick<ResultDocument, "blockCutoffs">): string | null {
  const [first] = blockCutoffs ?? [];
  if (first === undefined) return null;
  const own = (blockCutoffs ?? []).filter(
    ({ device, memory, workers }) =>
      device === first.device && memory === "pinned" && workers === first.workers,
  );
  const [h2d, d2h] = (["h2d", "d2h"] as const).map((one) =>
    choiceOf(own.filter(({ direction }) => direction === one)),
  );
  const choice = h2d ?? d2h;
  if (choice == null) return null;
  return [...(h2d == null ? [] : vllmLines(h2d)), ...sglangLines(choice), ...lmcacheLines(choice)].join("\n");
}

/** The choice for the largest number of blocks with a cut-off; null if unknown. */
function choiceOf(columns: readonly BlockCutoffs[]): WayChoice | null {
  const changes = columns.flatMap(({ blockCount, cutoffs }) => {
    const cutoff = cutoffs.find(({ below, above }) => below === "kernel" && isDirect(above));
    return cutoff === undefined ? [] : [{ blockCount, cutoff }];
  });
  const main = changes.at(-1);
  if (main !== undefined) {
    return { fromBytes: main.cutoff.bytes, leastCount: changes[0]!.blockCount };
  }
  const sizes = columns.flatMap((one) => one.sizes);
  if (sizes.length === 0 || !sizes.every(({ isCertain }) => isCertain)) return null;
  if (sizes.every(({ fastest }) => fastest === "kernel")) return "kernel";
  return sizes.every(({ fastest }) => isDirect(fastest)) ? "direct" : null;
}

function isDirect(way: BlockWay): boolean {
  return way !== "kernel" && way !== "gather";
}

const largest = latticeBytes.at(-1)!;

function vllmLines(choice: WayChoice): string[] {
  const head = "# vLLM, kv_offload/cpu/swap_blocks_triton.py (H2D)";
  if (choice === "direct") return [head, "THRESHOLD_BYTES = 0"];
  if (choice === "kernel") return [head, `THRESHOLD_BYTES = ${largest / KiB} * 1024  # at least`];
  const { fromBytes, leastCount } = choice;
  return [head, `THRESHOLD_BYTES = ${fromBytes / KiB} * 1024`, `MIN_N = ${leastCount}`];
}

function sglangLines(choice: WayChoice): string[] {
  const flag = (backend: "kernel" | "direct") => `--hicache-io-backend ${backend}`;
  if (typeof choice === "string") return ["# SGLang", flag(choice)];
  const size = formatSize(choice.fromBytes);
  return [`# SGLang, for blocks below ${size}; from there on: ${flag("direct")}`, flag("kernel")];
}

function lmcacheLines(choice: WayChoice): string[] {
  const mode = (name: string) => `--transfer-copy-mode ${name}`;
  if (typeof choice === "string") return ["# LMCache", mode(choice)];
  return ["# LMCache", `${mode("auto")} --direct-copy-min-block-bytes ${choice.fromBytes}`];
}
