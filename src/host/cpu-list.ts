/** The numbers of a kernel list such as "0-3,8,10-11", ascending; null for anything else (an empty list is empty). */
export function parseCpuList(text: string): number[] | null {
  const cpus = new Set<number>();
  for (const part of text.trim().split(",")) {
    if (part === "") continue;
    const match = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    if (match === null) return null;
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    for (let cpu = first; cpu <= last; ++cpu) cpus.add(cpu);
  }
  return [...cpus].sort((a, b) => a - b);
}

/** The same list in the kernel's short form. */
export function formatCpuList(cpus: readonly number[]): string {
  const parts: string[] = [];
  for (let start = 0; start < cpus.length; ) {
    let end = start;
    while (cpus[end + 1] === cpus[end]! + 1) ++end;
    parts.push(start === end ? `${cpus[start]}` : `${cpus[start]}-${cpus[end]}`);
    start = end + 1;
  }
  return parts.join(",");
}
