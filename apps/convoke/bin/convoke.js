#!/usr/bin/env node
// Plain JavaScript without imports, so that even an old Node can run it far enough to print the
// error below. The command runs in this process, so that signals and the terminal reach it.
const NEEDED = [22, 19];

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(
    `Convoke needs Node ${NEEDED.join(".")} or newer, but this is Node ${process.versions.node}. ` +
      "Get it from https://nodejs.org. In a clone on Linux, `npm start` and `npx convoke` bring their own.\n",
  );
  process.exit(1);
}

// Hide warnings of Node 22 that are not useful here: SQLite and type stripping are experimental
// but tested, a package.json without a module type is fine for an agent, and an agent in a CommonJS
// package gets an error message of ours.
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
// By default the cache is written only at a normal exit, which a server may never have.
for (const soon of [400, 1500]) setTimeout(flushCompileCache, soon).unref();

// In a clone the packages run from their sources, through an export condition that installed
// packages do not have.
const source = new URL("../src/main.ts", import.meta.url);
const isClone = existsSync(source);
if (isClone) {
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, { ...context, conditions: ["@convoke/source", ...context.conditions] }),
  });
}

await import(isClone ? source.href : new URL("../dist/main.js", import.meta.url).href);
