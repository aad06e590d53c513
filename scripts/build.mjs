// `npm run build`: compiles src/ into dist/ and cuda/ into build/Release/; what is up to date is left alone.
import { ensureBuilt } from "./lib/build.mjs";
import { main } from "./lib/process.mjs";

await main(() => ensureBuilt());
