#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 17) || major === 21 || (major === 22 && minor < 9)) {
  process.stderr.write(
    `pinbench: Node ${process.versions.node} is too old: pinbench needs ^20.17 or >=22.9. Install a newer Node.\n`,
  );
  process.exit(2);
}
const { main } = await import("../dist/cli/main.js");
await main(process.argv.slice(2));
