import type { IncomingMessage } from "node:http";
import { A2AError } from "@convoke/protocol";
import { expect, test } from "vitest";
import { givenBody } from "./given-body.ts";
import { listening } from "./listening.suite.ts";
import { readBody } from "./read-body.ts";

/** What comes of a body after a parser has had the request. */
async function bodyAfter(
  parser: (incoming: IncomingMessage) => Promise<unknown>,
  sent = '{"a":"ä"}',
): Promise<string | Error> {
  const outcome = Promise.withResolvers<string | Error>();
  const url = await listening((incoming, outgoing) => {
    const read = async (): Promise<string> => {
      const body = await parser(incoming);
      const parsed = Object.assign(incoming, { body });
      return Buffer.from(givenBody(parsed, 20) ?? (await readBody(incoming, 20))).toString();
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

test("what a parser made of the body is the body", async () => {
  expect(await bodyAfter(textOf)).toBe('{"a":"ä"}');
  expect(await bodyAfter(async (incoming) => Buffer.from(await textOf(incoming)))).toBe(
    '{"a":"ä"}',
  );
  expect(await bodyAfter(async (incoming) => JSON.parse(await textOf(incoming)))).toBe('{"a":"ä"}');
});

test("a parser that read nothing is not believed", async () => {
  expect(await bodyAfter(() => Promise.resolve({}))).toBe('{"a":"ä"}');
  expect(await bodyAfter(() => Promise.resolve(undefined))).toBe('{"a":"ä"}');
});

test("a body that is gone is an error, not a wait", async () => {
  const outcome = await bodyAfter(async (incoming) => void (await textOf(incoming)));

  expect(outcome).toBeInstanceOf(Error);
  expect((outcome as Error).message).toBe(
    "the body was read before the agent got the request: mount it before what reads bodies, or set request.body",
  );
});

test("the limit holds for what was parsed as well", async () => {
  const outcome = await bodyAfter(textOf, "x".repeat(21));

  expect(A2AError.is(outcome) && outcome.reason).toBe("PayloadTooLarge");
  expect(await bodyAfter(textOf, "x".repeat(20))).toHaveLength(20);
});
