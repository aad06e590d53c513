import { PinbenchError } from "../errors.js";
import type {
  ArenaGeometry,
  ArenaKind,
  ArenaReport,
  DeviceFacts,
  NativeDriver,
  NativeError,
  NativeSession,
  SessionOpening,
} from "../native/contract.js";
import { arenaKind } from "../plan/geometry.js";
import type { Plan } from "../plan/plan.js";
import type { ColdStart } from "../results/schema.js";
import { formatSizeRounded } from "../settings/units.js";
import { CellProgress } from "./cell-progress.js";
import { addReuses, measurePinning, pinningSizes } from "./cold-start.js";
import type { Placement } from "./placement.js";
import { measureInRounds, type RoundHooks } from "./rounds.js";

/** What is known of one device's part of a run, at any time of it. */
export interface DeviceRun {
  readonly device: DeviceFacts;
  placement: Placement;
  readonly cells: CellProgress[];
  opening: SessionOpening | null;
  arenas: Partial<Record<ArenaKind, ArenaReport>>;
  coldStart: ColdStart | null;
  rounds: number;
}

export interface DeviceRunHooks extends RoundHooks {
  onActivity(activity: string): void;
}

export function startDeviceRun(device: DeviceFacts, placement: Placement, plan: Plan): DeviceRun {
  const cells = plan.cells
    .filter((cell) => cell.device === device.ordinal)
    .map((cell) => new CellProgress(cell, device));
  return { device, placement, cells, opening: null, arenas: {}, coldStart: null, rounds: 0 };
}

/**
 * Measures one device and writes what it finds into `run`. An abort ends it early with what there is. Rejects with
 * the driver's error where the device cannot be opened at all; the failures of single cells are recorded in them.
 */
export async function measureDevice(
  run: DeviceRun,
  driver: NativeDriver,
  plan: Plan,
  initNs: number,
  budgetNs: number,
  isNodeExplicit: boolean,
  hooks: DeviceRunHooks,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  hooks.onActivity(`opening device ${run.device.ordinal}`);
  const { cpus, numaNode, threads } = run.placement;
  const open = (node: number | null) =>
    driver.openSession({ device: run.device.ordinal, cpus, threads, numaNode: node, seed: plan.seed });
  const session = await open(numaNode).catch((error: NativeError) => {
    if (error.code !== "PLACEMENT_REFUSED" || numaNode === null) throw error;
    return openWithoutNode(run, isNodeExplicit, error, open);
  });
  const abort = () => session.abort();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    run.opening = session.opening;
    checkFreeMemory(run.device, session, plan);
    skipWhatIsOff(run, session.opening);
    await prepare(run, session, plan, initNs, hooks, signal);
    if (signal.aborted) return;
    run.rounds = await measureInRounds(session, run.cells, plan, budgetNs, hooks, signal);
    if (!signal.aborted) closeCells(run);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", abort);
    hooks.onActivity(`closing device ${run.device.ordinal}`);
    // Giving back gigabytes of pinned memory takes a while, which whoever interrupts need not wait for: the
    // process ends when it is done.
    const closing = session.close();
    if (!signal.aborted) await closing;
    addReusesTo(run);
  }
}

/** A container may forbid to choose a node. First touch by CPUs of that node does nearly as well, and is said. */
async function openWithoutNode(
  run: DeviceRun,
  isNodeExplicit: boolean,
  refusal: NativeError,
  open: (node: null) => Promise<NativeSession>,
): Promise<NativeSession> {
  if (isNodeExplicit) {
    throw new PinbenchError("unsupported", `--numa cannot be followed: ${refusal.message}.`, {
      hint: "Containers need the capability SYS_NICE for it; --numa local does without.",
      cause: refusal,
    });
  }
  run.placement = { ...run.placement, numaNode: null };
  for (const progress of run.cells) progress.warnings.push(refusal.message);
  return open(null);
}

/** Other processes may hold memory of the device, which the plan could not know before it was opened. */
function checkFreeMemory(device: DeviceFacts, session: NativeSession, plan: Plan): void {
  const { freeBytes } = session.memoryInfo();
  if (plan.estimate.deviceBytes <= freeBytes) return;
  const need = formatSizeRounded(plan.estimate.deviceBytes, Math.ceil);
  throw new PinbenchError(
    "limit",
    `The plan takes ${need} of the memory of device ${device.ordinal} (${device.name}), of which only ${formatSizeRounded(freeBytes, Math.floor)} are free.`,
    { hint: "Ask for smaller sizes, fewer workers or --cache warm, or free the device." },
  );
}

/** Only the opened context tells whether the driver loads the kernels. */
function skipWhatIsOff(run: DeviceRun, { kernelsOff, eventTimerOff }: SessionOpening): void {
  for (const progress of run.cells.filter(({ isOpen }) => isOpen)) {
    if (kernelsOff !== null && progress.cell.memory === "mapped") progress.markSkipped(kernelsOff);
    if (eventTimerOff !== null && progress.cell.timer === "event") progress.markSkipped(eventTimerOff);
  }
}

/** Cold-start figures first, then the memory of all cells; memory that cannot be had fails the cells it is for. */
async function prepare(
  run: DeviceRun,
  session: NativeSession,
  plan: Plan,
  initNs: number,
  hooks: DeviceRunHooks,
  signal: AbortSignal,
): Promise<void> {
  const { durationNs } = await session.measureFirstCopy();
  hooks.onActivity("timing allocations");
  const hostCells = run.cells.filter(({ isOpen, cell }) => isOpen && cell.memory !== "device");
  const sizes = pinningSizes(
    hostCells.map(({ cell }) => cell.sizeBytes).filter((sizeBytes) => sizeBytes <= plan.maxPinnedBytes),
  );
  const pinning = await measurePinning(session, sizes, signal);
  run.coldStart = {
    device: run.device.ordinal,
    initNs,
    contextNs: session.opening.contextNs,
    firstCopyNs: durationNs,
    pinning,
  };
  if (signal.aborted) return;
  hooks.onActivity("allocating memory");
  await reserving(
    run,
    () => true,
    () => session.reserveDevice(plan.arenas.device, plan.arenas.deviceCopies),
  );
  await Promise.all(
    (Object.entries(plan.arenas.host) as [ArenaKind, ArenaGeometry][]).map(([kind, geometry]) => {
      const usesIt = ({ cell }: CellProgress) => cell.memory !== "device" && arenaKind(cell.memory) === kind;
      return reserving(run, usesIt, async () => {
        run.arenas[kind] = await session.reserveHost(kind, geometry);
      });
    }),
  );
  const { staging } = plan.arenas;
  if (staging !== null) {
    await reserving(
      run,
      ({ cell }) => cell.memory === "staged",
      () => session.reserveStaging(staging),
    );
  }
}

async function reserving(
  run: DeviceRun,
  usesIt: (progress: CellProgress) => boolean,
  reserve: () => Promise<unknown>,
): Promise<void> {
  const cells = run.cells.filter((progress) => progress.isOpen && usesIt(progress));
  if (cells.length === 0) return;
  try {
    await reserve();
  } catch (error) {
    if ((error as NativeError).code === "ABORTED") throw error;
    for (const progress of cells) progress.fail(error as NativeError);
  }
}

/** What is open at the end of measuring did not converge; an abort or a failure leaves it without outcome. */
function closeCells(run: DeviceRun): void {
  for (const progress of run.cells) if (progress.isOpen) progress.outcome = "budget";
}

function addReusesTo(run: DeviceRun): void {
  if (run.coldStart === null) return;
  run.coldStart = { ...run.coldStart, pinning: addReuses(run.coldStart.pinning, run.cells) };
}
