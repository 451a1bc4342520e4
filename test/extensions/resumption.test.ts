import { EXTENSIONS, OPERATIONS, SseDecoder } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { readAll, taskIdIn } from "../conformance/reading.ts";
import { refusalOf } from "../conformance/refusal.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import { restSpeaker, speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { asking } from "./a-listening-speaker.ts";
import { extensionAgent } from "./extension-agent.ts";

const { uri } = EXTENSIONS.resumption;
const server = useServer(extensionAgent(), { idempotency: "always" });

/** The metadata of a request that resumes after an event. */
function after(cursor: unknown) {
  return { [uri]: { after: cursor } };
}

describe.each(speakersTo(server))("a cursor in the metadata over $binding $version", (speaker) => {
  const { speaker: active } = asking(speaker, uri);

  verifies(["R42", "G2"], "of a message that is sent again returns what follows it", async () => {
    const message = aMessage("hello");
    const whole = await readAll(speaker.stream(aRequest(message)));
    const [, second] = whole;

    const rest = await readAll(active.stream(aRequest(message, { metadata: after(second?.id) })));

    expect(whole.length).toBeGreaterThan(3);
    expect(rest).toEqual(whole.slice(2));
  });

  verifies("G2", "is ignored while the extension is not active", async () => {
    const message = aMessage("hello");
    const whole = await readAll(speaker.stream(aRequest(message)));

    const again = await readAll(
      speaker.stream(aRequest(message, { metadata: after(whole[1]?.id) })),
    );

    expect(again).toEqual(whole);
  });

  verifies("G2", "has lower priority than that of a header", async () => {
    const message = aMessage("hello");
    const whole = await readAll(speaker.stream(aRequest(message)));
    const [, second, third] = whole;
    const request = aRequest(message, { metadata: after(second?.id) });

    const rest = await readAll(active.stream(request, { lastEventId: third?.id ?? "" }));

    expect(rest).toEqual(whole.slice(3));
  });

  verifies("v1-S32", "that is not a string is rejected with its path", async () => {
    for (const cursor of [42, "", null, {}]) {
      const stream = active.stream(aRequest("hello", { metadata: after(cursor) }));

      const refusal = await refusalOf(readAll(stream));

      expect(refusal.reason).toBe("InvalidParams");
      expect(refusal.message).toContain(`metadata[${JSON.stringify(uri)}].after`);
    }
  });
});

describe.each(["0.3", "1.0"] as const)("a subscription in %s", (version) => {
  verifies(["R42", "G2"], "resumes after the cursor in its metadata", async () => {
    const whole = await readAll(restSpeaker(server, version).stream(aRequest("hello")));
    const [, second] = whole;
    const id = taskIdIn(whole);
    const { method, methods03 } = OPERATIONS.subscribeToTask;
    const prefix = version === "1.0" ? "" : "/v1";

    const places = [
      {
        path: "/",
        body: {
          jsonrpc: "2.0",
          id: 1,
          method: version === "1.0" ? method : methods03[0],
          params: { id, metadata: after(second?.id) },
        },
      },
      { path: `${prefix}/tasks/${id}:subscribe`, body: { metadata: after(second?.id) } },
    ];
    for (const { path, body } of places) {
      expect(await idsOf(path, body)).toEqual(whole.slice(2).map((told) => told.id));
    }
  });

  verifies("G2", "with an unknown cursor starts over with the task", async () => {
    const whole = await readAll(restSpeaker(server, version).stream(aRequest("hello")));
    const path = `${version === "1.0" ? "" : "/v1"}/tasks/${taskIdIn(whole)}:subscribe`;

    const text = await textOf(path, { metadata: after("no-such-place") });

    expect(text).toContain('"resumption":"reset"');
  });
});

async function textOf(path: string, body: object): Promise<string> {
  const answer = await fetch(new URL(path, server.url), {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-extensions": uri },
    body: JSON.stringify(body),
  });
  return answer.text();
}

async function idsOf(path: string, body: object): Promise<readonly string[]> {
  return [...new SseDecoder().push(await textOf(path, body))].map(({ id }) => id);
}
