import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, type AttackFamily, fellIf, needed } from "../attack.ts";
import type { Target } from "../target.ts";
import { ann, annOf, callersOf, mainInterface } from "../wire/a2a.ts";
import { openSocket, rawRequest, statusesIn } from "../wire/raw.ts";
import { flood } from "../wire/recovery.ts";

const SLOW_MS = 20_000;

/** Opens connections in groups, so that the backlog of the port is not what is tested. */
async function openMany(target: Target, count: number, first: string): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  for (let opened = 0; opened < count; opened += 100) {
    const group = await Promise.allSettled(
      Array.from({ length: Math.min(100, count - opened) }, () => openSocket(target.url)),
    );
    for (const one of group) {
      if (one.status === "rejected") continue;
      one.value.write(first);
      sockets.push(one.value);
    }
  }
  return sockets;
}

/** A client that begins something and never goes on. The server must hang up. */
function slow(id: string, sentence: string, first: (target: Target) => string): Attack {
  return {
    id,
    sentence,
    run: (target, { connections }) =>
      flood(target, async () => {
        const sockets = await openMany(target, Math.min(50, connections), first(target));
        const given = new AbortController();
        const { signal } = given;
        const closed = Promise.all(
          sockets.map(async (socket) => {
            socket.resume();
            if (!socket.destroyed) await once(socket, "close", { signal });
          }),
        ).then(() => true);
        const isOver = await Promise.race([closed, sleep(target.slowMs ?? SLOW_MS, false)]);
        given.abort();
        await closed.catch(() => undefined);
        for (const socket of sockets) socket.destroy();
        fellIf(!isOver, `the connections are open after ${(target.slowMs ?? SLOW_MS) / 1000} s`);
      }),
  };
}

/** How many answers each connection asks for. */
const ANSWERS = 10;
/** What the answers that nobody reads may take at the same time. */
const UNREAD_BYTES = 600 * 1024 * 1024;

const METHODS = {
  get: ["GetTask", "tasks/get"],
  cancel: ["CancelTask", "tasks/cancel"],
  subscribe: ["SubscribeToTask", "tasks/resubscribe"],
} as const;

/** A call of ann as bytes. */
function rpc(target: Target, name: keyof typeof METHODS, params: object): string {
  const { url, version } = mainInterface(target);
  const method = METHODS[name][version === "1.0" ? 0 : 1];
  return rawRequest(`POST ${new URL(url).pathname}`, url, {
    headers: { ...annOf(target), "content-type": "application/json", "a2a-version": version },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
}

/**
 * Sends the same request many times over one connection, until one is rejected with 429, and returns
 * the statuses.
 */
async function repeat(target: Target, request: string, times: number): Promise<readonly number[]> {
  const socket = await openSocket(target.url);
  let received = "";
  let last = performance.now();
  socket.on("data", (piece: Buffer) => {
    received += piece.toString("latin1");
    last = performance.now();
  });
  socket.write(request.repeat(times));
  const until = performance.now() + 60_000;
  while (statusesIn(received).length < times && performance.now() < until && !socket.destroyed) {
    if (performance.now() - last > 10_000 || statusesIn(received).includes(429)) break;
    await sleep(50);
  }
  socket.destroy();
  return statusesIn(received);
}

export const FLOODS: AttackFamily = {
  title: "Floods and slow clients",
  isExhausting: true,
  attacks: [
    slow(
      "slow-headers",
      "Send the headers of requests one after the other, and never the last.",
      (target) => `POST / HTTP/1.1\r\nHost: ${new URL(target.url).host}\r\nX-A: `,
    ),
    slow("slow-body", "Send a part of the body of requests, and never the rest.", (target) => {
      const { url } = mainInterface(target);
      const headers = {
        ...annOf(target),
        "content-type": "application/json",
        "content-length": "99",
      };
      return `${rawRequest(`POST ${new URL(url).pathname}`, url, { headers })}{`;
    }),
    slow("slow-silence", "Open connections and say nothing.", () => ""),
    {
      id: "slow-reader",
      sentence: "Ask for large answers over many connections, and do not read them.",
      run: async (target, { connections }) => {
        const text = needed(target.behaviors?.large, "large answers");
        const id = await ann(target).startTask(text);
        const before = await target.usage?.();
        const requests = rpc(target, "get", { id }).repeat(ANSWERS);
        await flood(target, async () => {
          const sockets = await openMany(target, Math.min(connections / 10, 200), requests);
          for (const socket of sockets) socket.pause();
          await sleep(1000);
          const during = await target.usage?.();
          for (const socket of sockets) socket.destroy();
          const bytes = (during?.memoryBytes ?? 0) - (before?.memoryBytes ?? 0);
          fellIf(bytes > UNREAD_BYTES, `unread answers take ${Math.round(bytes / 1e6)} MB`);
        });
      },
    },
    {
      id: "flood-connections",
      sentence: "Open connections and keep them idle, as many as the machine allows.",
      run: (target, { connections }) =>
        flood(target, async () => {
          const sockets = await openMany(target, connections, "");
          await sleep(100);
          for (const socket of sockets) socket.destroy();
        }),
    },
    {
      id: "flood-churn",
      sentence: "Open and close connections as fast as possible.",
      run: (target, { connections }) =>
        flood(target, async () => {
          for (let count = 0; count < connections * 2; count += 50) {
            const group = await Promise.allSettled(
              Array.from({ length: 50 }, () => openSocket(target.url)),
            );
            for (const one of group) if (one.status === "fulfilled") one.value.resetAndDestroy();
          }
        }),
    },
    {
      id: "flood-streams",
      sentence: "Subscribe to one task from many connections at once.",
      run: async (target) => {
        const id = await ann(target).startTask(needed(target.behaviors?.ask, "tasks that wait"));
        const request = rpc(target, "subscribe", { id });
        await flood(target, async () => {
          const sockets = await openMany(target, 100, request);
          await sleep(200);
          for (const socket of sockets) socket.destroy();
        });
      },
    },
    {
      id: "flood-requests",
      sentence: "Send more requests than one caller may, until other callers wait.",
      run: async (target) => {
        const { writes } = needed(target.rateLimits, "rate limits");
        const { bob } = callersOf(target);
        const statuses = await repeat(target, rpc(target, "cancel", { id: "unknown" }), 2 * writes);
        fellIf(!statuses.includes(429), `all of ${statuses.length} were accepted`);
        const { url, version } = mainInterface(target);
        const other = await fetch(url, {
          method: "POST",
          headers: { ...bob, "content-type": "application/json", "a2a-version": version },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "x" } }),
        });
        await other.body?.cancel();
        fellIf(other.status === 429, "another caller was locked out as well");
      },
    },
    {
      id: "flood-logins",
      sentence: "Guess tokens until one is right.",
      run: async (target) => {
        const { logins } = needed(target.rateLimits, "a limit of failed logins");
        const request = rawRequest("GET /tasks", target.url, {
          headers: { authorization: "Bearer guess", "a2a-version": "1.0" },
        });
        const statuses = await repeat(target, request, 2 * logins);
        fellIf(!statuses.includes(429), `${statuses.length} guesses were answered`);
      },
    },
  ],
};
