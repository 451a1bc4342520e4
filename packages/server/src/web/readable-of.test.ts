import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ByteSink, ByteStream } from "../http/exchange.ts";
import { readableOf } from "./readable-of.ts";

/** A stream that writes numbers for as long as it may, and tells what became of its reader. */
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

test("nothing is opened before someone reads", async () => {
  const numbers = new Numbers();

  const readable = readableOf(numbers, FOREVER);
  await nextTurn();
  expect(numbers.opened).toBe(0);

  expect(await read(readable.getReader())).toBe("1 ");
  expect(numbers.opened).toBe(1);
});

test("no more is written than is read, however long the reader waits", async () => {
  const numbers = new Numbers();
  const reader = readableOf(numbers, FOREVER).getReader();

  for (let reads = 1; reads <= 100; reads++) {
    expect(await read(reader)).toBe(`${reads} `);
    await nextTurn();
    expect(numbers.written).toBe(reads);
  }
});

test("what is written while the reader waits reaches it at once", async () => {
  let sink: ByteSink | undefined;
  const quiet: ByteStream = {
    open: (given) => {
      sink = given;
      return { drained: () => undefined, closed: () => undefined };
    },
  };
  const reader = readableOf(quiet, FOREVER).getReader();
  const waiting = read(reader);
  await nextTurn();

  sink?.write(new TextEncoder().encode("bytes"));

  expect(await waiting).toBe("bytes");
});

test("the end comes after everything that was written", async () => {
  const numbers = new Numbers();
  const reader = readableOf(numbers, FOREVER).getReader();
  await read(reader);

  numbers.sink?.write("last");
  numbers.sink?.end();

  expect(await read(reader)).toBe("last");
  expect(await read(reader)).toBeUndefined();
});

test("a reader that cancels is gone", async () => {
  const numbers = new Numbers();
  const reader = readableOf(numbers, FOREVER).getReader();
  await read(reader);

  await reader.cancel();

  expect(numbers.isClosed).toBe(true);
});

test("a request that is aborted ends its stream, as it would on a network", async () => {
  const numbers = new Numbers();
  const leaving = new AbortController();
  const reader = readableOf(numbers, leaving.signal).getReader();
  await read(reader);

  leaving.abort();

  expect(numbers.isClosed).toBe(true);
  await expect(read(reader)).rejects.toThrow("aborted");
});

test("a request that was aborted before is never opened", async () => {
  const numbers = new Numbers();

  const reader = readableOf(numbers, AbortSignal.abort()).getReader();

  await expect(read(reader)).rejects.toThrow("aborted");
  expect(numbers.opened).toBe(0);
});
