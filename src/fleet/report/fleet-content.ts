import {
  type Column,
  detail,
  type Fact,
  figure,
  type Grid,
  type Note,
  note,
  numberColumn,
  reasonNotes,
  wordColumn,
} from "../../draw/report.js";
import { counted, listed, timeText, withoutFullStop } from "../../draw/words.js";
import { absentFigure, shareFigure, sign } from "../../results/naming/cell-figure.js";
import { groupBy } from "../../stats/group-by.js";
import type { FleetDocument, FleetGroup, FleetOutlier } from "../fleet-document.js";
import { againstText, bareFigure, lossText, unitName } from "../fleet-wording.js";
import { fleetAnswers, groupNote, nodesText } from "./fleet-answer.js";
import { countGpus, groupFacts, lackingNodes, type NameOfFleetCell, sinceText } from "./fleet-text.js";

export function fleetFacts(document: FleetDocument): Fact[] {
  const { nodes, groups } = document;
  const states = [...groupBy(nodes, ({ state }) => state)].map(
    ([state, members]) => `${members.length} ${state}`,
  );
  const times = nodes.flatMap(({ startedAt }) => startedAt ?? []).sort();
  const period = new Set([times.slice(0, 1), times.slice(-1)].flat().map(timeText));
  return [
    ["Nodes", `${nodes.length}: ${listed(states)}`],
    ["GPUs", `${countGpus(document)} in ${counted(groups.length, "group")} of similar nodes`],
    ...(period.size === 0 ? [] : [["Measured", [...period].join(" to ")] as const]),
    ...groups.flatMap((group, index) => boundsFact(group, index, groups)),
  ];
}

/** Losses from which on a node or GPU of a group is slow; the largest for each kind of copies. */
function boundsFact({ bounds }: FleetGroup, index: number, groups: readonly unknown[]): Fact[] {
  const texts = Object.entries(kindNames).flatMap(([kind, name]) => {
    const most = (key: "node" | "gpu" | "reference", what: string) => {
      const losses = bounds.flatMap((one) => (one.kind === kind ? (one[key] ?? []) : []));
      return losses.length === 0 ? [] : [`${lossText(Math.max(...losses))} ${what}`];
    };
    const found = [
      ...most("node", "of a node"),
      ...most("gpu", "of a GPU"),
      ...most("reference", "below the reference"),
    ];
    return found.length === 0 ? [] : [`${name} ${found.join(", ")}`];
  });
  if (texts.length === 0) return [];
  return [[groups.length > 1 ? `Finds in group ${index + 1}` : "Finds losses of", texts.join("; ")]];
}

const kindNames = { pinned: "pinned", copiesByCpu: "other copies" } as const;

export function outlierGrids(document: FleetDocument, nameOf: NameOfFleetCell): Grid[] {
  const outliers = [...document.outliers, ...document.cleared];
  if (outliers.length === 0) return [];
  const worstOf = ({ cells }: FleetOutlier) => cells[0]!;
  const fields: [Column, (one: FleetOutlier) => string | null][] = [
    [wordColumn("node"), ({ host }) => host],
    [wordColumn("GPU"), ({ device }) => (device === null ? "all" : String(device))],
    [numberColumn("slower by"), (one) => lossText(-worstOf(one).change)],
    [wordColumn("do"), ({ action }) => action],
    [wordColumn("slowest in"), (one) => nameOf(worstOf(one))],
    [numberColumn("figure"), (one) => againstText(worstOf(one))],
    [wordColumn("again"), ({ confirmed }) => (confirmed === null ? null : confirmed ? "slow" : "not slow")],
    [detail(wordColumn("slow since")), sinceText],
  ];
  const used = fields.filter(([, textOf]) => outliers.some((one) => textOf(one) !== null));
  const toneOf = ({ confirmed }: FleetOutlier, field: number) =>
    confirmed === false ? "muted" : field === 2 ? "failure" : "plain";
  const rows = outliers.map((one) =>
    used.map(([, textOf], field) => figure(textOf(one) ?? sign.absent, "", toneOf(one, field))),
  );
  const columns = used.map(([column]) => column);
  return [{ caption: "Slower than expected", columns, keepsRepeats: true, rows }];
}

export function lackingGrids(document: FleetDocument): Grid[] {
  const rows = lackingNodes(document).flatMap(([state, nodes]) =>
    [...groupBy(nodes, ({ reason }) => reason ?? "")].map(([reason, members]) => [
      figure(state, "", state === "wrong data" ? "mismatch" : "failure"),
      figure(String(members.length)),
      figure(nodesText(members)),
      figure(members[0]!.action),
      reason === "" ? absentFigure : figure(reason),
    ]),
  );
  if (rows.length === 0) return [];
  const words = ["which", "do", "why"].map((name) => wordColumn(name));
  const columns = [wordColumn("state"), numberColumn("nodes"), ...words];
  return [{ caption: "Nodes without a valid, complete result", columns, rows, keepsRepeats: true }];
}

export function groupGrids({ groups }: FleetDocument, nameOf: NameOfFleetCell): Grid[] {
  return groups.map((group, index) => {
    const name = groups.length > 1 ? `Group ${index + 1}` : "All nodes";
    const hasReference = group.cells.some(({ shareOfReference }) => shareOfReference !== null);
    return {
      caption: `${name}: ${counted(group.nodes, "node")}, ${counted(group.devices, "GPU")}, ${groupFacts(group)}`,
      columns: [
        wordColumn("cell"),
        detail(numberColumn("GPUs")),
        wordColumn("unit"),
        ...["median", "lowest"].map((of) => numberColumn(of)),
        detail(numberColumn("highest")),
        ...(hasReference ? [numberColumn("of", "healthy")] : []),
      ],
      keepsRepeats: true,
      rows: group.cells.map((cell) => [
        figure(nameOf(cell)),
        figure(String(cell.figures)),
        figure(unitName[cell.unit]),
        ...[cell.median, cell.lowest, cell.highest].map((value) => figure(bareFigure(value, cell.unit))),
        ...(hasReference ? [shareFigure(cell.shareOfReference)] : []),
      ]),
    };
  });
}

export function fleetNotes(document: FleetDocument): Note[] {
  const { outliers, groups, nodes } = document;
  return [
    ...fleetAnswers(document).others,
    ...document.notes.map((text) => note(withoutFullStop(text), "warning")),
    ...reasonNotes(outliers, ({ evidence }) => evidence, nodesText, "evidence", "plain"),
    ...groups.flatMap(({ notes }, index) => notes.map((text) => groupNote(text, index, groups, "plain"))),
    ...reasonNotes(nodes, ({ notes }) => notes, nodesText, "note", "plain"),
  ];
}
