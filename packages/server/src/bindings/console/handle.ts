import { type HttpRequest, type HttpResponse, header } from "../../http/exchange.ts";

/** A file of the console, also compressed if that makes it smaller. */
export interface ConsoleFile {
  readonly type: string;
  readonly body: Uint8Array;
  readonly gzip?: Uint8Array;
  readonly brotli?: Uint8Array;
}

/** The files of the console. They contain no data, so everyone may read them. */
export interface ConsoleFiles {
  /** The page, for a server that is mounted at a path such as "/agent"; empty for the root. */
  page(basePath: string): Promise<ConsoleFile>;
  /** A file that the page loads, such as "main-1a2b3c4d.js". */
  asset(name: string): Promise<ConsoleFile | undefined>;
}

const CONSOLE_PATH = "/console";

const ASSET_PATH = /^\/console\/assets\/(?<name>[\w.-]+)$/;

/** Whether the path belongs to the console, which is not a tenant of HTTP+JSON. */
export function isConsolePath({ path, agentPath }: HttpRequest): boolean {
  if (agentPath !== undefined) return false;
  return path === CONSOLE_PATH || path.startsWith(`${CONSOLE_PATH}/`);
}

/** Whether a person has opened the address of the server in a browser. */
export function isVisit(request: HttpRequest): boolean {
  return (
    request.path === "/" &&
    request.agentPath === undefined &&
    request.method === "GET" &&
    /\btext\/html\b/i.test(header(request, "accept") ?? "")
  );
}

export function redirectToConsole({ basePath }: HttpRequest): HttpResponse {
  return { status: 302, headers: { location: `${basePath}${CONSOLE_PATH}` }, body: "" };
}

/**
 * Responds with a file of the console. All paths except those of assets are the page, which shows
 * what its address says. Returns `undefined` if there is no such file.
 */
export async function handleConsole(
  files: ConsoleFiles,
  request: HttpRequest,
): Promise<HttpResponse | undefined> {
  const name = ASSET_PATH.exec(request.path)?.groups?.["name"];
  if (name === undefined) {
    if (request.path.startsWith(`${CONSOLE_PATH}/assets/`)) return undefined;
    const page = await files.page(request.basePath);
    return respond(request, page, { ...PAGE_HEADERS, "cache-control": "no-cache" });
  }
  const file = await files.asset(name);
  if (file === undefined) return undefined;
  return respond(request, file, { "cache-control": HASHED.test(name) ? FOREVER : "no-cache" });
}

/** A name that changes with the content of its file, such as "main-D2iNcxQE.js". */
const HASHED = /-[\w-]{8}\.\w+$/;

const FOREVER = "public, max-age=31536000, immutable";

/**
 * The page runs only its own scripts, makes no HTML from text, loads nothing from elsewhere, sends
 * requests only to this server, and is shown in no frame. What agents write is not trusted.
 */
const PAGE_HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src blob: data:",
    "connect-src 'self'",
    "font-src 'self'",
    "frame-src blob:",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

function respond(
  request: HttpRequest,
  { type, body, gzip, brotli }: ConsoleFile,
  headers: Readonly<Record<string, string>>,
): HttpResponse {
  const accepted = header(request, "accept-encoding") ?? "";
  const [encoding, encoded] =
    brotli !== undefined && /\bbr\b/.test(accepted)
      ? (["br", brotli] as const)
      : gzip !== undefined && /\bgzip\b/.test(accepted)
        ? (["gzip", gzip] as const)
        : ([undefined, body] as const);
  return {
    status: 200,
    headers: {
      ...headers,
      "content-type": type,
      ...((gzip ?? brotli) !== undefined && { vary: "accept-encoding" }),
      ...(encoding && { "content-encoding": encoding }),
    },
    body: encoded,
  };
}
