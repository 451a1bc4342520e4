import { connect } from "convoke";
import { get } from "node:http";
import { describe, expect, test } from "vitest";
import { Reading } from "../interop/reading.ts";
import { SDKS_V1 } from "../interop/sdk-v1.ts";
import { asTask, chunksOf, collect, countTo, textOfChunks } from "../interop/story.ts";
import { embedded } from "./embedded.ts";
import { HOSTS } from "./hosts.ts";

const SDKS = SDKS_V1.filter(({ transport }) => transport !== "GRPC");

describe.each(HOSTS)("an agent in $name", (host) => {
  test("is found at its path, and does not declare gRPC", async () => {
    const url = await embedded(host);

    const { card } = await connect(url);

    const interfaces = card["supportedInterfaces"] as { url: string; protocolBinding: string }[];
    expect(new Set(interfaces.map((each) => `${each.url}/`))).toEqual(new Set([url]));
    expect(interfaces.map((each) => each.protocolBinding)).not.toContain("GRPC");
  });

  test("streams to our client, chunk by chunk, and resumes after a cursor", async () => {
    const agent = await connect(await embedded(host));
    const stream = agent.stream("slow 40");
    let taskId = "";

    for await (const event of stream) {
      if (event.kind === "task") taskId = event.id;
      if (event.kind === "artifact-update") break;
    }
    const { lastEventId } = stream;
    const rest: string[] = [];
    for await (const event of agent.subscribe(taskId, { lastEventId })) {
      if (event.kind !== "artifact-update") continue;
      for (const part of event.artifact.parts) if (part.kind === "text") rest.push(part.text);
    }

    expect(`1 ${rest.join("")}`).toBe(countTo(40));
    expect(rest).toHaveLength(39);
  });

  test.each(SDKS)("streams to $name", async (sdk) => {
    const client = await sdk.discover(await embedded(host));

    const seen = await collect(client.stream("slow 5"));

    expect(textOfChunks(seen)).toBe(countTo(5));
    expect(chunksOf(seen)).toHaveLength(5);
  });

  test("releases the resources of a client that disconnects in the middle", async () => {
    const url = await embedded(host, { limits: { streams: 2 } });
    const client = await SDKS[0]!.discover(url);
    const leave = new AbortController();
    const first = new Reading(client.stream("slow 500", { signal: leave.signal }));
    const { taskId } = asTask((await first.until((seen) => chunksOf(seen).length > 1))[0]);
    const second = new Reading(client.subscribe(taskId, leave.signal));
    await second.until((seen) => seen.length > 0);
    await expect(collect(client.subscribe(taskId))).rejects.toThrow("streams");

    leave.abort();

    const again = new AbortController();
    await expect
      .poll(
        () => new Reading(client.subscribe(taskId, again.signal)).until((seen) => seen.length > 0),
        {
          timeout: 20_000,
        },
      )
      .toHaveLength(1);
    again.abort();
    await client.cancel(taskId);
  });

  test("rejects a body beyond the limit with its own error", async () => {
    const url = await embedded(host, { limits: { bodyBytes: 1000 } });

    const answer = await say(url, "x".repeat(2000));

    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({
      error: { message: expect.stringContaining("larger than 1000 bytes") as string },
    });
  });

  test("requires the token, and serves its card without one", async () => {
    const url = await embedded(host, { token: "s3cret" });

    const refused = await say(url, "hello");
    const agent = await connect(url, { token: "s3cret" });

    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="convoke"');
    expect((await agent.send("hello")).task?.status.state).toBe("completed");
  });

  test("rejects a foreign host, and a page of another origin", async () => {
    const url = await embedded(host);

    const page = await say(url, "hello", { origin: "https://evil.example" });

    expect(await statusBy(url, "evil.example")).toBe(403);
    expect(await statusBy(url, new URL(url).host)).toBe(200);
    expect(page.status).toBe(403);
  });

  test("gives every request an id", async () => {
    const url = await embedded(host);

    const ids = [await say(url, "hello"), await say(url, "hello")].map(({ headers }) =>
      headers.get("x-request-id"),
    );

    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain(null);
  });
});

function say(url: string, text: string, headers: Record<string, string> = {}): Promise<Response> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }),
  });
}

/** The status of the card for a request with the given host; `fetch` would set its own. */
function statusBy(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(`${url}.well-known/agent-card.json`, { headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on("error", reject);
  });
}
