// `npm run test:asan`: the Node tests with the addon and the emulated driver under AddressSanitizer and UBSan, compiled
// with warnings as errors. `-- --build` only compiles; other arguments go to vitest.
import { buildAddon } from "./lib/native-build.mjs";
import { main, run } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { compilerLibrary } from "./lib/toolchain.mjs";

const folder = "build/asan";

/** What runs no native code, or none that other tests do not run as well: instrumented it finds nothing and takes long. */
const leftOut = [
  "test/{gpu,package,browser,setup,settings,stats,plan,results,compare,report,host,doctor,explain,fleet,pools}/**",
  "test/{docs,imports,text-file}.test.ts",
  // What plays the addon, and never loads it.
  "test/native-loading/{candidates,load-failure}.test.ts",
  "test/tune/model/{data-folder,model-trial}.test.ts",
  // Python is no part of it, and does not start with the sanitizers in the process.
  "test/tune/{torch/**,live/**,*.test.ts}",
  "test/index/{compare,doctor,explain,fleet,history,tune}.test.ts",
  "test/cli/{bad-input,baseline,build-packages,check,colours,compare,completion,config,help,history}*.test.ts",
  "test/cli/{import,interruption,plot,progress-line,report-command,screens}*.test.ts",
  "test/cli/{devices,doctor,explain,fleet,irregular-files,printable-messages,run-cells-by-id,run-files,run-labels}*.test.ts",
  "test/cli/{failing-machine,pin,run-output,run-plan,small-machine,worker-processes}.test.ts",
  // Of what fails, what is no native code's, or is ended by force.
  "test/faults/{device-in-use,file-calls,files,kernel-texts,kills,long-runs,messages,mutated-results}.test.ts",
  "test/faults/{settings,small-machines}.test.ts",
  "test/cli/{keep-inputs,late-failures,live-tune,tune,version}*.test.ts",
  // What plays the addon too, or is about the time in which processes start and answer, which takes several times as
  // long here.
  "test/cli/{deadline,device-in-use,run-processes}.test.ts",
  "test/measure/**",
];

await main(async () => {
  await buildAddon(
    folder,
    { PINBENCH_SANITIZE: "address", PINBENCH_KERNELS: "OFF", PINBENCH_WERROR: "ON" },
    { quiet: true },
  );
  if (process.argv[2] === "--build") return;
  // Node itself is not instrumented, so the sanitizers must be in the process before the addon comes. libstdc++ is
  // named too: they look for its functions as they start.
  const preload = await Promise.all(["libasan.so", "libubsan.so", "libstdc++.so"].map(compilerLibrary));
  const excluded = leftOut.flatMap((pattern) => ["--exclude", pattern]);
  const vitest = [
    inRoot("node_modules/vitest/vitest.mjs"),
    "run",
    "--maxWorkers=2",
    ...excluded,
    ...process.argv.slice(2),
  ];
  await run(process.execPath, vitest, {
    cwd: root,
    env: {
      ...process.env,
      LD_PRELOAD: preload.join(":"),
      // Node frees little at its end.
      ASAN_OPTIONS: "detect_leaks=0",
      UBSAN_OPTIONS: "print_stacktrace=1",
      PINBENCH_ADDON: inRoot(folder, "Release/pinbench.node"),
    },
  });
});
