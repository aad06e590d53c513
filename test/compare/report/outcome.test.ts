import { describe, expect, it } from "vitest";
import { type Difference, outcomes, verdicts } from "../../../src/compare/comparison.js";
import {
  describeOutcome,
  headline,
  outcomeTone,
  verdictMeaning,
} from "../../../src/compare/report/outcome.js";
import {
  buildCell,
  buildComparison,
  buildGroup,
  buildMixedGroups,
  type ComparisonPart,
  idOf,
} from "../../helpers/comparison.js";
import { MiB } from "../../helpers/result-document.js";

const { baseline } = buildComparison();
const oneSession = { runs: { baseline: 5, sessions: 1, candidate: 5 } };
const lost = (kind: string, change: number, part = {}) =>
  buildGroup({ kind, change, verdict: "slower", ...part });
const slow = (ofBaseline: number, ofCandidate: number, verdict: "unsteady" | "undecided") =>
  buildGroup({
    verdict,
    slowRuns: { baseline: { slow: ofBaseline, runs: 10 }, candidate: { slow: ofCandidate, runs: 24 } },
  });
const differ = (fact: string, part: Partial<Difference> = {}): Difference => ({
  ...{ fact, baseline: "a", candidate: "b", blocks: false, isOverruled: false },
  ...part,
});
const isOther = { isOtherMachine: true } as const;
const regression = { outcome: "regression" } as const;
const undecided = { outcome: "undecided" } as const;
const open = buildGroup({ kind: "pageable", change: -0.2, verdict: "undecided" });
const link = { device: 0, baseline: { generation: 5, width: 16 }, of: 5 };
const sizes = [4, 16, 64].map((size) => idOf("pinned", "h2d", size * MiB));
const twoCells = lost("pinned", -0.001, { ids: sizes, slowerAlone: sizes.slice(1) });
const copies = "Copies are not slower. A loss of 3.4 % would show in pinned.";
const nothing = "Nothing is slower. A loss of 3.4 % would show in pinned.";

describe("the headline of a comparison", () => {
  it.each<[string, ComparisonPart, string[]]>([
    ["names the detectable loss after a pass", {}, [nothing]],
    [
      "names the largest detectable loss of each kind of memory, rounded up",
      {
        groups: [
          buildGroup({ wouldShow: 0.0331 }),
          buildGroup({ direction: "d2h", wouldShow: 0.0333 }),
          buildGroup({ kind: "pageable", wouldShow: 0.28 }),
          buildGroup({ kind: "staged", wouldShow: 0.275 }),
          buildGroup({ kind: "host", verdict: null, wouldShow: 0.5 }),
        ],
      },
      ["Nothing is slower. A loss of 3.4 % would show in pinned, of 28 % in pageable and staged."],
    ],
    [
      "names the assumed noise between sessions if the baseline has only one",
      { groups: [buildGroup(oneSession), buildGroup({ kind: "pageable", ...oneSession })] },
      [
        "Nothing is slower. A loss of 3.4 % would show in pinned and pageable.",
        "The baseline has one session. It is assumed that sessions differ by no more than 0.4 % (pinned) and 5.0 % (copies by the CPU).",
      ],
    ],
    [
      "assumes the noise of copies by the CPU on the emulated device",
      { groups: [buildGroup(oneSession)], backend: "emulated" },
      [
        nothing,
        "The baseline has one session. It is assumed that sessions differ by no more than 5.0 % (copies by the CPU).",
      ],
    ],
    [
      "lists slower groups with their changes, the largest loss first, then unsteady groups",
      {
        ...regression,
        groups: [
          buildGroup(),
          lost("mapped", -0.0501),
          slow(0, 3, "unsteady"),
          lost("pageable", -0.67, { direction: "d2h" }),
        ],
      },
      [
        "Slower: D2H pageable −67.0 % and H2D mapped −5.1 %; unsteady: H2D pinned (3 of 24 runs much slower, baseline 0 of 10).",
      ],
    ],
    [
      "names three slower groups and counts the others",
      {
        ...regression,
        groups: ["pinned", "mapped", "staged", "pageable"].map((kind) => lost(kind, -0.1)),
      },
      ["Slower: H2D pinned −10.0 %, H2D mapped −10.0 %, H2D staged −10.0 % and 1 more."],
    ],
    [
      "has the change over time for groups with slow copies",
      { ...regression, groups: [buildGroup({ verdict: "unsteady", changeOverTime: -0.3 })] },
      ["Unsteady: H2D pinned −30.0 % over time by slow copies."],
    ],
    [
      "names single slower cells of a group with their own changes",
      {
        ...regression,
        groups: [twoCells],
        cells: buildComparison({ groups: [twoCells] }).cells.map((cell) => ({ ...cell, change: -0.1 })),
      },
      ["Slower: H2D pinned 16 MiB −10.0 % and H2D pinned 64 MiB −10.0 % (of 3 cells)."],
    ],
    [
      "blames the machine's memory if host memory lost about as much",
      { ...regression, groups: [lost("pageable", -0.6, { hostChange: -0.58 }), buildGroup()] },
      ["Slower: H2D pageable −60.0 %.", "Host memory −58.0 % too: the machine's memory, not the link."],
    ],
    [
      "only mentions host memory if it lost less than three quarters as much",
      { ...regression, groups: [lost("pageable", -0.6, { hostChange: -0.29 })] },
      ["Slower: H2D pageable −60.0 %.", "Host memory −29.0 % at the same time."],
    ],
    [
      "does not blame host memory if pinned copies are slower too",
      { ...regression, groups: [lost("pinned", -0.1), lost("pageable", -0.6, { hostChange: -0.58 })] },
      ["Slower: H2D pageable −60.0 % and H2D pinned −10.0 %.", "Host memory −58.0 % at the same time."],
    ],
    [
      "has the change of host memory that belongs to the group named first",
      {
        ...regression,
        groups: [-0.5, -0.6].map((change, device) =>
          lost("pageable", change, { device, hostChange: change + 0.02 }),
        ),
      },
      [
        "Slower: d1 H2D pageable −60.0 % and d0 H2D pageable −50.0 %.",
        "Host memory −58.0 % too: the machine's memory, not the link.",
      ],
    ],
    [
      "counts a bidir cell on one side only as one cell, and leaves out host memory",
      {
        groups: [buildGroup()],
        cells: (["h2d", "d2h", "sum"] as const)
          .map((moved) => buildCell({ id: idOf("pinned", "bidir"), moved, candidate: null }))
          .concat(buildCell({ id: idOf("host"), memory: "host", candidate: null })),
      },
      ["Nothing is slower (not compared: 1 cell on one side only). A loss of 3.4 % would show in pinned."],
    ],
    [
      "does not blame host memory for a loss that the link explains",
      {
        ...regression,
        groups: [lost("pageable", -0.6, { hostChange: -0.58 })],
        linkLosses: [
          {
            device: 0,
            runs: 5,
            of: 5,
            baseline: { generation: 5, width: 16 },
            candidate: { generation: 5, width: 8 },
          },
        ],
      },
      [expect.stringMatching(/^Slower link: /), "Slower: H2D pageable −60.0 %."],
    ],
    [
      "of an undecided check has the command that adds sessions, with the path quoted",
      { ...undecided, groups: [open], baseline: { ...baseline, path: "my runs" } },
      [
        "Undecided: H2D pageable −20.0 %. While the machine is healthy, add sessions: `pinbench baseline 'my runs' --append`.",
      ],
    ],
    [
      "of an undecided check against a single result has the command that makes a baseline",
      { ...undecided, groups: [open], baseline: { ...baseline, path: "a.json" } },
      [
        "Undecided: H2D pageable −20.0 %. Make a baseline of several sessions: `pinbench baseline FOLDER --sessions 4`.",
      ],
    ],
    [
      "of an undecided comparison asks for more runs",
      { ...undecided, command: "compare", groups: [open, slow(1, 2, "undecided")] },
      [
        "Undecided: H2D pageable −20.0 % and H2D pinned (2 of 24 runs much slower, baseline 1 of 10). Use 10 runs on each side, in several sessions.",
      ],
    ],
    [
      "reports that nothing was measured on both sides if --strict misses the only group",
      {
        ...undecided,
        rule: { strict: true },
        groups: [buildGroup({ verdict: "missing" })],
        command: "compare",
      },
      ["Undecided: nothing was measured on both sides."],
    ],
    [
      "names a missing group beside others",
      {
        ...undecided,
        ...{ rule: { strict: true }, command: "compare" },
        groups: [buildGroup(), buildGroup({ kind: "mapped", verdict: "missing" })],
      },
      ["Undecided: H2D mapped (no figures)."],
    ],
    [
      "is undecided without any group",
      { ...undecided, groups: [] },
      ["Undecided: nothing was measured on both sides."],
    ],
    [
      "begins with a failure to measure",
      { outcome: "failed" },
      ["Measuring failed or did not finish.", nothing],
    ],
    [
      "begins with wrong data",
      { outcome: "mismatch" },
      ["Data came back wrong: take the machine out of use.", nothing],
    ],
    [
      "begins with a link that lost lanes",
      { ...regression, linkLosses: [{ ...link, candidate: { generation: 5, width: 8 }, runs: 5 }] },
      ["Slower link: the link of GPU 0 runs at x8, the baseline's at x16.", copies],
    ],
    [
      "has one line for two slower links, with the number of runs",
      {
        ...regression,
        linkLosses: [
          { ...link, candidate: { generation: 4, width: 8 }, runs: 5 },
          { ...link, device: 1, candidate: { generation: 4, width: 16 }, runs: 1 },
        ],
      },
      [
        "Slower link: the link of GPU 0 runs at gen4 x8, the baseline's at gen5 x16; the link of GPU 1 runs at gen4 in 1 of 5 runs, the baseline's at gen5.",
        copies,
      ],
    ],
    [
      "begins with another GPU of the same model",
      { differences: [differ("GPU UUID", isOther)] },
      [`Another GPU of the same model. ${nothing}`],
    ],
    [
      "begins with another GPU if the model differs",
      { differences: [differ("GPU"), differ("GPU UUID", isOther)] },
      [`Another GPU. ${nothing}`],
    ],
    [
      "begins with another machine if the host differs",
      { differences: [differ("host name", isOther)] },
      [`Another machine (host a → b). ${nothing}`],
    ],
    [
      "names another GPU together with another host",
      { differences: [differ("host name"), differ("GPU UUID", isOther)] },
      [`Another machine (host a → b, another GPU of the same model). ${nothing}`],
    ],
    ["ignores another slot of the same GPU", { differences: [differ("PCI address")] }, [nothing]],
    [
      "has no verdict if a fact prevents one",
      {
        outcome: "not comparable",
        differences: [differ("driver", { blocks: true }), differ("kernel")],
      },
      ["Not comparable: driver differs."],
    ],
    [
      "lists several facts that prevent a verdict",
      {
        outcome: "not comparable",
        differences: ["driver", "GPU"].map((fact) => differ(fact, { blocks: true })),
      },
      ["Not comparable: driver and GPU differ."],
    ],
  ])("%s", (_, part, lines) => {
    expect(headline(buildComparison(part))).toEqual(lines);
  });

  it("has at most three lines, however much there is to report", () => {
    const everything = buildComparison({
      outcome: "failed",
      groups: [...buildMixedGroups(), lost("pageable", -0.6, { hostChange: -0.58 })],
      differences: [differ("host name", isOther)],
      linkLosses: [{ ...link, candidate: { generation: 4, width: 8 }, runs: 5 }],
    });
    const lines = headline(everything);
    expect(lines.map((line) => line.split(/[:.(]/)[0]!.trim())).toEqual([
      ...["Measuring failed or did not finish", "Slower link", "Another machine"],
    ]);
    expect(describeOutcome(everything)).toBe(lines.join(" "));
  });
});

it("each verdict has its own explanation, and only the outcome pass has a plain tone", () => {
  expect(new Set(verdicts.map((verdict) => verdictMeaning[verdict])).size).toBe(verdicts.length);
  expect(outcomes.filter((outcome) => outcomeTone[outcome] === "plain")).toEqual(["pass"]);
});
