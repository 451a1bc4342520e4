import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installInto } from "./npm.ts";
import { succeed } from "../harness/program.ts";

/** The oldest supported line of Node, at its newest version. */
export const OLDER_SUPPORTED = "22.23.3";

/** A line of Node that is too old. */
const TOO_OLD = "20.20.2";

/** npm has bare Node binaries for these platforms only. */
export const hasPackagedNode =
  process.platform === "linux" && (process.arch === "x64" || process.arch === "arm64");

/** Gets a version of Node: a bare binary from npm, without scripts, in its own folder. */
export async function getNode(version: string, folder: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const into = join(folder, `node-${version}`);
  await installInto(into, [`${name}@${version}`]);
  return join(into, "node_modules", name, "bin", "node");
}

/** A Node that is too old: the machine's own if it has one, else one from npm. */
export async function getTooOldNode(folder: string): Promise<string | undefined> {
  const paths = (process.env["PATH"] ?? "").split(delimiter).map((path) => join(path, "node"));
  for (const path of new Set(paths)) {
    if (!existsSync(path)) continue;
    const version = await succeed(path, ["--version"], { cwd: folder });
    if (Number(/^v(\d+)/.exec(version)?.[1]) < 22) return path;
  }
  return hasPackagedNode ? getNode(TOO_OLD, folder) : undefined;
}
