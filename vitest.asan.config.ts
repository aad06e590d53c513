import { defineConfig } from "vitest/config";

/** What runs no native code, or none that other tests do not run as well: instrumented it finds nothing and takes long. */
const leftOut = [
  "test/{gpu,package,browser,setup,settings,stats,plan,results,compare,report,host,doctor,explain,fleet,pools}/**",
  "test/{docs,imports}.test.ts",
  // Python is no part of it, and does not start with the sanitizers in the process.
  "test/tune/{torch/**,live/**,*.test.ts}",
  "test/index/{compare,doctor,explain,fleet,tune}.test.ts",
  "test/cli/{bad-input,baseline,build-packages,check,colours,compare,completion,config,help,history}*.test.ts",
  "test/cli/{import,interruption,plot,progress-line,report-command,screens}*.test.ts",
  "test/cli/{devices,doctor,explain,fleet,irregular-files,printable-messages,run-cells-by-id,run-files,run-labels}*.test.ts",
  "test/cli/{failing-machine,pin,run-output,run-plan,small-machine,worker-processes}.test.ts",
  // Of what fails, what is no native code's, or is ended by force.
  "test/faults/{device-in-use,file-calls,files,kernel-texts,kills,long-runs,messages,mutated-results}.test.ts",
  "test/faults/{settings,small-machines}.test.ts",
  "test/cli/{keep-inputs,late-failures,live-tune,tune,version}*.test.ts",
  // What is about the time in which processes start and answer, which takes several times as long here.
  "test/cli/{deadline,device-in-use,run-processes}.test.ts",
  "test/measure/{fresh-process,process-series,worker-pool}.test.ts",
];

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: leftOut,
    globalSetup: ["test/helpers/optional-programs.ts"],
    maxWorkers: 2,
    testTimeout: 60_000,
  },
});
