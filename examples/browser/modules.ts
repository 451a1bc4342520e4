import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { stripTypeScriptTypes } from "node:module";

const client = moduleOf("@convoke/client");

/** What the page imports by name, and from where on files of that package are handed out. */
const MODULES = [
  client,
  // How it reaches agents is a choice of its package; a browser has `fetch`.
  {
    ...client,
    name: "/modules/outbound",
    entry: client.entry.replace("index.", "outbound/fetch-outbound."),
  },
  moduleOf("@convoke/egress/http"),
  moduleOf("@convoke/protocol"),
  moduleOf("@convoke/protocol/internal"),
];

function moduleOf(name: string) {
  const file = import.meta.resolve(name);
  const folder = new URL("./", file).href;
  const path = `/modules/${name}/`;
  return { name: `/modules/${name}`, path, folder, entry: path + file.slice(folder.length) };
}

/**
 * Hands the files of packages to a browser, as they were built or, in this
 * repository, as they were written. A name leads to its file, so that the file's
 * own imports are found beside it.
 */
export function readModule(pathname: string, response: ServerResponse): void {
  const named = MODULES.find(({ name }) => pathname === name);
  if (named !== undefined) return void response.writeHead(302, { location: named.entry }).end();
  const found = MODULES.find(({ path }) => pathname.startsWith(path));
  if (found === undefined) return void response.writeHead(404).end();
  // A URL has no dots that lead out of its folder, once it is one.
  readFile(new URL(found.folder + pathname.slice(found.path.length)), "utf8").then(
    (text) => {
      const script = pathname.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
      response.writeHead(200, { "content-type": "text/javascript" }).end(script);
    },
    () => response.writeHead(404).end(),
  );
}
