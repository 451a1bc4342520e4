import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { type Socket, connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type ServeOptions, type Server, serve } from "@convoke/server";
import { artifact, connect, defineAgent } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { aRequest } from "../conformance/requests.ts";
import { readAll } from "../conformance/reading.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { useServer } from "../wire/wire-server.ts";
import { verifies } from "../verifies.ts";

/** Each character needs two UTF-16 units, so that a cut in the wrong place is visible. */
const LARGE = `x${"😀".repeat(100_000)}`;
/** More than the buffers of a connection hold. */
const MUCH = LARGE.repeat(20);

const talker = defineAgent({
  name: "Talker",
  description: "Has much to say.",
  async *run({ text: asked, ask }) {
    if (asked === "much") yield artifact("much.txt", MUCH);
    if (asked === "large") yield artifact("large.txt", LARGE);
    if (asked === "ask") await ask("Go on?");
    return "done";
  },
});

interface LoggedServer {
  readonly server: Server;
  readonly log: readonly string[];
}

async function aServer(options: Partial<ServeOptions>): Promise<LoggedServer> {
  const logger = memoryLogger();
  const server = await serve(talker, {
    port: 0,
    host: "127.0.0.1",
    logger,
    openBackend: () => Promise.resolve(createMemoryBackend()),
    ...options,
  });
  onTestFinished(() => server.close());
  return { server, log: logger.lines };
}

/** A connection that sends something and then nothing more; it does not read either. */
async function aConnection({ port }: Server, sent: string): Promise<Socket> {
  const socket = connectTcp(port, "127.0.0.1");
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(sent);
  return socket;
}

/** Resolves when the connection is closed, or reset: both disconnect the client. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    socket.resume().once("close", () => resolve());
  });
}

const LIVELY = { timeout: 60_000 };

describe("a client that takes too long", LIVELY, () => {
  test.each([
    ["nothing", ""],
    ["a part of the headers", "POST / HTTP/1.1\r\nHost: localhost\r\n"],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    [
      "a part of the body",
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    ],
  ])("to continue %s is disconnected", async (_, sent) => {
    const { server } = await aServer({ timeouts: { headersMs: 200, bodyMs: 200 } });

    const sockets = await Promise.all(Array.from({ length: 20 }, () => aConnection(server, sent)));

    await Promise.all(sockets.map(closed));
  });

  test.each(["1.1", "2"])("to send its body gets an error over HTTP/%s", async (version) => {
    const { server } = await aServer({ timeouts: { bodyMs: 100 } });
    const headers = { "content-type": "application/json", "content-length": "99" };
    const session = connectHttp2(server.url);
    onTestFinished(() => session.destroy());

    const answer =
      version === "2"
        ? await text(session.request({ ":method": "POST", ...headers }))
        : await text(
            await aConnection(
              server,
              `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
            ),
          );

    expect(answer).toContain("timeouts.bodyMs");
  });
});

describe("connections", LIVELY, () => {
  test.each(["connections", "addressConnections"] as const)(
    "beyond the limit %s are closed, and the log names the limit",
    async (limit) => {
      const { server, log } = await aServer({ limits: { [limit]: 2 } });
      const first = await aConnection(server, "");
      await aConnection(server, "");

      const third = await aConnection(server, "");
      await closed(third);

      expect(log.join("")).toContain(`"limit":"${limit}"`);
      first.destroy();
      await expect
        .poll(() =>
          fetch(`${server.url}tasks/x`).then(
            ({ status }) => status,
            () => 0,
          ),
        )
        .toBe(404);
    },
  );
});

const SUBSCRIBE = (id: string): string => {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tasks/resubscribe",
    params: { id },
  });
  return post(body);
};
const GET = (id: string): string =>
  post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id } }));

function post(body: string): string {
  return `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

describe("a client that does not read", LIVELY, () => {
  test.each([
    ["a stream", SUBSCRIBE],
    ["a response", GET],
  ])("%s is disconnected, and the log names the limit", async (_, asking) => {
    const { server, log } = await aServer({ timeouts: { writeMs: 200 } });
    const { task } = await (await connect(server.url)).send("much");

    const socket = await aConnection(server, asking(task!.id));
    socket.pause();

    await expect.poll(() => log.join(""), { timeout: 30_000 }).toContain("timeouts.writeMs");
  });

  verifies("G14", "leaves memory for others: large responses wait for the limit", async () => {
    const { server } = await aServer({ limits: { unreadBytes: 10_000_000 } });
    const remote = await connect(server.url);
    const { task } = await remote.send("much");
    const unread = [
      await aConnection(server, GET(task!.id)),
      await aConnection(server, GET(task!.id)),
    ];
    for (const socket of unread) socket.pause();

    await expect
      .poll(() => remote.get(task!.id).then(String, ({ message }: Error) => message), {
        timeout: 30_000,
      })
      .toContain("unreadBytes");
    for (const socket of unread) socket.destroy();
    await expect
      .poll(() => remote.get(task!.id).then(({ id }) => id, String), { timeout: 30_000 })
      .toBe(task!.id);
  });
});

verifies("G14", "an owner cannot have more streams than ownerStreams", async () => {
  const { server } = await aServer({ limits: { ownerStreams: 1 } });
  const remote = await connect(server.url);
  const { task } = await remote.send("ask");
  const socket = await aConnection(server, SUBSCRIBE(task!.id));
  await once(socket, "data");

  const [event] = await once(await aConnection(server, SUBSCRIBE(task!.id)), "data");

  expect(String(event)).toContain("ownerStreams");
});

describe("an event that is larger than a single write", () => {
  const server = useServer(talker);

  test.each(speakersTo(server))(
    "arrives complete over $binding $version",
    async (speaker) => {
      const events = await readAll(speaker.stream(aRequest("large")));

      const text = JSON.stringify(events);
      expect(text.includes(LARGE)).toBe(true);
      expect(text).toContain("completed");
    },
    60_000,
  );
});
