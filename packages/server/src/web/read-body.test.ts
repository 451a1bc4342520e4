import { A2AError } from "@convoke/protocol";
import { expect, test } from "vitest";
import { readBody } from "./read-body.ts";

const LIMIT = 1000;

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

test("a body comes as it was sent, whole, in pieces or not at all", async () => {
  const texts = await Promise.all(
    [aRequest("hällo"), aRequest(pieces("häl", "lo")), aRequest(undefined)].map(async (request) =>
      Buffer.from(await readBody(request, LIMIT)).toString(),
    ),
  );

  expect(texts).toEqual(["hällo", "hällo", ""]);
});

test("a body at the limit is read, and one beyond is refused", async () => {
  expect(await readBody(aRequest("a".repeat(LIMIT)), LIMIT)).toHaveLength(LIMIT);
  expect(await refusalOf(aRequest("a".repeat(LIMIT + 1)))).toMatchObject({
    reason: "PayloadTooLarge",
    details: { limit: "bodyBytes", most: String(LIMIT) },
  });
});

test("a sender without an end is told to stop", async () => {
  const stopped = Promise.withResolvers<void>();
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(400)),
    cancel: () => stopped.resolve(),
  });

  expect(await refusalOf(aRequest(endless))).toMatchObject({ reason: "PayloadTooLarge" });
  await stopped.promise;
});

test("a body that is cut off is the caller's doing", async () => {
  const cut = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error("socket hang up")),
  });

  const refusal = await refusalOf(aRequest(cut));

  expect(A2AError.is(refusal) && refusal.reason).toBe("InvalidRequest");
});

test("a body that someone has used is an error that says so", async () => {
  const request = aRequest("hello");
  await request.text();

  expect(await refusalOf(request)).toMatchObject({
    message:
      "the body was read before the agent got the request: hand on a request whose body was not used",
  });
});
