import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ByteSink, ByteStream } from "../http/exchange.ts";
import { readBody, toReadableStream } from "./fetch-handler.ts";
import { A2AError } from "@convoke/protocol";

const LIMIT = 1000;

test("a body arrives as it was sent, whole, in chunks or not at all", async () => {
  const texts = await Promise.all(
    [aRequest("hällo"), aRequest(pieces("häl", "lo")), aRequest(undefined)].map(async (request) =>
      Buffer.from(await readBody(request, LIMIT)).toString(),
    ),
  );

  expect(texts).toEqual(["hällo", "hällo", ""]);
});

test("a body at the limit is accepted, and one beyond is rejected", async () => {
  expect(await readBody(aRequest("a".repeat(LIMIT)), LIMIT)).toHaveLength(LIMIT);
  expect(await refusalOf(aRequest("a".repeat(LIMIT + 1)))).toMatchObject({
    reason: "PayloadTooLarge",
    details: { limit: "bodyBytes", most: String(LIMIT) },
  });
});

test("an endless sender is stopped", async () => {
  const stopped = Promise.withResolvers<void>();
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(400)),
    cancel: () => stopped.resolve(),
  });

  expect(await refusalOf(aRequest(endless))).toMatchObject({ reason: "PayloadTooLarge" });
  await stopped.promise;
});

test("a body that is cut off is an error of the caller", async () => {
  const cut = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error("socket hang up")),
  });

  const refusal = await refusalOf(aRequest(cut));

  expect(A2AError.is(refusal) && refusal.reason).toBe("InvalidRequest");
});

test("a body that was already used is an error that says so", async () => {
  const request = aRequest("hello");
  await request.text();

  expect(await refusalOf(request)).toMatchObject({
    message:
      "the body was read before the agent got the request: pass a request whose body was not used",
  });
});

/** A stream that writes numbers as long as it may, and reports what happened to its reader. */
class Numbers implements ByteStream {
  written = 0;
  opened = 0;
  isClosed = false;
  sink: ByteSink | undefined;

  open(sink: ByteSink) {
    this.opened++;
    this.sink = sink;
    this.#write();
    return {
      drained: () => this.#write(),
      closed: () => {
        this.isClosed = true;
      },
    };
  }

  #write(): void {
    while (this.sink?.write(`${++this.written} `) === true);
  }
}

const FOREVER = new AbortController().signal;

async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> {
  const { value } = await reader.read();
  return value && Buffer.from(value).toString();
}

test("nothing is opened before it is read", async () => {
  const numbers = new Numbers();

  const readable = toReadableStream(numbers, FOREVER);
  await nextTurn();
  expect(numbers.opened).toBe(0);

  expect(await read(readable.getReader())).toBe("1 ");
  expect(numbers.opened).toBe(1);
});

test("no more is written than is read, however long the reader waits", async () => {
  const numbers = new Numbers();
  const reader = toReadableStream(numbers, FOREVER).getReader();

  for (let reads = 1; reads <= 100; reads++) {
    expect(await read(reader)).toBe(`${reads} `);
    await nextTurn();
    expect(numbers.written).toBe(reads);
  }
});

test("what is written while the reader waits arrives immediately", async () => {
  let sink: ByteSink | undefined;
  const quiet: ByteStream = {
    open: (given) => {
      sink = given;
      return { drained: () => undefined, closed: () => undefined };
    },
  };
  const reader = toReadableStream(quiet, FOREVER).getReader();
  const waiting = read(reader);
  await nextTurn();

  sink?.write(new TextEncoder().encode("bytes"));

  expect(await waiting).toBe("bytes");
});

test("the end comes after everything that was written", async () => {
  const numbers = new Numbers();
  const reader = toReadableStream(numbers, FOREVER).getReader();
  await read(reader);

  numbers.sink?.write("last");
  numbers.sink?.end();

  expect(await read(reader)).toBe("last");
  expect(await read(reader)).toBeUndefined();
});

test("a reader that cancels is released", async () => {
  const numbers = new Numbers();
  const reader = toReadableStream(numbers, FOREVER).getReader();
  await read(reader);

  await reader.cancel();

  expect(numbers.isClosed).toBe(true);
});

test("an aborted request ends its stream, as on a network", async () => {
  const numbers = new Numbers();
  const leaving = new AbortController();
  const reader = toReadableStream(numbers, leaving.signal).getReader();
  await read(reader);

  leaving.abort();

  expect(numbers.isClosed).toBe(true);
  await expect(read(reader)).rejects.toThrow("aborted");
});

test("a request that was already aborted is never opened", async () => {
  const numbers = new Numbers();

  const reader = toReadableStream(numbers, AbortSignal.abort()).getReader();

  await expect(read(reader)).rejects.toThrow("aborted");
  expect(numbers.opened).toBe(0);
});

function aRequest(body: RequestInit["body"]): Request {
  const init = { method: "POST", body: body ?? null, duplex: "half" };
  return new Request("http://localhost/", init);
}

function pieces(...texts: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}

async function refusalOf(request: Request): Promise<unknown> {
  return readBody(request, LIMIT).then(
    () => undefined,
    (error: unknown) => error,
  );
}
