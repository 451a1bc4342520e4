import { createHmac, hash } from "node:crypto";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The only user of the server. */
export const KEYS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "a/secret+key" };

export const REGION = "eu-test-1";

interface StoredObject {
  readonly body: Buffer;
  readonly at: Date;
}

/**
 * An object store in memory that speaks enough of the protocol of S3, and verifies the signature of
 * every request from what arrived.
 */
export class S3Server {
  readonly objects = new Map<string, StoredObject>();
  /** The method and the URL of each request. */
  readonly requests: string[] = [];
  readonly #uploads = new Map<string, Map<number, Buffer>>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => this.#handle(request, response, Buffer.concat(pieces)));
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #handle(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const { method = "", url = "" } = request;
    this.requests.push(`${method} ${url}`);
    const send = (status: number, text = "", headers = {}): void =>
      void response.writeHead(status, headers).end(text);
    if (!isSigned(request, body))
      return send(403, "<Error><Code>SignatureDoesNotMatch</Code></Error>");
    const { pathname, searchParams: query } = new URL(url, "http://localhost");
    const [, , ...names] = pathname.split("/");
    const key = names.map(decodeURIComponent).join("/");
    const uploadId = query.get("uploadId") ?? "";
    if (method === "GET" && query.has("list-type")) return send(200, this.#list(query));
    if (method === "POST" && query.has("uploads")) {
      this.#uploads.set(key, new Map());
      return send(200, `<R><UploadId>${key}&amp;1</UploadId></R>`);
    }
    if (method === "PUT" && uploadId === `${key}&1`) {
      this.#uploads.get(key)!.set(Number(query.get("partNumber")), body);
      return send(200, "", { etag: `"${hash("md5", body, "hex")}"` });
    }
    if (method === "POST" && uploadId === `${key}&1`) {
      const parts = this.#uploads.get(key)!;
      const listed = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, n]) => Number(n));
      this.objects.set(key, {
        body: Buffer.concat(listed.map((n) => parts.get(n)!)),
        at: new Date(),
      });
      return send(200, "<R></R>");
    }
    if (method === "DELETE" && uploadId !== "") {
      this.#uploads.delete(key);
      return send(204);
    }
    if (method === "PUT") {
      this.objects.set(key, { body, at: new Date() });
      return send(200);
    }
    if (method === "DELETE") {
      this.objects.delete(key);
      return send(204);
    }
    this.#read(request, response, this.objects.get(key)?.body);
  }

  #read(request: IncomingMessage, response: ServerResponse, body: Buffer | undefined): void {
    if (body === undefined) {
      response.writeHead(404).end("<Error><Code>NoSuchKey</Code></Error>");
      return;
    }
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
    const part = first === undefined ? body : body.subarray(Number(first), Number(last) + 1);
    response.writeHead(first === undefined ? 200 : 206, { "content-length": part.length });
    response.end(request.method === "HEAD" ? undefined : part);
  }

  /** Pages of two. */
  #list(query: URLSearchParams): string {
    const after = query.get("continuation-token") ?? "";
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(query.get("prefix") ?? "") && key > after)
      .toSorted();
    const page = keys.slice(0, 2).map((key) => {
      const at = this.objects.get(key)!.at.toISOString();
      return `<Contents><Key>${key}</Key><LastModified>${at}</LastModified></Contents>`;
    });
    const next = keys.length > 2 ? `<NextContinuationToken>${keys[1]}</NextContinuationToken>` : "";
    return `<R>${page.join("")}${next}</R>`;
  }
}

/** Computes the signature from the raw request, as the documentation of AWS describes it. */
function isSigned({ method, url = "", headers }: IncomingMessage, body: Buffer): boolean {
  const [, scope = "", names = "", signature] =
    /Credential=AKIDEXAMPLE\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)/.exec(
      headers.authorization ?? "",
    ) ?? [];
  const [day = "", region = "", service = "", end = ""] = scope.split("/");
  const [path, query = ""] = url.split("?");
  const canonical = [
    method,
    path,
    query.split("&").toSorted().join("&"),
    ...names.split(";").map((name) => `${name}:${String(headers[name])}`),
    "",
    names,
    hash("sha256", body, "hex"),
  ].join("\n");
  const text = `AWS4-HMAC-SHA256\n${String(headers["x-amz-date"])}\n${scope}\n${hash("sha256", canonical, "hex")}`;
  const sign = (key: string | Buffer, of: string): Buffer =>
    createHmac("sha256", key).update(of).digest();
  const dayKey = sign(`AWS4${KEYS.secretAccessKey}`, day);
  const key = sign(sign(sign(dayKey, region), service), end);
  return region === REGION && signature === sign(key, text).toString("hex");
}
