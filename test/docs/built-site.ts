import { globSync, readFileSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

/** Where `npm run docs:build` writes the site. */
const FOLDER = fileURLToPath(new URL("../../docs/.vitepress/dist", import.meta.url));

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

/** Every link and picture of the built pages that leads nowhere. */
export function deadLinks(): readonly string[] {
  const files = new Set(globSync("**/*.*", { cwd: FOLDER }));
  const pages = new Map(
    [...files]
      .filter((file) => file.endsWith(".html"))
      .map((file) => [file, readFileSync(join(FOLDER, file), "utf8")]),
  );
  const ids = new Map(
    [...pages].map(([file, html]) => [file, valuesOf(html, /\bid="([^"]*)"/g)] as const),
  );
  return [...pages].flatMap(([page, html]) =>
    [...valuesOf(html, /\b(?:href|src)="([^"]*)"/g)]
      .filter((href) => !/^(?:[a-z]+:|\/\/)/.test(href))
      .filter((href) => {
        const [path = "", anchor] = href.split("#");
        const file = fileOf(page, path);
        if (!files.has(file)) return true;
        return anchor !== undefined && anchor !== "" && !ids.get(file)?.has(decodeURI(anchor));
      })
      .map((href) => `${page}: ${href}`),
  );
}

/** The file of the site that a path means, seen from a page of it. */
function fileOf(page: string, path: string): string {
  if (path === "") return page;
  const [plain = ""] = path.split("?");
  const file = plain.startsWith("/") ? plain.slice(1) : posix.join(posix.dirname(page), plain);
  if (file === "" || file.endsWith("/")) return `${file}index.html`;
  return extname(file) === "" ? `${file}.html` : file;
}

function valuesOf(html: string, pattern: RegExp): ReadonlySet<string> {
  return new Set(
    Array.from(html.matchAll(pattern), ([, value = ""]) => value.replaceAll("&amp;", "&")),
  );
}

/** Serves the site on a free port of this machine. */
export async function serveSite(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(({ url = "/" }, response) => {
    const file = fileOf("index.html", new URL(url, "http://localhost").pathname);
    try {
      const body = readFileSync(join(FOLDER, file));
      response.setHeader("content-type", MEDIA_TYPES[extname(file)] ?? "application/octet-stream");
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
