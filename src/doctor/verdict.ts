import { roundDown } from "../draw/numbers.js";
import { isPartOfGpu, usualShares } from "../reference/expectation.js";
import { gigabytes, reachesExpectation } from "./causes/cost.js";
import { copiesPastPcie, speedNow, speedText } from "./causes/path-links.js";
import { type Diagnosis, type Finding, isFaulty } from "./diagnosis.js";
import { type DeviceExamination, type Examination, linkDirections } from "./examination.js";

/** Findings that make all figures of the machine useless. */
const invalidating: readonly string[] = ["wrong-data", "device-fails", "device-in-use"];

/** The verdict; the first that applies decides: faults, then doubts, then a healthy machine. */
export function verdictOf(
  { emulated, devices }: Examination,
  findings: readonly Finding[],
): Pick<Diagnosis, "verdict" | "reason"> {
  const [first] = findings;
  if (first !== undefined && invalidating.includes(first.cause)) {
    return { verdict: "inconclusive", reason: first.summary };
  }
  const isAccused = ({ facts }: DeviceExamination) =>
    findings.some((one) => one.device === facts.ordinal && (one.weight === "costs" || isFaulty(one)));
  const unmeasured = devices.filter(({ measured }) =>
    linkDirections.some((way) => measured.pinned[way] === null),
  );
  const others = unmeasured.filter((device) => !isAccused(device));
  const andUnknown = others.length === 0 ? "" : ` ${notMeasured(others)}`;
  const [costly, ...more] = findings.filter(({ weight }) => weight === "costs");
  if (costly !== undefined) {
    const count = more.length === 0 ? "" : ` ${more.length} more ${more.length === 1 ? "cause" : "causes"}.`;
    const other = findings.find((finding) => finding.weight !== "costs" && isFaulty(finding));
    const also = other === undefined ? worthALook(findings) : ` ${other.summary}`;
    return { verdict: "costs", reason: `${costly.summary}${count}${also}${andUnknown}` };
  }
  const faulty = findings.find(isFaulty);
  if (faulty !== undefined) {
    const isFast = devices.length > 0 && devices.every(reachesExpectation);
    const summary = isFast
      ? `Copies are as fast as they should be, but ${uncapital(faulty.summary)}`
      : faulty.summary;
    return { verdict: "faulty", reason: `${summary}${andUnknown}` };
  }
  if (unmeasured.length > 0) return { verdict: "inconclusive", reason: notMeasured(unmeasured) };
  if (devices.length === 0) return { verdict: "inconclusive", reason: "There was no device to examine." };
  const unknown = devices.filter(({ expected }) => linkDirections.some((way) => expected[way] === null));
  if (unknown.length > 0 && emulated) {
    return { verdict: "inconclusive", reason: "Cannot judge an emulated device without a link." };
  }
  if (unknown.length > 0) {
    return {
      verdict: "no-reference",
      reason: `${unknown.map(withoutReference).join(" ")}${worthALook(findings)}`,
    };
  }
  const notJudged = devices
    .flatMap(({ measured: { pageable } }) => [pageable.h2d, pageable.d2h])
    .filter((rate) => rate !== null);
  return {
    verdict: "healthy",
    reason: devices.every(reachesExpectation)
      ? `Pinned copies are as fast as on healthy machines of this kind.${
          notJudged.length === 0
            ? ""
            : ` Pageable copies reach ${gigabytes(Math.min(...notJudged))}; there is no reference for them.`
        }${worthALook(findings)}`
      : "Copies are slower than on other machines of this kind, as expected here: the findings say why.",
  };
}

/** A sentence with the number of risks, to follow others; empty without risks. */
function worthALook(findings: readonly Finding[]): string {
  const risks = findings.filter(({ weight }) => weight === "risk").length;
  return risks === 0 ? "" : ` ${risks === 1 ? "One thing is" : `${risks} things are`} worth a look.`;
}

function notMeasured(devices: readonly DeviceExamination[]): string {
  const ordinals = devices.map(({ facts }) => facts.ordinal);
  const names = ordinals.length === 1 ? `device ${ordinals[0]} is` : `devices ${ordinals.join(", ")} are`;
  return `It is not known whether ${names} healthy: there was no time left to measure.`;
}

/** What a device reaches relative to its link, and why it has no reference. */
function withoutReference(device: DeviceExamination): string {
  const { facts, measured, limitGBps } = device;
  const rates = linkDirections.map((way) => measured.pinned[way]!);
  const speed = speedNow(device);
  const usual = speed === null ? null : usualShares(speed.generation);
  const shares =
    limitGBps === null || speed === null
      ? ""
      : `, ${percents(
          rates.map((rate) => rate / limitGBps),
          "and",
        )} of PCIe ${speedText(speed)}`;
  const range =
    shares === "" || usual === null ? "" : `; ${percents([usual.low, usual.high], "to")} is usual`;
  return `Pinned copies of device ${facts.ordinal} reach ${rates.map(gigabytes).join(" and ")}${shares}${range}. There is no reference for ${unreferencedCopies(device)}.`;
}

/** "85 and 83 %". */
function percents(shares: readonly number[], joint: string): string {
  return `${shares.map((share) => roundDown(100 * share, 0)).join(` ${joint} `)} %`;
}

function unreferencedCopies({ facts, health, ...device }: DeviceExamination): string {
  if (isPartOfGpu(facts.name) || (health.before ?? health.underLoad)?.migEnabled === true) {
    return "a part of a GPU, which shares its link with others";
  }
  if (copiesPastPcie({ facts, health })) return "copies that do not go over PCIe";
  return device.limitGBps === null ? "an unknown link" : `the ${facts.name} over this link`;
}

function uncapital(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
