import { gzipSync } from "node:zlib";
import { type AttackFamily, fellIf } from "../attack.ts";
import { annOf, mainInterface } from "../wire/a2a.ts";
import { BUSY_MS, callText, messageText, post } from "../wire/json-rpc.ts";
import { exchange, openSocket, rawRequest, statusesIn } from "../wire/raw.ts";

function nested(depth: number, open: string, close: string): string {
  return open.repeat(depth) + close.repeat(depth);
}

/** The size of the body that a server must not need to read. */
const HUGE = 200 * 1024 * 1024;

export const SIZES: AttackFamily = {
  title: "Large bodies",
  attacks: [
    {
      id: "body-deep",
      sentence: "Send JSON that is nested a hundred thousand levels deep.",
      run: async (target) => {
        const depth = 100_000;
        const bodies = [
          nested(depth, "[", "]"),
          callText(target, "get", nested(depth, '{"a":', "}").replace("}", "1}")),
          callText(
            target,
            "send",
            messageText(target, `,"metadata":{"a":${nested(depth, "[", "]")}}`),
          ),
        ];
        for (const body of bodies) {
          const { status, ms } = await post(target, body);
          fellIf(status >= 500, `it answered ${status}`);
          fellIf(ms > BUSY_MS, `it took ${Math.round(ms)} ms`);
        }
      },
    },
    {
      id: "body-long-ids",
      sentence: "Send ids and names of a megabyte.",
      run: async (target) => {
        const long = "x".repeat(1_000_000);
        const bodies = [
          callText(target, "get", `{"id":"${long}"}`),
          `{"jsonrpc":"2.0","id":1,"method":"${long}","params":{}}`,
          callText(target, "send", messageText(target, `,"contextId":"${long}"`)),
          callText(target, "send", messageText(target, `,"taskId":"${long}"`)),
        ];
        for (const body of bodies) {
          const { status, text } = await post(target, body);
          fellIf(status >= 500, `it answered ${status}`);
          fellIf(text.length > 100_000, `an answer of ${text.length} bytes repeats the id`);
        }
        const log = (await target.log?.()) ?? "";
        fellIf(log.includes("x".repeat(100_000)), "the log has all of it");
      },
    },
    {
      id: "body-announced-huge",
      sentence: "Announce a body of 200 MB.",
      run: async (target) => {
        const { url } = mainInterface(target);
        const headers = {
          ...annOf(target),
          "content-type": "application/json",
          "content-length": String(HUGE),
        };
        const head = rawRequest(`POST ${new URL(url).pathname}`, url, { headers });
        const [status] = statusesIn(await exchange(url, `${head}{"a":`));
        fellIf(
          status !== 413,
          status === undefined ? "it waited for all of it" : `it answered ${status}`,
        );
      },
    },
    {
      id: "body-endless",
      sentence: "Send a chunked body that never ends.",
      run: async (target) => {
        const { url } = mainInterface(target);
        const headers = {
          ...annOf(target),
          "content-type": "application/json",
          "transfer-encoding": "chunked",
        };
        const socket = await openSocket(url);
        let received = "";
        socket.on("data", (piece: Buffer) => (received += piece.toString("latin1")));
        socket.write(rawRequest(`POST ${new URL(url).pathname}`, url, { headers }));
        const size = 256 * 1024;
        const chunk = Buffer.from(`${size.toString(16)}\r\n${" ".repeat(size)}\r\n`);
        let sent = 0;
        while (
          sent < HUGE &&
          !socket.destroyed &&
          socket.writable &&
          statusesIn(received).length === 0
        ) {
          if (!socket.write(chunk)) await new Promise((resolve) => setTimeout(resolve, 5));
          sent += size;
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
        socket.destroy();
        fellIf(
          sent >= HUGE && statusesIn(received).length === 0,
          "it read 200 MB without an answer",
        );
      },
    },
    {
      id: "body-bomb",
      sentence: "Send a compressed body that expands to a hundred times its size.",
      run: async (target) => {
        const text = callText(
          target,
          "send",
          messageText(target, `,"metadata":{"a":"${"a".repeat(40_000_000)}"}`),
        );
        for (const encoding of ["gzip", "deflate", "br", "zstd"]) {
          const bomb = new Uint8Array(gzipSync(text, { level: 1 }));
          const { status, text: reply } = await post(target, bomb, {
            "content-encoding": encoding,
          });
          fellIf(reply.includes('"result"'), "the body was expanded and accepted");
          fellIf(status >= 500, `it answered ${status}`);
        }
      },
    },
    {
      id: "body-many-parts",
      sentence: "Send a message of a hundred thousand parts.",
      run: async (target) => {
        const { version } = mainInterface(target);
        const part = version === "1.0" ? '{"text":"x"}' : '{"kind":"text","text":"x"}';
        const parts = `[${Array.from({ length: 100_000 }, () => part).join(",")}]`;
        const role = version === "1.0" ? "ROLE_USER" : "user";
        const params = `{"message":{"messageId":"m","role":"${role}","parts":${parts}}}`;
        const { status, text, ms } = await post(target, callText(target, "send", params));
        fellIf(text.includes('"result"'), "it was accepted");
        fellIf(status >= 500 || ms > BUSY_MS, `it answered ${status} after ${Math.round(ms)} ms`);
      },
    },
    {
      id: "body-many-keys",
      sentence: "Send metadata with two hundred thousand keys.",
      run: async (target) => {
        const keys = Array.from({ length: 200_000 }, (_, place) => `"k${place}":0`).join(",");
        const text = callText(target, "send", messageText(target, `,"metadata":{${keys}}`));
        const { status, ms } = await post(target, text);
        fellIf(status >= 500 || ms > BUSY_MS, `it answered ${status} after ${Math.round(ms)} ms`);
      },
    },
    {
      id: "body-regular-expressions",
      sentence: "Send headers and texts that make careless regular expressions slow.",
      run: async (target) => {
        const slow = `${"a".repeat(7000)}!`;
        const spaces = `application/json${" ".repeat(6000)};x`;
        const replies = await Promise.all([
          post(target, callText(target, "get", `{"id":"${slow}"}`), { "content-type": spaces }),
          post(target, callText(target, "get", '{"id":"x"}'), {
            "a2a-extensions": ",".repeat(6000),
          }),
          post(target, callText(target, "get", '{"id":"x"}'), { "a2a-version": "1".repeat(6000) }),
          post(target, callText(target, "get", '{"id":"x"}'), {
            traceparent: `00-${"0".repeat(6000)}`,
          }),
          post(target, callText(target, "get", '{"id":"x"}'), { accept: "a/b;q=0.1,".repeat(600) }),
        ]);
        const slowest = Math.max(...replies.map(({ ms }) => ms));
        fellIf(slowest > BUSY_MS, `one took ${Math.round(slowest)} ms`);
      },
    },
  ],
};
