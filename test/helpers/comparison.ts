import type { CellComparison, Comparison, GroupComparison } from "../../src/compare/comparison.js";
import { noticeOf } from "../../src/results/device-facts.js";
import { frozen } from "./frozen.js";
import { MiB } from "./result-document.js";

/** Builds valid comparisons by parts: each part has sensible defaults, and a test sets only what matters to it. */

/** The id of a cold cell of one worker. */
export function idOf(memory: string, direction = "h2d", sizeBytes = 16 * MiB, device = 0): string {
  return `d${device}/${direction}/${memory}/${sizeBytes}/w1/throughput/cold`;
}

/** A group of one pinned cell that did not change; without figures if it is missing or new. */
export function buildGroup(part: Partial<GroupComparison> = {}): GroupComparison {
  const { kind = "pinned", device = 0, direction = "h2d", verdict = "not slower", change = 0 } = part;
  const slow = { slow: 0, runs: 5 };
  const figures =
    verdict === "missing" || verdict === "new"
      ? { runs: null, change: null, standardError: null, slowRuns: null, wouldShow: null }
      : {
          runs: { baseline: 5, sessions: 4, candidate: 5 },
          change,
          standardError: 0.005,
          slowRuns: { baseline: slow, candidate: slow },
          wouldShow: 0.034,
        };
  return {
    kind,
    device,
    direction,
    moved: direction === "bidir" ? "sum" : direction,
    ids: [idOf(kind, direction, 16 * MiB, device)],
    ...figures,
    firstChange: null,
    hostChange: null,
    changeOverTime: figures.change,
    slowerAlone: [],
    missing: verdict === "missing" ? [idOf(kind, direction, 16 * MiB, device)] : [],
    basis: figures.runs === null ? null : basisOf(part),
    threshold: 0.03,
    verdict,
    reason: "One sentence.",
    ...part,
  };
}

function basisOf({
  slowerAlone = [],
  slowRuns,
  verdict,
}: Partial<GroupComparison>): GroupComparison["basis"] {
  if (slowerAlone.length > 0) return "single cells";
  if (slowRuns != null && slowRuns.candidate.slow > 0) return "slow runs";
  return verdict === "unsteady" ? "slow copies" : "change";
}

/** A cell with the change and the verdict of its group, unless a part says otherwise. */
export function buildCell(
  part: Partial<CellComparison> = {},
  group: GroupComparison = buildGroup(),
): CellComparison {
  const { id = group.ids[0]!, change = group.change } = part;
  const before = 55.4;
  const [isMissing, isNew] = [group.verdict === "missing", group.verdict === "new"];
  return {
    ...{ device: group.device, direction: group.direction, memory: group.kind },
    ...{ sizeBytes: 16 * MiB, workers: 1, mode: "throughput", cache: "cold" },
    id,
    moved: group.moved,
    unit: "GB/s",
    baseline: isNew ? null : { figure: before, runs: 5 },
    candidate: isMissing ? null : { figure: before * (1 + (change ?? 0)), runs: 5 },
    change,
    standardErrors: group.ids.length > 1 ? 0.5 : null,
    verdict: group.verdict,
    ...part,
  };
}

export interface ComparisonPart extends Partial<Omit<Comparison, "rule">> {
  rule?: Partial<Comparison["rule"]>;
}

/** A passed `check` of one unchanged group; the cells are those of the groups. */
export function buildComparison(part: ComparisonPart = {}): Comparison {
  const { groups = [buildGroup()], backend = "cuda" } = part;
  const set = {
    startedAt: "2026-11-20T10:00:00.000Z",
    deviceNames: [backend === "cuda" ? "NVIDIA H200" : "pinbench emulated device"],
    fingerprint: { backend, driver: "580.159.04" },
  };
  return frozen({
    schemaVersion: 1,
    kind: "comparison",
    tool: { name: "pinbench", version: "0.1.0" },
    command: "check",
    createdAt: "2026-11-21T10:00:00.000Z",
    backend,
    notice: noticeOf(backend),
    baseline: { ...set, path: "main", runs: 10, sessions: 4 },
    candidate: { ...set, path: null, runs: 5, sessions: 1 },
    differences: [],
    confirmation: null,
    groups,
    cells: groups.flatMap((group) => group.ids.map((id) => buildCell({ id }, group))),
    notes: [],
    outcome: "pass",
    ...part,
    rule: { allowMismatch: false, strict: false, ...part.rule },
  });
}

/** A group of each verdict, and host memory. */
export function buildMixedGroups(): GroupComparison[] {
  return [
    buildGroup({ direction: "d2h", change: -0.0983, verdict: "slower" }),
    buildGroup({ kind: "registered", verdict: "missing" }),
    buildGroup({
      kind: "write-combined",
      verdict: "unsteady",
      slowRuns: { baseline: { slow: 0, runs: 10 }, candidate: { slow: 3, runs: 24 } },
    }),
    buildGroup({ kind: "pageable", change: -0.2, standardError: 0.06, verdict: "undecided", hostChange: 0 }),
    buildGroup({ kind: "host", verdict: null }),
    buildGroup({ kind: "staged", change: 0.0512, verdict: "faster" }),
    buildGroup({ kind: "mapped", verdict: "new" }),
    buildGroup(),
  ];
}

/** Texts from other programs' result files that reach the outputs. */
export const oddText = "a \"b\" <c> & 'd' ]]> | `e` %0A \u0000\u0007\u001b[31m\ud800 \ufffe\r\nf,g:h\t";
