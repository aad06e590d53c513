/**
 * Lists of nodes as Slurm writes and reads them (its hostlist.c; `scontrol show hostlistsorted`): names that differ in
 * the number at their end alone stand in one pair of brackets, "n[01-03,07]". Zeros before a number are part of its name.
 */

/**
 * What a host's name may consist of for a list that goes to Slurm or to a shell: letters, digits, dots, hyphens and
 * underscores, a letter or a digit first. Nothing of it means anything to either.
 */
const listableName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** What scontrol takes for all nodes there are, in capitals or not (read_config.c, nodespec_to_hostlist()). */
const allNodes = /^all$/i;

/** Whether a name may stand in a list of nodes; others would be read as something else or as several nodes, or be obeyed. */
export function isListable(host: string): boolean {
  return listableName.test(host) && !allNodes.test(host);
}

/** Digits that a number of JavaScript tells apart. */
const mostDigits = 15;

const numberedName = new RegExp(`^(.*?)(\\d{1,${mostDigits}})$`);

/** Numbers of one prefix that follow each other, as they are written. */
interface Span {
  first: string;
  last: string;
}

/** The names, each once, sorted and compressed: "login1,n[01-03,07]". Names that are not listable must not be among them. */
export function nodeList(hosts: Iterable<string>): string {
  return nodeListParts(hosts).join(",");
}

/** The same as its parts, one for each prefix: what a comma stands between. */
export function nodeListParts(hosts: Iterable<string>): string[] {
  const numbers = new Map<string, string[]>();
  const parts: { key: string; text: string }[] = [];
  for (const host of new Set(hosts)) {
    const [, prefix, digits] = numberedName.exec(host) ?? [];
    if (prefix === undefined || digits === undefined || /\d$/.test(prefix))
      parts.push({ key: host, text: host });
    else if (!numbers.get(prefix)?.push(digits)) numbers.set(prefix, [digits]);
  }
  for (const [prefix, digits] of numbers) {
    // Behind a node that has the prefix for its name, and before all that go on with another character.
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

/** Ascending; 8 and 08 are two numbers, and each of them goes on in its own way. */
function spansOf(digits: readonly string[]): Span[] {
  const sorted = [...digits].sort((a, b) => Number(a) - Number(b) || a.length - b.length);
  const spans: Span[] = [];
  /** The spans by the number that they end with: no more than one a number of digits. */
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

/** Whether two numbers that follow each other are written in one way: as wide, or both without zeros before them. */
function follows(last: string, next: string): boolean {
  const isBare = (text: string) => text === "0" || !text.startsWith("0");
  return last.length === next.length || (isBare(last) && isBare(next));
}
