import { type Attack, type AttackFamily, fellIf } from "../attack.ts";
import type { Target } from "../target.ts";
import { Caller, aMessage, ann, annOf, mainInterface, taskIdIn } from "../wire/a2a.ts";
import { BUSY_MS, callText, messageText, post } from "../wire/json-rpc.ts";
import { exchange, rawRequest } from "../wire/raw.ts";

/** Bodies that no client sends; each must get an error in reasonable time, and never a 5xx. */
function badBodies(
  id: string,
  sentence: string,
  bodies: (target: Target) => readonly (string | Uint8Array<ArrayBuffer>)[],
): Attack {
  return {
    id,
    sentence,
    run: async (target) => {
      for (const body of bodies(target)) {
        const { status, text, ms } = await post(target, body);
        const shown = JSON.stringify(typeof body === "string" ? body.slice(0, 40) : "bytes");
        fellIf(status >= 500, `${status} for ${shown}: ${text.slice(0, 80)}`);
        fellIf(text.includes('"result"'), `${shown} was performed`);
        fellIf(ms > BUSY_MS, `${shown} took ${Math.round(ms)} ms`);
        fellIf(/-32603/.test(text), `${shown} was an internal error: ${text.slice(0, 100)}`);
      }
    },
  };
}

export const BODIES: AttackFamily = {
  title: "Bodies",
  attacks: [
    badBodies("body-not-json", "Send what is not JSON.", () => [
      "",
      "{",
      "nonsense",
      "\0",
      '{"jsonrpc":"2.0"',
      "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
      "null",
      "1",
      '"text"',
      "[]",
    ]),
    badBodies("body-encoding", "Send invalid UTF-8 and other encodings.", (target) => {
      const text = callText(target, "send", messageText(target, ""));
      const bytes = Buffer.from(text);
      return [
        new Uint8Array([...bytes.subarray(0, 60), 0xff, 0xfe, ...bytes.subarray(60)]),
        new Uint8Array([...bytes.subarray(0, 60), 0xc0, 0xaf, ...bytes.subarray(60)]),
        new Uint8Array([...bytes.subarray(0, 60), 0xed, 0xa0, 0x80, ...bytes.subarray(60)]),
        new Uint8Array(Buffer.from(text, "utf16le")),
      ];
    }),
    badBodies("body-types", "Give every field a wrong type.", (target) => {
      const isV1 = mainInterface(target).version === "1.0";
      const wrong = ["1", "[]", '{"a":1}', "true"];
      return [
        ...wrong.map((value) => callText(target, "send", `{"message":${value}}`)),
        ...wrong.map((value) => callText(target, "get", `{"id":${value}}`)).filter(() => isV1),
        ...wrong.map((value) => `{"jsonrpc":"2.0","id":1,"method":${value}}`),
      ];
    }),
    badBodies("body-batch", "Send ten thousand calls in one batch.", (target) => [
      `[${Array.from({ length: 10_000 }, () => callText(target, "get", '{"id":"x"}')).join(",")}]`,
    ]),
    {
      id: "body-numbers",
      sentence: "Send numbers that overflow, where counts and sizes are expected.",
      run: async (target) => {
        const id = await ann(target).startTask("hello");
        for (const number of ["1e400", "-1e400", "-1", "1.5", "9007199254740993", "1e308"]) {
          const params = `{"id":"${id}","historyLength":${number}}`;
          const { status, text } = await post(target, callText(target, "get", params));
          fellIf(
            status >= 500 || text.includes("-32603"),
            `${number} answered ${text.slice(0, 80)}`,
          );
        }
        const page = `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":1e9}}`;
        const { status, text } = await post(target, page);
        fellIf(status >= 500 || text.includes("-32603"), `pageSize answered ${text.slice(0, 80)}`);
      },
    },
    {
      id: "body-duplicate-keys",
      sentence: "Send every key twice, with different values.",
      run: async (target) => {
        const id = await ann(target).startTask("hello");
        const text = callText(target, "get", `{"id":"${id}","id":"unknown"}`);
        const doubled = text.replace('"method"', '"method":"nothing","method"');
        const first = await post(target, doubled);
        const second = await post(target, doubled);
        fellIf(first.status >= 500, `it answered ${first.status}`);
        fellIf(first.text.length !== second.text.length, "its answers differ");
      },
    },
    {
      id: "body-prototype",
      sentence: "Pollute the prototypes of objects.",
      run: async (target) => {
        const canary = `polluted-${crypto.randomUUID()}`;
        const poison = `"__proto__":{"${canary}":true,"isAuthenticated":true},"constructor":{"prototype":{"${canary}":true}}`;
        const bodies = [
          callText(target, "send", messageText(target, `,${poison},"metadata":{${poison}}`)),
          callText(target, "get", `{${poison},"id":"x"}`),
          `{${poison},"jsonrpc":"2.0","id":1,"method":"__proto__","params":{${poison}}}`,
          callText(target, "get", '{"id":"__proto__"}'),
          `{"jsonrpc":"2.0","id":1,"method":"constructor","params":{}}`,
        ];
        for (const body of bodies) {
          const { status } = await post(target, body);
          fellIf(status >= 500, `it answered ${status}`);
        }
        const { text } = await ann(target).send("Is anything different?");
        fellIf(text.includes(canary), "a later answer has the planted property");
      },
    },
    {
      id: "body-null-bytes",
      sentence: "Put null bytes and other control characters into ids and texts.",
      run: async (target) => {
        for (const odd of ["a\0b", "\0", "a\u001bb", "a\u007fb", "a\r\nb", "\u202eb"]) {
          const message = aMessage(`hi${odd}`, {
            contextId: `context-${odd}`,
            messageId: `m-${odd}-${crypto.randomUUID()}`,
          });
          const sent = await ann(target).send(message);
          const got = await ann(target).get(odd);
          fellIf(
            sent.http >= 500 || got.http >= 500,
            `${JSON.stringify(odd)} was an internal error`,
          );
          fellIf(
            /-32603/.test(sent.text + got.text),
            `${JSON.stringify(odd)}: ${got.text.slice(0, 80)}`,
          );
          fellIf(got.isResult, `${JSON.stringify(odd)} was found`);
        }
      },
    },
    {
      id: "body-surrogates",
      sentence: "Make two ids equal by lone surrogates, which storage replaces.",
      run: async (target) => {
        const { text } = await ann(target).send("hello");
        const base = /"contextId":"([^"]+)"/.exec(text)?.[1] ?? "c";
        const tasks = [];
        for (const lone of ["\\ud800", "\\udbff"]) {
          const more = `,"contextId":"${base}${lone}"`;
          const reply = await post(target, callText(target, "send", messageText(target, more)));
          fellIf(reply.status >= 500, `it answered ${reply.status}`);
          const context = /"contextId":"([^"]+)"/.exec(reply.text)?.[1];
          if (reply.text.includes('"result"') && context !== undefined) tasks.push(context);
        }
        fellIf(tasks.length === 2 && tasks[0] === tasks[1], "two different context ids became one");
      },
    },
    {
      id: "body-media-type",
      sentence: "Send a call as a media type that a web page can send without asking.",
      run: async (target) => {
        const types = [
          "text/plain",
          "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=x",
          "",
        ];
        const canary = `canary-${crypto.randomUUID()}`;
        for (const type of types) {
          const body = callText(
            target,
            "send",
            messageText(target, `,"metadata":{"a":"${canary}"}`),
          );
          const { text } = await post(target, body, { "content-type": type });
          fellIf(text.includes('"result"'), `${JSON.stringify(type)} was performed`);
        }
      },
    },
    {
      id: "body-traversal",
      sentence: "Put paths of files into ids and paths.",
      run: async (target) => {
        const paths = [
          "../../../../etc/passwd",
          "..%2f..%2f..%2fetc%2fpasswd",
          "/etc/passwd",
          "....//....//etc/passwd",
        ];
        for (const path of paths) {
          for (const at of target.interfaces) {
            const caller = new Caller(at, annOf(target));
            const got = await caller.get(path);
            fellIf(got.text.includes("root:x:0"), `${path} was returned`);
          }
          const headers = { ...annOf(target), connection: "close" };
          const received = await exchange(
            target.url,
            rawRequest(`GET /${path}`, target.url, { headers }),
          );
          fellIf(received.includes("root:x:0"), `GET /${path} returned the file`);
        }
      },
    },
    {
      id: "body-own-id",
      sentence: "Choose the id of a new task, to take one that another caller will get.",
      run: async (target) => {
        const taskId = crypto.randomUUID();
        const answer = await ann(target).send(aMessage("hi", { taskId }));
        fellIf(taskIdIn(answer) === taskId, "the caller chose the id of a task");
      },
    },
  ],
};
