import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { stripTypeScriptTypes } from "node:module";

const client = moduleOf("@convoke/client");

/** The modules that the page imports by name, and the folders their files are served from. */
const MODULES = [
  client,
  // In a browser the client sends its requests with `fetch`.
  {
    ...client,
    name: "/modules/outbound",
    entry: client.entry.replace("index.", "outbound/fetch-outbound."),
  },
  moduleOf("@convoke/egress/http"),
  moduleOf("@convoke/protocol/internal"),
  moduleOf("@convoke/protocol"),
  // Loaded only for an agent whose card is signed.
  moduleOf("jose"),
];

function moduleOf(name: string) {
  const file = import.meta.resolve(name);
  const folder = new URL("./", file).href;
  const path = `/modules/${name}/`;
  return { name: `/modules/${name}`, path, folder, entry: path + file.slice(folder.length) };
}

/**
 * Serves the files of packages to a browser: the built ones or, in this repository, the sources.
 * The name of a module redirects to its file, so that the file's relative imports resolve.
 */
export function readModule(pathname: string, response: ServerResponse): void {
  const named = MODULES.find(({ name }) => pathname === name);
  if (named !== undefined) return void response.writeHead(302, { location: named.entry }).end();
  const found = MODULES.find(({ path }) => pathname.startsWith(path));
  if (found === undefined) return void response.writeHead(404).end();
  // `new URL` has already resolved any `..`, so the path cannot leave the folder.
  readFile(new URL(found.folder + pathname.slice(found.path.length)), "utf8").then(
    (text) => {
      const script = pathname.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
      response.writeHead(200, { "content-type": "text/javascript" }).end(script);
    },
    () => response.writeHead(404).end(),
  );
}
