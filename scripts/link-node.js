// npm 10, which comes with Node 20 and 22, installs the Node of this platform and leaves it without a
// link, because the package for another platform, which it skips, has a program of the same name.
// Plain JavaScript, because the Node that runs this may be old.
import { existsSync, symlinkSync } from "node:fs";

const program = `node-linux-${process.arch}/bin/node`;
const isInstalled = process.platform === "linux" && existsSync(`node_modules/${program}`);
if (isInstalled && !existsSync("node_modules/.bin/node")) {
  symlinkSync(`../${program}`, "node_modules/.bin/node");
}
