#!/usr/bin/env node
// Plain JavaScript without imports, so that any Node can read it far enough to
// say what is wrong. The command itself runs in this very process: signals
// reach the server, and nothing stands between it and its terminal.
const NEEDED = [22, 19];

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(
    `Convoke needs Node ${NEEDED.join(".")} or newer, but this is Node ${process.versions.node}. ` +
      "Get one from https://nodejs.org, or in a clone run it by `npm start` or `npx convoke`, which bring their own on Linux.\n",
  );
  process.exit(1);
}

// Node 22 calls its SQLite and its type stripping experimental, and remarks on
// agents in folders whose package.json names no module type. This program stands
// on the first two and tests them, the third is no mistake, and of an agent that
// its package.json calls CommonJS it tells itself.
const isQuiet = ({ name, code, message }) =>
  name === "ExperimentalWarning" ||
  code === "MODULE_TYPELESS_PACKAGE_JSON" ||
  message.startsWith("Failed to load the ES module");
const printers = process.listeners("warning");
process.removeAllListeners("warning");
process.on("warning", (warning) => {
  if (!isQuiet(warning)) for (const print of printers) print.call(process, warning);
});

const { existsSync } = process.getBuiltinModule("node:fs");
const { enableCompileCache, flushCompileCache, registerHooks } =
  process.getBuiltinModule("node:module");

enableCompileCache();
// Else it is written at a proper end only, and not all servers have one.
for (const soon of [400, 1500]) setTimeout(flushCompileCache, soon).unref();

// In a clone the packages run from their sources, by an export condition that
// an installed package does not have.
const source = new URL("../src/main.ts", import.meta.url);
const isClone = existsSync(source);
if (isClone) {
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, { ...context, conditions: ["@convoke/source", ...context.conditions] }),
  });
}

await import(isClone ? source.href : new URL("../dist/main.js", import.meta.url).href);
