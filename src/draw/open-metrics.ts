/** A family of gauges. */
export interface GaugeFamily {
  name: string;
  /** Without quotes, backslashes and line breaks, which the two formats escape differently. */
  help: string;
  /** The end of the name; absent for a plain number. */
  unit?: string;
  samples: readonly { labels: Readonly<Record<string, string | number | null>>; value: number }[];
}

/**
 * Gauges in OpenMetrics 1.0. node_exporter's textfile collector can also read it as Prometheus' text format 0.0.4, in
 * which the lines UNIT and EOF are comments. Families without samples are left out, and so are labels that are null:
 * for Prometheus an empty label is a missing one.
 */
export function openMetricsText(families: readonly GaugeFamily[]): string {
  return [...families.flatMap(linesOf), "# EOF"].map((line) => `${line}\n`).join("");
}

function linesOf({ name, help, unit, samples }: GaugeFamily): string[] {
  if (samples.length === 0) return [];
  return [
    `# TYPE ${name} gauge`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${help}`,
    ...samples.map(({ labels, value }) => {
      const known = Object.entries(labels).flatMap(([key, text]) =>
        text === null ? [] : [`${key}="${escaped(String(text))}"`],
      );
      return `${name}${known.length === 0 ? "" : `{${known.join(",")}}`} ${value}`;
    }),
  ];
}

/** Both formats escape the same three characters in a label's value. */
function escaped(text: string): string {
  if (!/["\\\n]/.test(text)) return text;
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
