import type { ConsoleFile, ConsoleFiles } from "@convoke/server";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Stands in the page for the path that the server is mounted at. */
const BASE_PATH = "%BASE_PATH%";

/**
 * Opens the files of the console. An installed package contains them. In a clone they are bundled on
 * the first request for the page, and again when a source file has changed.
 */
export function openConsoleFiles(): ConsoleFiles {
  const findFolder = import.meta.url.endsWith(".ts") ? bundledFolder : prebuiltFolder;
  let current: CachedFolder | undefined;
  const open = async (): Promise<CachedFolder> => {
    const path = await findFolder();
    if (current?.path !== path) current = new CachedFolder(path);
    return current;
  };
  return {
    page: async (basePath) => {
      const html = (await (await open()).read("index.html"))?.body;
      if (html === undefined)
        throw new Error("the console has no page; build it with npm run build");
      const text = Buffer.from(html).toString().replaceAll(BASE_PATH, encodeURI(basePath));
      return { type: TYPES[".html"], body: Buffer.from(text) };
    },
    // Pages that were open before a restart ask for files, too.
    asset: async (name) => (current ?? (await open())).read(name),
  };
}

async function prebuiltFolder(): Promise<string> {
  return fileURLToPath(new URL("page/", import.meta.url));
}

async function bundledFolder(): Promise<string> {
  // A path that is not part of the installed package, so types and bundlers must not follow it.
  const place = new URL("../scripts/bundle-cache.ts", import.meta.url).href;
  const { bundleOfSources } = (await import(place)) as {
    bundleOfSources: () => Promise<string>;
  };
  return bundleOfSources();
}

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
} as const;

/** Files that are read once. A bundle never changes: a new one has its own folder. */
class CachedFolder {
  readonly path: string;
  readonly #files = new Map<string, Promise<ConsoleFile | undefined>>();

  constructor(path: string) {
    this.path = path;
  }

  read(name: string): Promise<ConsoleFile | undefined> {
    const known = this.#files.get(name);
    if (known !== undefined) return known;
    const file = this.#load(name);
    // Names that do not exist are not kept: anyone can ask for any number of them.
    void file.then((found) => found && this.#files.set(name, file)).catch(() => undefined);
    return file;
  }

  async #load(name: string): Promise<ConsoleFile | undefined> {
    const type = TYPES[extname(name) as keyof typeof TYPES];
    if (type === undefined || !/^[\w-]+(\.[\w-]+)*$/.test(name)) return undefined;
    const [body, gzip, brotli] = await Promise.all(
      ["", ".gz", ".br"].map((suffix) => this.#bytes(name + suffix)),
    );
    return body && { type, body, ...(gzip && { gzip }), ...(brotli && { brotli }) };
  }

  #bytes(name: string): Promise<Uint8Array | undefined> {
    return readFile(join(this.path, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
  }
}
