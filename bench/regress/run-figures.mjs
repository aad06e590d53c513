// Runs in the form that a comparison reads, from medians alone.
/**
 * The runs of one session for a comparison, ten seconds apart: `session` has the logarithms of the medians of
 * `cells`, [process][cell].
 */
export function runsOf(
  { cells, deviceName = "NVIDIA H200" },
  session,
  startMs,
  { gpuUuid = "GPU-0", isWanted = () => true } = {},
) {
  return session.map((logMedians, process) => ({
    id: `${startMs}-${process}`,
    path: null,
    wallNs: null,
    startedAt: new Date(startMs + process * 10e3).toISOString(),
    status: "complete",
    importedFrom: null,
    backend: "cuda",
    deviceNames: [deviceName],
    fingerprint: {},
    machine: { hostName: [], gpuUuids: [gpuUuid], pciAddresses: [] },
    settings: null,
    load: null,
    links: [],
    sharing: [],
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
