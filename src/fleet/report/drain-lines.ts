import { asciiText, printableText } from "../../draw/printable-text.js";
import { groupBy } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import type { FleetDocument, FleetNode } from "../fleet-document.js";
import {
  fleetCellNames,
  isLacking,
  isRunInDoubt,
  isUnclear,
  lossText,
  slowPart,
  worstCell,
  worstOutlier,
} from "./fleet-text.js";

/** Output for Slurm: a list of the nodes to avoid, and the commands that drain them. */

/** A node to avoid, with the reason in a few words. */
interface BadNode {
  host: string;
  reason: string;
  /** `lacking`: it has no valid result, which may be the fault of the run. */
  cause: "slow" | "lacking" | "wrong data" | "incomplete";
}

/** The names of the nodes in Slurm; null if it was not asked. An unknown name may stand for several nodes. */
export type KnownNodes = ReadonlySet<string> | null;

/** Why a name cannot be in a list for Slurm; null if it can. */
function whyNotListed(host: string, known: KnownNodes): string | null {
  if (!isListable(host)) return "it is not the name of one host";
  return known === null || known.has(host) ? null : "Slurm knows no node of this name";
}

/**
 * The nodes that are slow or have no valid result, compressed on one line; an empty line without any. Names that
 * do not belong to one node are left out, and so are unreadable results, whose nodes are unknown.
 */
export function nodeListReport(document: FleetDocument, known: KnownNodes): string {
  const hosts = badNodes(document).map(({ host }) => host);
  return `${nodeList(hosts.filter((host) => whyNotListed(host, known) === null))}\n`;
}

/**
 * The names of nodes to avoid that a list cannot contain, with the reason as a clause, for the command that prints it.
 */
export function unlistedHosts(
  document: FleetDocument,
  known: KnownNodes,
): { host: string; reason: string }[] {
  return badNodes(document).flatMap(({ host }) => {
    const reason = whyNotListed(host, known);
    return reason === null ? [] : [{ host, reason }];
  });
}

/**
 * Shell commands that drain the nodes in Slurm, one per reason; none is executed. Those that need a second look are
 * commented out with #: nodes without a valid result if these are more than half, slow nodes if these are most of the measured
 * ones, and the slower part of a group.
 */
export function drainReport(document: FleetDocument, known: KnownNodes): string {
  const isListed = (host: string) => whyNotListed(host, known) === null;
  const bad = badNodes(document);
  const doubts = doubtsOf(document, bad);
  const lines = [...groupBy(bad, ({ reason }) => reason)].flatMap(([reason, nodes]) => {
    const hosts = nodes.map(({ host }) => host).filter(isListed);
    if (hosts.length === 0) return [];
    const line = drainLine(hosts, reason);
    return [doubts.has(nodes[0]!.cause) ? `# ${line}` : line];
  });
  const listed = new Set(bad.map(({ host }) => host));
  const parts = slowParts(document).filter((host) => isListed(host) && !listed.has(host));
  const unclear = document.nodes.filter((node) => isUnclear(node) && !listed.has(node.host));
  return [
    ...(document.notice === null ? [] : [comment(document.notice)]),
    ...[...doubts.values()].map(comment),
    ...lines,
    ...(parts.length === 0
      ? []
      : [
          comment("these are the slower of two parts of their group"),
          `# ${drainLine(parts, "slower part of its group")}`,
        ]),
    ...unlistedHosts(document, known).map(({ host, reason }) =>
      comment(`left out, because ${reason}: ${host}`),
    ),
    ...unclear.map(({ host, reason }) =>
      comment(`${host} may be slow${reason === null ? "" : `: ${reason}`}`),
    ),
    ...(bad.length + parts.length + unclear.length === 0 ? [comment("no node needs to be drained")] : []),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

/** Causes that affect too many nodes to be the fault of each, with a sentence on why. */
function doubtsOf(document: FleetDocument, bad: readonly BadNode[]): Map<BadNode["cause"], string> {
  const count = (wanted: BadNode["cause"]) => bad.filter(({ cause }) => cause === wanted).length;
  const [lacking, slow] = [count("lacking"), count("slow")];
  const { nodes } = document;
  const measured = nodes.filter(({ group }) => group !== null).length;
  const doubts = new Map<BadNode["cause"], string>();
  if (isRunInDoubt(document)) {
    const all = counted(nodes.length, "node");
    doubts.set("lacking", `${lacking} of ${all} have no valid result: look at the run first`);
  }
  // A single node has no common cause with others.
  if (slow > 1 && slow > measured / 2) {
    const all = counted(measured, "measured node");
    const why =
      "look for a common cause (driver, firmware, power, cooling) before most of the fleet is drained";
    doubts.set("slow", `${slow} of ${all} are slow: ${why}`);
  }
  return doubts;
}

/**
 * Both values are in double quotes, without anything that a shell would interpret: isListable() ensures that for host
 * names, quotable() for the reason.
 */
function drainLine(hosts: readonly string[], reason: string): string {
  return `scontrol update nodename="${nodeList(hosts)}" state=drain reason="pinbench: ${quotable(reason)}"`;
}

/** A line for people; characters that could end it are escaped. */
function comment(text: string): string {
  return `# ${asciiText(printableText(text))}`;
}

/** Slurm shows a reason in one column of a table. */
const mostCharacters = 160;

/** The text in ASCII, with blanks for all characters that are special in a shell or in Slurm. */
function quotable(text: string): string {
  const safe = asciiText(printableText(text)).replaceAll(/[^A-Za-z0-9 .,:;%/+()_-]/g, " ");
  return safe.replaceAll(/ +/g, " ").trim().slice(0, mostCharacters);
}

/** Each with one reason: its largest loss, or else its state. Slow nodes come first. */
function badNodes(document: FleetDocument): BadNode[] {
  const nameOf = fleetCellNames(document);
  const slow = [...groupBy(document.outliers, ({ host }) => host)].map(([host, outliers]) => {
    const worst = worstOutlier(outliers);
    const cell = worstCell(worst);
    const reason = `${slowPart(outliers)} ${lossText(cell.change)} slower (${nameOf(cell)})`;
    return { host, reason, cause: "slow" as const };
  });
  const known = new Set(slow.map(({ host }) => host));
  const others = document.nodes
    .filter((node) => isLacking(node) && node.state !== "unreadable" && !known.has(node.host))
    .map((node) => ({
      host: node.host,
      reason:
        node.action === "monitor" ? "its figures cannot be true" : (stateText[node.state] ?? node.state),
      cause: node.state === "wrong data" || node.state === "incomplete" ? node.state : ("lacking" as const),
    }));
  return [...slow, ...others];
}

const stateText: Readonly<Partial<Record<FleetNode["state"], string>>> = {
  "wrong data": "copies came back with wrong data",
  incomplete: "a GPU is missing or failed",
  failed: "its measurement failed",
  late: "its measurement did not end in time",
  missing: "it left no result",
};

function slowParts({ groups }: FleetDocument): string[] {
  return groups.flatMap(({ slowPart: part }) => part?.hosts ?? []);
}

/**
 * Lists of nodes in Slurm's format (its hostlist.c; `scontrol show hostlistsorted`): names that differ only in the
 * number at their end share brackets, "n[01-03,07]". Zeros before a number are part of its name.
 */

/**
 * Allowed host names in a list for Slurm or a shell: letters, digits, dots, hyphens and underscores, beginning with a
 * letter or digit. None of these is special in either.
 */
const listableName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** scontrol takes this for all nodes, in capitals or not (read_config.c, nodespec_to_hostlist()). */
const allNodes = /^all$/i;

/**
 * Whether a name may be in a list of nodes; others would be read as something else or as several nodes, or be executed.
 */
export function isListable(host: string): boolean {
  return listableName.test(host) && !allNodes.test(host);
}

/** Digits that JavaScript's numbers represent exactly. */
const mostDigits = 15;

const numberedName = new RegExp(`^(.*?)(\\d{1,${mostDigits}})$`);

/** Consecutive numbers with one prefix, as written. */
interface Span {
  first: string;
  last: string;
}

/** The names, each once, sorted and compressed: "login1,n[01-03,07]". Only listable names are allowed. */
export function nodeList(hosts: Iterable<string>): string {
  return nodeListParts(hosts).join(",");
}

/** The comma-separated parts of that list, one for each prefix. */
function nodeListParts(hosts: Iterable<string>): string[] {
  const numbers = new Map<string, string[]>();
  const parts: { key: string; text: string }[] = [];
  for (const host of new Set(hosts)) {
    const [, prefix, digits] = numberedName.exec(host) ?? [];
    if (prefix === undefined || digits === undefined || /\d$/.test(prefix))
      parts.push({ key: host, text: host });
    else if (!numbers.get(prefix)?.push(digits)) numbers.set(prefix, [digits]);
  }
  for (const [prefix, digits] of numbers) {
    // After a node whose whole name is the prefix, and before all that continue with another character.
    parts.push({ key: `${prefix}\0`, text: prefix + bracketed(spansOf(digits)) });
  }
  return parts.sort((a, b) => compareBytes(a.key, b.key)).map(({ text }) => text);
}

function compareBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function bracketed(spans: readonly Span[]): string {
  const [only] = spans;
  if (spans.length === 1 && only!.first === only!.last) return only!.first;
  return `[${spans.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(",")}]`;
}

/** Ascending; 8 and 08 are two numbers with spans of their own. */
function spansOf(digits: readonly string[]): Span[] {
  const sorted = [...digits].sort((a, b) => Number(a) - Number(b) || a.length - b.length);
  const spans: Span[] = [];
  /** Spans by the number that they end with: at most one for each number of digits. */
  const open = new Map<number, Span[]>();
  for (const next of sorted) {
    const before = Number(next) - 1;
    const span = open.get(before)?.find(({ last }) => follows(last, next));
    if (span === undefined) spans.push(opened(open, { first: next, last: next }));
    else {
      open.set(
        before,
        open.get(before)!.filter((one) => one !== span),
      );
      span.last = next;
      opened(open, span);
    }
  }
  return spans;
}

function opened(open: Map<number, Span[]>, span: Span): Span {
  const end = Number(span.last);
  open.set(end, [...(open.get(end) ?? []), span]);
  return span;
}

/** Whether two consecutive numbers are written alike: equally wide, or both without leading zeros. */
function follows(last: string, next: string): boolean {
  const isBare = (text: string) => text === "0" || !text.startsWith("0");
  return last.length === next.length || (isBare(last) && isBare(next));
}
