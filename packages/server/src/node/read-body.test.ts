import { type IncomingMessage, request as open } from "node:http";
import { A2AError } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { listening } from "./listening.suite.ts";
import { readBody } from "./read-body.ts";

test("a body that a parser has read is used", async () => {
  expect(await bodyAfter(textOf)).toBe('{"a":"ä"}');
  expect(await bodyAfter(async (incoming) => Buffer.from(await textOf(incoming)))).toBe(
    '{"a":"ä"}',
  );
  expect(await bodyAfter(async (incoming) => JSON.parse(await textOf(incoming)))).toBe('{"a":"ä"}');
});

test("a parser that read nothing is ignored", async () => {
  expect(await bodyAfter(() => Promise.resolve({}))).toBe('{"a":"ä"}');
  expect(await bodyAfter(() => Promise.resolve(undefined))).toBe('{"a":"ä"}');
});

test("a body that was consumed is an error and does not hang", async () => {
  const outcome = await bodyAfter(async (incoming) => void (await textOf(incoming)));

  expect(outcome).toBeInstanceOf(Error);
  expect((outcome as Error).message).toBe(
    "the body was read before the agent got the request: mount it before middleware that reads bodies, or set request.body",
  );
});

test("the limit also applies to a parsed body", async () => {
  const outcome = await bodyAfter(textOf, "x".repeat(21));

  expect(A2AError.is(outcome) && outcome.reason).toBe("PayloadTooLarge");
  expect(await bodyAfter(textOf, "x".repeat(20))).toHaveLength(20);
});

const LIMIT = 1000;

/** Reads what is sent, and reports the result. */
async function reading(send: (url: string) => unknown): Promise<Uint8Array | A2AError> {
  const outcome = Promise.withResolvers<Uint8Array | A2AError>();
  const url = await listening((incoming: IncomingMessage, outgoing) => {
    readBody(incoming, { maxBytes: LIMIT, timeoutMs: 60_000 })
      .then(outcome.resolve, (error: unknown) => {
        if (A2AError.is(error)) outcome.resolve(error);
        else outcome.reject(error);
      })
      .finally(() => outgoing.end());
  });
  send(url);
  return outcome.promise;
}

/** Sends chunks one by one, without a Content-Length. */
function sendPieces(url: string, pieces: readonly string[]): void {
  const request = open(url, { method: "POST" });
  request.on("error", () => undefined);
  for (const piece of pieces) request.write(piece);
  request.end();
}

test("a body arrives as it was sent, whole or in chunks", async () => {
  const whole = await reading((url) => sendPieces(url, ["hällo"]));
  const inPieces = await reading((url) => sendPieces(url, ["a".repeat(400), "b".repeat(600)]));
  const empty = await reading((url) => sendPieces(url, []));

  expect(Buffer.from(whole as Uint8Array).toString()).toBe("hällo");
  expect(Buffer.from(inPieces as Uint8Array).toString()).toBe("a".repeat(400) + "b".repeat(600));
  expect(empty).toHaveLength(0);
});

test("a body that arrives together with its headers needs no listeners", async () => {
  const listeners = Promise.withResolvers<number>();
  const url = await listening((incoming, outgoing) => {
    const body = readBody(incoming, { maxBytes: LIMIT, timeoutMs: 60_000 });
    setImmediate(() => listeners.resolve(incoming.listenerCount("data")));
    void body.then((bytes) => outgoing.end(bytes));
  });

  const response = await fetch(url, { method: "POST", body: "hällo" });

  expect(await response.text()).toBe("hällo");
  expect(await listeners.promise).toBe(0);
});

describe("a body beyond the limit is rejected, and the error names it", () => {
  const refusal = {
    reason: "PayloadTooLarge",
    details: { limit: "bodyBytes", most: String(LIMIT) },
  };

  test("immediately if its length is declared", async () => {
    const outcome = await reading((url) => {
      const headers = { "content-length": LIMIT + 1 };
      const request = open(url, { method: "POST", headers });
      request.on("error", () => undefined);
      // Nothing of the body ever arrives.
      request.flushHeaders();
    });

    expect(outcome).toMatchObject(refusal);
  });

  test("when it reaches the limit if its length is not declared", async () => {
    const outcome = await reading((url) => sendPieces(url, ["a".repeat(LIMIT), "b", "c"]));

    expect(outcome).toMatchObject(refusal);
  });
});

test("a body at the limit is accepted", async () => {
  expect(await reading((url) => sendPieces(url, ["a".repeat(LIMIT)]))).toHaveLength(LIMIT);
});

test("a body that is cut off is an error and does not hang", async () => {
  const outcome = await reading((url) => {
    const request = open(url, { method: "POST", headers: { "content-length": 500 } });
    request.on("error", () => undefined);
    request.write("only this", () => request.destroy());
  });

  expect(A2AError.is(outcome) && outcome.row.code).toBe(-32600);
});

/** The result of reading a body after a parser has had the request. */
async function bodyAfter(
  parser: (incoming: IncomingMessage) => Promise<unknown>,
  sent = '{"a":"ä"}',
): Promise<string | Error> {
  const outcome = Promise.withResolvers<string | Error>();
  const url = await listening((incoming, outgoing) => {
    const read = async (): Promise<string> => {
      const body = await parser(incoming);
      const parsed = Object.assign(incoming, { body });
      return Buffer.from(await readBody(parsed, { maxBytes: 20, timeoutMs: 60_000 })).toString();
    };
    void read()
      .then(outcome.resolve, outcome.resolve)
      .finally(() => outgoing.end());
  });
  await fetch(url, { method: "POST", body: sent });
  return outcome.promise;
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of incoming) text += String(chunk);
  return text;
}
