import { CODECS, type PublicEvent } from "@convoke/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SECRET, SENT_AT, STATUS_UPDATE, TOKEN, aPush } from "./a-push.suite.ts";
import { type PushReceiverOptions, createPushReceiver } from "./create-push-receiver.ts";
import { signDelivery } from "@convoke/egress/webhooks";

function aReceiver(options: PushReceiverOptions = { token: TOKEN, secret: SECRET }) {
  return createPushReceiver({ now: () => SENT_AT * 1000, ...options });
}

test("a genuine notification is an event in the types of the model", async () => {
  expect(await aReceiver().receive(aPush())).toEqual({
    kind: "event",
    deliveryId: "msg_1",
    taskId: "t1",
    version: "1.0",
    event: {
      kind: "status-update",
      taskId: "t1",
      contextId: "c1",
      status: { state: "completed", timestamp: "2027-01-15T08:00:00.000Z" },
      final: true,
    },
  });
});

test("headers may come from fetch, from Node, or in any letter case", async () => {
  const { headers, body } = aPush();
  const upper = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value!]]);
  const fetched = new Headers(headers as Record<string, string>);
  // Frameworks have their own header classes.
  const foreign = { get: (name: string) => fetched.get(name) } as Headers;

  for (const given of [headers, fetched, foreign, Object.fromEntries(upper)]) {
    expect(await aReceiver().receive({ headers: given, body })).toMatchObject({ kind: "event" });
  }
});

describe("bodies of both versions are parsed", () => {
  const task = { kind: "task", id: "t1", contextId: "c1", status: { state: "working" } } as const;
  const parts = [{ kind: "text", text: "Hi" }] as const;
  const message = { kind: "message", messageId: "m1", role: "agent", parts, taskId: "t1" } as const;
  const artifact = { artifactId: "a1", parts };
  const update = { kind: "artifact-update", taskId: "t1", contextId: "c1", artifact } as const;

  async function receive(body: unknown, headers: Readonly<Record<string, string | undefined>>) {
    const push = aPush({ body: JSON.stringify(body), headers });
    return await aReceiver().receive(push);
  }

  for (const event of [task, message, update] satisfies PublicEvent[]) {
    test(`1.0: ${event.kind}`, async () => {
      const body = JSON.parse(CODECS["1.0"].eventText(event, JSON.stringify(event))) as unknown;

      expect(await receive(body, {})).toMatchObject({ taskId: "t1", version: "1.0", event });
    });
  }

  for (const event of [task, message]) {
    test(`0.3: ${event.kind}`, async () => {
      const received = await receive(CODECS["0.3"].encodeSendResult(event), {
        "a2a-version": "0.3",
        "content-type": "application/json",
      });

      expect(received).toMatchObject({ taskId: "t1", version: "0.3", event });
    });
  }

  test("a sender without a version is recognized by its content type", async () => {
    const silent = { "a2a-version": undefined };
    const { kind: _, ...bare } = task;

    const old = await receive(bare, { ...silent, "content-type": "application/json" });
    const recent = await receive(STATUS_UPDATE, {
      ...silent,
      "content-type": "application/a2a+json; charset=utf-8",
    });

    expect(old).toMatchObject({ version: "0.3", event: task });
    expect(recent).toMatchObject({ version: "1.0", event: { kind: "status-update" } });
  });
});

describe("an unusable body is rejected with 400", () => {
  for (const [body, reason] of [
    ["", "the body is not JSON"],
    ["{", "the body is not JSON"],
    ["null", "the event has no known member"],
    ["[]", "the event has no known member"],
    ['{"hello":1}', "the event has no known member"],
    ['{"task":{}}', "the task has no id"],
    ['{"task":{"id":""}}', "the task in the body names no task"],
    ['{"statusUpdate":null}', "the body is not an A2A notification"],
    ['{"statusUpdate":{"status":{}}}', "the status-update in the body names no task"],
    ['{"statusUpdate":{"taskId":1}}', "the status-update in the body names no task"],
    ['{"artifactUpdate":{"taskId":"t1"}}', "the body is not an A2A notification"],
    [
      '{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"Hi"}]}}',
      "the message in the body names no task",
    ],
    ['{"message":{"messageId":"m1","role":"ROLE_AGENT"}}', "the message in the body names no task"],
  ] as const) {
    test(JSON.stringify(body), async () => {
      const receiver = aReceiver();

      const received = await receiver.receive(aPush({ body }));

      expect(received).toEqual({ kind: "refused", status: 400, reason });
      // If the id had been remembered, the corrected delivery would be lost.
      expect(await receiver.receive(aPush())).toMatchObject({ kind: "event" });
    });
  }

  test("and so is an unsupported version", async () => {
    const received = await aReceiver().receive(aPush({ headers: { "a2a-version": "2.0" } }));

    expect(received).toEqual({
      kind: "refused",
      status: 400,
      reason: "A2A-Version 2.0 is not one of 0.3, 1.0",
    });
  });
});

describe("is rejected", () => {
  for (const [what, headers, status, reason] of [
    [
      "without the token",
      { "x-a2a-notification-token": undefined },
      401,
      "x-a2a-notification-token is missing",
    ],
    [
      "with another token",
      { "x-a2a-notification-token": `${TOKEN}x` },
      401,
      "x-a2a-notification-token is wrong",
    ],
    [
      "with two tokens",
      { "X-A2A-Notification-Token": "other" },
      401,
      "x-a2a-notification-token is wrong",
    ],
    ["without an id", { "webhook-id": undefined }, 401, "webhook-id is missing"],
    ["without a time", { "webhook-timestamp": undefined }, 401, "webhook-timestamp is missing"],
    [
      "without a signature",
      { "webhook-signature": undefined },
      401,
      "webhook-signature is missing",
    ],
    [
      "with an empty signature",
      { "webhook-signature": "" },
      401,
      "webhook-signature does not match the delivery",
    ],
    [
      "with a time in another format",
      { "webhook-timestamp": `0${SENT_AT}` },
      400,
      "webhook-timestamp must be whole seconds since 1970",
    ],
    [
      "with an endless id",
      { "webhook-id": "x".repeat(257) },
      400,
      "webhook-id is longer than 256 characters",
    ],
  ] as const) {
    test(what, async () => {
      expect(await aReceiver().receive(aPush({ headers }))).toEqual({
        kind: "refused",
        status,
        reason,
      });
    });
  }

  test("with another sender's signature", async () => {
    const received = await aReceiver().receive(aPush({ secret: "guessed" }));

    expect(received).toMatchObject({ kind: "refused", status: 401 });
  });

  test("about an unexpected task, whose id is then not remembered", async () => {
    const asked: string[] = [];
    const receiver = aReceiver({
      secret: SECRET,
      taskIds: async (taskId) => asked.push(taskId) > 1,
    });

    expect(await receiver.receive(aPush())).toEqual({
      kind: "refused",
      status: 403,
      reason: "the task is not expected",
    });
    expect(await receiver.receive(aPush())).toMatchObject({ kind: "event" });
    expect(asked).toEqual(["t1", "t1"]);
  });

  test("if it is too large, counted in bytes", async () => {
    const body = JSON.stringify({ ...STATUS_UPDATE, note: "€" });
    const size = Buffer.byteLength(body);

    const fits = await aReceiver({ secret: SECRET, maxBytes: size }).receive(aPush({ body }));
    const tooLarge = await aReceiver({ secret: SECRET, maxBytes: size - 1 }).receive(
      aPush({ body }),
    );

    expect(fits).toMatchObject({ kind: "event" });
    expect(tooLarge).toEqual({
      kind: "refused",
      status: 413,
      reason: `the body is larger than ${size - 1} bytes`,
    });
  });
});

describe("the signature covers everything", () => {
  /** Flips one bit of the UTF-8 of a text. */
  function flip(text: string, place: number): string {
    const bytes = Buffer.from(text, "utf8");
    const bit = place % (bytes.length * 8);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    return bytes.toString("utf8");
  }

  const bit = fc.nat(1_000_000);

  for (const header of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
    test(`a bit of ${header}`, async () => {
      const push = aPush();
      await fc.assert(
        fc.asyncProperty(bit, async (place) => {
          const headers = { ...push.headers, [header]: flip(push.headers[header]!, place) };

          const received = await aReceiver({
            secret: SECRET,
            toleranceMs: Number.MAX_SAFE_INTEGER,
          }).receive({ ...push, headers });

          expect(received).toMatchObject({ kind: "refused" });
        }),
        { numRuns: 200 },
      );
    });
  }

  test("a bit of the body", async () => {
    const bodies = fc.string({ unit: "grapheme" }).map((text) => JSON.stringify({ text }));
    await fc.assert(
      fc.asyncProperty(bodies, bit, async (text, place) => {
        const push = aPush({ body: JSON.stringify({ ...STATUS_UPDATE, note: text }) });

        const received = await aReceiver().receive({ ...push, body: flip(push.body, place) });

        expect(received).toMatchObject({ kind: "refused", status: 401 });
      }),
      { numRuns: 200 },
    );
  });

  test("moving characters from the id to the time makes it another delivery", async () => {
    const { headers, body } = aPush({ id: `msg.${SENT_AT}` });
    const moved = { ...headers, "webhook-id": "msg", "webhook-timestamp": String(SENT_AT) };

    const received = await aReceiver().receive({ headers: moved, body: `${SENT_AT}.${body}` });

    expect(received).toEqual({ kind: "refused", status: 400, reason: "the body is not JSON" });
  });
});

describe("during a key rotation", () => {
  const OLD = "old-secret";

  test("a receiver accepts either key", async () => {
    for (const secret of [OLD, SECRET]) {
      const receiver = aReceiver({ secret: [SECRET, OLD] });

      expect(await receiver.receive(aPush({ secret }))).toMatchObject({ kind: "event" });
    }
    const third = await aReceiver({ secret: [SECRET, OLD] }).receive(aPush({ secret: "third" }));
    expect(third).toMatchObject({ kind: "refused" });
  });

  test("one valid signature among several is enough, and other schemes are ignored", async () => {
    const { body, headers } = aPush();
    const facts = { id: "msg_1", timestamp: SENT_AT, body };
    const old = signDelivery({ ...facts, secret: OLD });
    const own = headers["webhook-signature"]!;

    for (const [signature, kind] of [
      [`${old} ${own}`, "event"],
      [`${own} ${old}`, "event"],
      [`v1a,abc ${own}`, "event"],
      [`v1a,abc ${old}`, "refused"],
      [own.replace("v1,", "v2,"), "refused"],
      [own.replace("v1,", ""), "refused"],
      [own.replace(/=$/, ""), "refused"],
    ] as const) {
      const receiver = aReceiver({ secret: SECRET });
      const received = await receiver.receive({
        body,
        headers: { ...headers, "webhook-signature": signature },
      });

      expect(received, signature).toMatchObject({ kind });
    }
  });
});

describe("the time of a delivery", () => {
  for (const [seconds, options, reason] of [
    [-300, {}, undefined],
    [-301, {}, "webhook-timestamp is too long ago"],
    [300, {}, undefined],
    [301, {}, "webhook-timestamp is in the future"],
    [-11, { toleranceMs: 10_000 }, "webhook-timestamp is too long ago"],
    [-10, { toleranceMs: 10_000 }, undefined],
    [0, { toleranceMs: 0 }, undefined],
  ] as const) {
    for (const proof of [{ secret: SECRET }, { token: TOKEN }]) {
      const by = Object.keys(proof)[0];
      test(`${seconds} s from ours, known by ${by} ${JSON.stringify(options)}`, async () => {
        const push = aPush({ timestamp: SENT_AT + seconds });

        const received = await aReceiver({ ...proof, ...options }).receive(push);

        expect(received).toMatchObject(
          reason === undefined ? { kind: "event" } : { kind: "refused", status: 401, reason },
        );
      });
    }
  }

  test("is compared with the system clock by default", async () => {
    const receiver = createPushReceiver({ secret: SECRET });
    const now = Math.floor(Date.now() / 1000);

    expect(await receiver.receive(aPush({ timestamp: now }))).toMatchObject({ kind: "event" });
    expect(await receiver.receive(aPush({ timestamp: now - 600 }))).toMatchObject({
      kind: "refused",
    });
  });
});

describe("a repeated delivery", () => {
  test("is recognized, even if a later attempt has another time", async () => {
    const receiver = aReceiver();

    expect(await receiver.receive(aPush())).toMatchObject({ kind: "event" });
    expect(await receiver.receive(aPush())).toEqual({ kind: "repeated", deliveryId: "msg_1" });
    expect(await receiver.receive(aPush({ timestamp: SENT_AT + 60 }))).toMatchObject({
      kind: "repeated",
    });
    expect(await receiver.receive(aPush({ id: "msg_2" }))).toMatchObject({ kind: "event" });
  });

  test("at the same moment is an event once", async () => {
    const receiver = aReceiver({ secret: SECRET, taskIds: () => Promise.resolve(true) });

    const received = await Promise.all([1, 2, 3].map(() => receiver.receive(aPush())));

    expect(received.map(({ kind }) => kind)).toEqual(["event", "repeated", "repeated"]);
  });

  test("without valid credentials is rejected, not recognized as repeated", async () => {
    const receiver = aReceiver();
    await receiver.receive(aPush());

    expect(await receiver.receive(aPush({ secret: "guessed" }))).toMatchObject({ status: 401 });
  });

  test("is an event again if the webhook asked for it", async () => {
    const receiver = aReceiver();
    await receiver.receive(aPush());

    receiver.forget("msg_1");

    expect(await receiver.receive(aPush())).toMatchObject({ kind: "event" });
    expect(await receiver.receive(aPush())).toMatchObject({ kind: "repeated" });
  });

  test("is recognized among the latest, up to the configured number", async () => {
    const receiver = aReceiver({ secret: SECRET, remember: 2 });
    for (const id of ["a", "b", "c"]) await receiver.receive(aPush({ id }));

    const again: string[] = [];
    for (const id of ["c", "b", "a"]) again.push((await receiver.receive(aPush({ id }))).kind);

    expect(again).toEqual(["repeated", "repeated", "event"]);
  });

  test("cannot be recognized if the sender sends no ids", async () => {
    const receiver = aReceiver({ token: TOKEN });
    const push = aPush({
      headers: {
        "webhook-id": undefined,
        "webhook-timestamp": undefined,
        "webhook-signature": undefined,
      },
    });

    const first = await receiver.receive(push);
    const second = await receiver.receive(push);

    expect([first, second]).toMatchObject([{ kind: "event" }, { kind: "event" }]);
    expect(first).not.toEqual(second);
  });
});

describe("cannot be created", () => {
  test("without any credentials, because anyone could forge notifications", () => {
    for (const options of [{}, { secret: [] }]) {
      expect(() => createPushReceiver(options)).toThrow(
        "anyone could forge notifications: give the `secret` that the server signs with, or the `token` of the push config",
      );
    }
  });

  for (const [options, message] of [
    [{ token: "" }, "the token is empty; use the one of the push config"],
    [{ secret: "" }, "the signing secret is empty"],
    [{ secret: [SECRET, "whsec_?"] }, 'a signing secret that begins with "whsec_"'],
    [{ token: TOKEN, toleranceMs: -1 }, "toleranceMs is -1; it must be a number of at least 0"],
    [{ token: TOKEN, remember: Number.NaN }, "remember is NaN; it must be a number of at least 0"],
    [{ token: TOKEN, maxBytes: -5 }, "maxBytes is -5; it must be a number of at least 0"],
  ] as const) {
    test(`with ${JSON.stringify(options)}`, () => {
      expect(() => createPushReceiver(options)).toThrow(message);
    });
  }
});
