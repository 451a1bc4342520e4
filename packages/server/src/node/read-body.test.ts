import { type IncomingMessage, request as open } from "node:http";
import { A2AError } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { listening } from "./listening.suite.ts";
import { readBody } from "./read-body.ts";

const LIMIT = 1000;

/** Reads what is sent, and tells what became of it. */
async function reading(send: (url: string) => unknown): Promise<Uint8Array | A2AError> {
  const outcome = Promise.withResolvers<Uint8Array | A2AError>();
  const url = await listening((incoming: IncomingMessage, outgoing) => {
    readBody(incoming, LIMIT)
      .then(outcome.resolve, (error: unknown) => {
        if (A2AError.is(error)) outcome.resolve(error);
        else outcome.reject(error);
      })
      .finally(() => outgoing.end());
  });
  send(url);
  return outcome.promise;
}

/** Sends pieces one by one, without saying how long they are together. */
function sendPieces(url: string, pieces: readonly string[]): void {
  const request = open(url, { method: "POST" });
  request.on("error", () => undefined);
  for (const piece of pieces) request.write(piece);
  request.end();
}

test("a body comes as it was sent, whole or in pieces", async () => {
  const whole = await reading((url) => sendPieces(url, ["hällo"]));
  const inPieces = await reading((url) => sendPieces(url, ["a".repeat(400), "b".repeat(600)]));
  const empty = await reading((url) => sendPieces(url, []));

  expect(Buffer.from(whole as Uint8Array).toString()).toBe("hällo");
  expect(Buffer.from(inPieces as Uint8Array).toString()).toBe("a".repeat(400) + "b".repeat(600));
  expect(empty).toHaveLength(0);
});

describe("a body beyond the limit is refused, and the error names it", () => {
  const refusal = {
    reason: "PayloadTooLarge",
    details: { limit: "bodyBytes", most: String(LIMIT) },
  };

  test("at once where its length is announced", async () => {
    const outcome = await reading((url) => {
      const headers = { "content-length": LIMIT + 1 };
      const request = open(url, { method: "POST", headers });
      request.on("error", () => undefined);
      // Nothing of the body ever comes.
      request.flushHeaders();
    });

    expect(outcome).toMatchObject(refusal);
  });

  test("when it gets there where nobody said how long it is", async () => {
    const outcome = await reading((url) => sendPieces(url, ["a".repeat(LIMIT), "b", "c"]));

    expect(outcome).toMatchObject(refusal);
  });
});

test("a body at the limit is read", async () => {
  expect(await reading((url) => sendPieces(url, ["a".repeat(LIMIT)]))).toHaveLength(LIMIT);
});

test("a body that is cut off is an error, not a wait", async () => {
  const outcome = await reading((url) => {
    const request = open(url, { method: "POST", headers: { "content-length": 500 } });
    request.on("error", () => undefined);
    request.write("only this", () => request.destroy());
  });

  expect(A2AError.is(outcome) && outcome.row.code).toBe(-32600);
});
