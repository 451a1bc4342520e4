import { afterEach, describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "./dialect.ts";
import { exchange } from "./exchange.ts";
import { expectHealthy } from "./healthy.ts";
import { bodyOf, faultOf, post, rpcText } from "./rpc.ts";
import { useServerProcess } from "./server-process.ts";

const MEGABYTE = 1024 * 1024;
const HUGE = 64 * MEGABYTE;
const DEPTH = 200_000;

const server = useServerProcess();

afterEach(() => expectHealthy(server));

for (const { version, methods, user, text } of DIALECTS) {
  const asked = { "a2a-version": version };
  const params = { message: { messageId: "m", role: user, parts: [text("hello")] } };

  describe(`a body that is not JSON (${version})`, () => {
    for (const [what, body] of [
      ["nothing", ""],
      ["a word", "hello"],
      ["half a request", rpcText(methods.send, params).slice(0, -1)],
      ["two requests", rpcText(methods.send, params).repeat(2)],
      ["a form", "jsonrpc=2.0&id=1"],
      ["a byte order mark", `\u{feff}${rpcText(methods.send, params)}`],
      ["invalid UTF-8", Uint8Array.from(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))],
      ["UTF-16", Uint8Array.from(Buffer.from(rpcText(methods.send, { text: "ä" }), "utf16le"))],
    ] as const) {
      verifies("R3", `${what} is -32700 with HTTP 200 and a null id`, async () => {
        const answer = await post(server.url, body, asked);

        expect(answer.status).toBe(200);
        expect(bodyOf(answer)).toMatchObject({ jsonrpc: "2.0", id: null });
        expect(faultOf(answer).code).toBe(-32700);
      });
    }
  });

  describe(`a body of another type (${version})`, () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"]) {
      verifies("R1", `${type} is 415 and -32005`, async () => {
        const headers = { ...asked, "content-type": type };

        const answer = await post(server.url, rpcText(methods.send, params), headers);

        expect(answer.status).toBe(415);
        expect(bodyOf(answer)).toMatchObject({ jsonrpc: "2.0", id: null });
        expect(faultOf(answer)).toMatchObject({ code: -32005, field: "Content-Type" });
      });
    }

    verifies("R1", "a missing type is 415 and -32005", async () => {
      const body = [Buffer.from(rpcText(methods.send, params))];

      const answer = await exchange({ url: server.url, method: "POST", headers: asked, body });

      expect(answer.status).toBe(415);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32005 } });
    });

    for (const type of [
      "application/json; charset=utf-8",
      "Application/JSON",
      " application/json",
    ]) {
      verifies("R1", `${JSON.stringify(type)} is accepted as JSON`, async () => {
        const headers = { ...asked, "content-type": type };

        const answer = await post(server.url, rpcText(methods.get, { id: "none" }), headers);

        expect(answer.status).toBe(200);
        expect(faultOf(answer).code).toBe(-32001);
      });
    }
  });

  describe(`JSON with 200 000 levels (${version})`, () => {
    const nested = `${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}`;
    const objects = `${'{"a":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}`;
    const request = (inner: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"${methods.send}","params":{"metadata":${inner}}}`;

    for (const [what, body] of [
      ["lists", nested],
      ["objects", objects],
      ["lists in a request", request(nested)],
      ["objects in a request", request(objects)],
      ["lists that never close", "[".repeat(DEPTH)],
      ["a batch of batches", `${"[".repeat(DEPTH)}${request("{}")}${"]".repeat(DEPTH)}`],
    ] as const) {
      verifies(["R2", "G14"], `${what} are rejected with the name of the limit`, async () => {
        const answer = await post(server.url, body, asked);

        expect(answer.status).toBe(200);
        expect(faultOf(answer)).toMatchObject({
          code: -32600,
          details: { limit: "jsonDepth", maximum: "128" },
        });
      });
    }
  });

  describe(`a body of 64 MB (${version})`, () => {
    for (const [what, length] of [
      ["with a Content-Length", { "content-length": String(HUGE) }],
      ["without one", {}],
    ] as const) {
      verifies(
        ["R2", "G14"],
        `${what} is 413, and the server's memory does not grow with it`,
        async () => {
          const before = await server.peakBytes();

          const answer = await exchange({
            url: server.url,
            method: "POST",
            headers: { ...asked, ...length, "content-type": "application/json" },
            body: repeated(MEGABYTE, HUGE),
          });

          expect(answer.status).toBe(413);
          expect(answer.headers["content-type"]).toBe("application/json");
          expect(answer.headers.connection).toBe("close");
          expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", id: null });
          expect(faultIn(answer.text)).toMatchObject({
            code: -32600,
            details: { limit: "bodyBytes", most: String(10 * MEGABYTE) },
          });
          await expectHealthy(server);
          expect((await server.peakBytes()) - before).toBeLessThan(HUGE / 2);
        },
      );
    }

    verifies("R2", "is 413 even if nothing follows its Content-Length", async () => {
      const answer = await exchange({
        url: server.url,
        method: "POST",
        headers: { ...asked, "content-length": HUGE, "content-type": "application/json" },
        body: repeated(1, 1),
      });

      expect(answer.status).toBe(413);
    });
  });
}

verifies("R2", "a body just below the limit is accepted", async () => {
  const [{ methods, user }] = DIALECTS as [(typeof DIALECTS)[number]];
  const long = Array.from({ length: 9 }, () => ({ kind: "text", text: "x".repeat(MEGABYTE) }));
  const parts = [{ kind: "text", text: "hello" }, ...long];
  const message = { messageId: "long", role: user, parts };
  const params = { message, configuration: { historyLength: 0 } };

  const answer = await post(server.url, rpcText(methods.send, params));

  expect(answer.status).toBe(200);
  expect(bodyOf(answer)).toMatchObject({ result: { status: { state: "completed" } } });
});

function faultIn(text: string): ReturnType<typeof faultOf> {
  return faultOf({ status: 0, headers: new Headers(), text });
}

/** Chunks of spaces, which may precede JSON, so that only the size is wrong. */
function* repeated(pieceBytes: number, totalBytes: number): Generator<Uint8Array> {
  const piece = Buffer.alloc(pieceBytes, " ");
  for (let sent = 0; sent < totalBytes; sent += pieceBytes) yield piece;
}
