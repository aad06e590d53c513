// Runs as a comparison knows them, made of medians alone.
/**
 * The runs of one session as a comparison knows them, ten seconds apart: `session` has the logarithms of the medians of
 * `cells`, [process][cell].
 */
export function runsOf({ cells }, session, startMs, { gpuUuid = "GPU-0", isWanted = () => true } = {}) {
  return session.map((logMedians, process) => ({
    path: null,
    startedAt: new Date(startMs + process * 10e3).toISOString(),
    status: "complete",
    importedFrom: null,
    backend: "cuda",
    deviceNames: ["NVIDIA H200"],
    fingerprint: {},
    machine: { hostName: [], gpuUuids: [gpuUuid], pciAddresses: [] },
    settings: null,
    load: null,
    lastLevelCacheBytes: null,
    cells: cells.flatMap(({ cell }, i) =>
      isWanted(cell)
        ? [
            {
              cell,
              figures: [{ moved: cell.direction, unit: "GB/s", value: Math.exp(logMedians[i]) }],
              absence: null,
            },
          ]
        : [],
    ),
  }));
}
