import { expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { resultKind } from "../../src/report/result-report.js";
import type { SharingRecord } from "../../src/results/other-programs.js";
import { drawn } from "../helpers/drawn.js";
import { buildDocument } from "../helpers/result-document.js";

const record: SharingRecord = {
  device: 0,
  others: [
    {
      kind: "pinbench",
      pid: null,
      name: "check",
      since: "2026-11-20T09:59:58.000Z",
      deviceMemoryBytes: null,
      wasThereBefore: false,
    },
  ],
  activityBefore: { computeShare: 0.41, toDeviceGBps: null, fromDeviceGBps: null },
  unseen: [],
};

const report = (sharing: SharingRecord[] | null, format: "table" | "markdown" = "table") =>
  drawn(resultKind, buildDocument({ run: { sharing } }), format, fileScreen()).replaceAll(/\s+/g, " ");

it.each(["table", "markdown"] as const)("who else used a device stands at the head of a %s", (format) => {
  const text = report([record], format);
  expect(text).toContain(
    "device 0 was not measured alone: pinbench check (in another container, since 2026-11-20 09:59:58 UTC) started during the run",
  );
  expect(text).toContain("device 0 was busy before it was measured: kernels ran for 41 % of the time");
});

it("a name that a terminal would obey is shown, not obeyed", () => {
  const others = [{ ...record.others[0]!, kind: "program" as const, pid: 5, name: "\u001b[2Jpython\u202e3" }];
  const text = report([{ ...record, others }]);
  expect(text).toContain("\\x1b[2Jpython\\u202e3 (pid 5, ");
});

it("what cannot be seen is a note; a device that was alone, and an older result, have none", () => {
  const quiet = { ...record, others: [], activityBefore: null };
  expect(report([{ ...quiet, unseen: ["programs"] }])).toContain(
    "note: device 0 may have been used by other programs: NVML does not list them here",
  );
  for (const sharing of [[quiet], null]) expect(report(sharing)).not.toMatch(/may have been used|alone:/);
});
