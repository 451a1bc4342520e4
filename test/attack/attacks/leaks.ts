import { setTimeout as sleep } from "node:timers/promises";
import { type AttackFamily, fellIf, needed } from "../attack.ts";
import type { Target } from "../target.ts";
import { Caller, aCanary, aMessage, ann, annOf, callersOf, mainInterface } from "../wire/a2a.ts";
import { exchange, rawRequest } from "../wire/raw.ts";

/** How long the first attempt to deliver a notification may take. */
const DELIVERY_MS = 1500;

/** The log, after the server has had the time to write it. */
async function logOf(target: Target, waitMs = 150): Promise<string> {
  const log = needed(target.log, "its log");
  await sleep(waitMs);
  return log();
}

/** Posts to JSON-RPC with any headers. */
function post(
  target: Target,
  headers: Readonly<Record<string, string>>,
  call: object,
): Promise<Response> {
  const { url, version } = mainInterface(target);
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": version, ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...call }),
  });
}

/** Requests that fail in many ways, so that an error page could show something. */
async function errorsOf(target: Target): Promise<readonly string[]> {
  const { url } = mainInterface(target);
  const path = new URL(url).pathname;
  const json = { ...annOf(target), "content-type": "application/json", connection: "close" };
  const posts = [
    { headers: json, body: "{" },
    { headers: json, body: '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}' },
    { headers: { ...json, "content-type": "application/json; charset=evil" }, body: "{}" },
    { headers: { ...json, "content-encoding": "gzip" }, body: "not gzip" },
    { headers: { ...json, "content-type": "multipart/form-data" }, body: "x" },
  ];
  const lines = [
    "GET /%",
    "GET /%ff",
    "GET /tasks/%E0%A4%A",
    "GET /<script>alert(1)</script>",
    "DELETE /",
    "PUT /tasks",
  ];
  return Promise.all([
    ...posts.map((one) => exchange(url, rawRequest(`POST ${path}`, url, one))),
    ...lines.map((line) => exchange(target.url, rawRequest(line, target.url, { headers: json }))),
  ]);
}

/** Whether a terminal may act on a character. Line ends and tabs are part of every log. */
function isControl(code: number): boolean {
  if (code === 0x09 || code === 0x0a || code === 0x0d) return false;
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code === 0x202e;
}

const ESCAPES = "\u001b[2J\u001b]0;owned\u0007\u009b31m\u0000\u202e";

export const LEAKS: AttackFamily = {
  title: "Logs, errors and secrets",
  attacks: [
    {
      id: "log-lines",
      sentence: "Forge lines of the log with line breaks in messages, methods, paths and headers.",
      run: async (target) => {
        const forged = `{"level":"info","message":"${aCanary()}"}`;
        const text = `x\n${forged}\r\n${forged}\u2028${forged}`;
        await ann(target).send(text);
        await post(target, annOf(target), { method: text, params: {} });
        await ann(target).get(text);
        const path = `GET /${encodeURIComponent(text)}`;
        const headers = {
          ...annOf(target),
          connection: "close",
          "user-agent": "a\\nb",
          "x-request-id": "a%0ab",
        };
        await exchange(target.url, rawRequest(path, target.url, { headers }));
        const lines = (await logOf(target)).split("\n");
        fellIf(
          lines.some((line) => line.startsWith(forged)),
          "the log has a forged line",
        );
      },
    },
    {
      id: "log-escapes",
      sentence: "Put terminal escapes into the log, by messages, methods, ids, paths and headers.",
      run: async (target) => {
        const text = `x${ESCAPES}`;
        await ann(target).send(text);
        await post(target, annOf(target), { method: text, params: {} });
        await ann(target).get(text);
        await exchange(
          target.url,
          rawRequest(`GET /${encodeURIComponent(text)}`, target.url, {
            headers: { ...annOf(target), host: "evil\u009bexample", connection: "close" },
          }),
        );
        await exchange(
          target.url,
          rawRequest("POST /", target.url, {
            headers: {
              authorization: `Bearer \u009b31m`,
              origin: "http://\u009bevil",
              connection: "close",
            },
          }),
        );
        const log = await logOf(target);
        const raw = Array.from(log, (character) => character.charCodeAt(0)).find(isControl);
        fellIf(raw !== undefined, `the log has the character ${raw?.toString(16)}`);
      },
    },
    {
      id: "log-credentials",
      sentence: "Make the log contain tokens and keys, valid or not.",
      run: async (target) => {
        const secret = aCanary();
        const headers = { authorization: `Bearer ${secret}`, "x-api-key": secret, cookie: secret };
        await (await post(target, headers, { method: "GetTask", params: { id: "x" } })).text();
        for (const at of target.interfaces) await new Caller(at, headers).get("x");
        const query = rawRequest(`GET /tasks?access_token=${secret}`, target.url, {
          headers: { connection: "close" },
        });
        await exchange(target.url, query);
        const log = await logOf(target);
        fellIf(log.includes(secret), "the log has a rejected token");
        const valid = annOf(target)["authorization"]?.split(" ")[1];
        fellIf(valid !== undefined && log.includes(valid), "the log has a valid token");
      },
    },
    {
      id: "log-messages",
      sentence: "Make the log contain what callers and agents say.",
      run: async (target) => {
        const secret = aCanary();
        await ann(target).send(aMessage(secret, { metadata: { note: secret } }));
        await (
          await post(target, annOf(target), { method: "SendMessage", params: { message: secret } })
        ).text();
        await (await post(target, annOf(target), { method: "nothing", params: { secret } })).text();
        fellIf((await logOf(target)).includes(secret), "the log has the text of a message");
      },
    },
    {
      id: "log-push-secrets",
      sentence: "Make the log contain the credentials of a push receiver that cannot be reached.",
      run: async (target) => {
        const secret = aCanary();
        const url = `https://${secret}.invalid/${secret}?key=${secret}`;
        const authentication = { schemes: ["Bearer"], credentials: secret };
        await ann(target).send(aMessage("push"), {
          pushConfig: { url, token: secret, authentication },
        });
        const log = (await logOf(target, DELIVERY_MS))
          .replaceAll(`https://${secret}.invalid`, "")
          .replaceAll(`${secret}.invalid`, "");
        fellIf(log.includes(secret), "the log has the credentials or the query of the receiver");
      },
    },
    {
      id: "error-credentials",
      sentence: "Make an error repeat the credentials of its request.",
      run: async (target) => {
        callersOf(target);
        const secret = aCanary();
        const headers = { authorization: `Bearer ${secret}`, "x-api-key": secret };
        for (const at of target.interfaces) {
          const { text } = await new Caller(at, headers).get("x");
          fellIf(text.includes(secret), `${at.binding} ${at.version} repeats them`);
        }
      },
    },
    {
      id: "error-internals",
      sentence: "Make an error show stack traces, file names or modules of the server.",
      run: async (target) => {
        for (const received of await errorsOf(target)) {
          const shown =
            /node_modules|node:internal|\n? {4}at |\/(?:home|work|usr|app)\/|SQLITE/.exec(received);
          fellIf(
            shown !== null,
            `an error shows ${JSON.stringify(received.slice(shown?.index, (shown?.index ?? 0) + 60))}`,
          );
        }
      },
    },
    {
      id: "error-html",
      sentence: "Make an error a page that a browser would show as HTML.",
      run: async (target) => {
        for (const received of await errorsOf(target)) {
          const isHtml = /content-type: *text\/html/i.test(received);
          fellIf(isHtml, `an error is a page: ${received.slice(0, 40).replaceAll(/\s+/g, " ")}`);
        }
      },
    },
    {
      id: "header-injection",
      sentence: "Make the response have headers from the request.",
      run: async (target) => {
        const evil = "a%0d%0aset-cookie:%20evil=1";
        const lines = [
          `GET /${evil}`,
          `GET /.well-known/agent-card.json?${evil}`,
          `GET /tasks/${evil}`,
        ];
        const headers = {
          ...annOf(target),
          "x-request-id": evil,
          "a2a-extensions": "a\tset-cookie: evil=1",
          "x-forwarded-host": evil,
          connection: "close",
        };
        for (const line of lines) {
          const received = await exchange(target.url, rawRequest(line, target.url, { headers }));
          fellIf(/^set-cookie:/im.test(received), `${line} set a header`);
        }
      },
    },
    {
      id: "stream-injection",
      sentence: "Break out of an event of a stream with line breaks in the text.",
      run: async (target) => {
        const secret = aCanary();
        const text = `a\n\ndata: {"${secret}":1}\n\nevent: evil\rdata: x\r\n\r\nid: 99\u2028\u2029`;
        const { version } = mainInterface(target);
        const isV1 = version === "1.0";
        const message = {
          messageId: crypto.randomUUID(),
          role: isV1 ? "ROLE_USER" : "user",
          parts: [isV1 ? { text } : { kind: "text", text }],
        };
        const method = isV1 ? "SendStreamingMessage" : "message/stream";
        const received = await (
          await post(target, annOf(target), { method, params: { message } })
        ).text();
        for (const line of received.split(/\r\n|\r|\n/)) {
          const isFrame =
            line === "" || /^(?:id|event|retry|:)/.test(line) || line.startsWith("data: {");
          fellIf(
            !isFrame || line.startsWith(`data: {"${secret}`) || line === "event: evil",
            `a line of its own: ${line.slice(0, 60)}`,
          );
        }
      },
    },
    {
      id: "secret-stored",
      sentence:
        "Find the answer to a sensitive question in what the server logs, stores and shows.",
      run: async (target) => {
        const command = needed(target.behaviors?.secret, "sensitive questions");
        const secret = aCanary();
        const caller = ann(target);
        const taskId = await caller.startTask(command);
        const answered = await caller.send(aMessage(secret, { taskId }), { historyLength: 50 });
        const { text } = await caller.get(taskId);
        fellIf(answered.text.includes(secret) || text.includes(secret), "the task shows it");
        fellIf((await logOf(target)).includes(secret), "the log has it");
        fellIf((await target.stored?.())?.includes(secret) === true, "the storage has it");
      },
    },
    {
      id: "secret-metrics",
      sentence: "Find texts and ids of callers in the metrics.",
      run: async (target) => {
        const secret = aCanary();
        await ann(target).send(secret);
        await (await post(target, annOf(target), { method: secret, params: {} })).text();
        await exchange(
          target.url,
          rawRequest(`GET /${secret}`, target.url, {
            headers: { ...annOf(target), connection: "close" },
          }),
        );
        const response = await fetch(new URL("metrics", target.url), { headers: annOf(target) });
        const text = await response.text();
        fellIf(text.includes(secret), "the metrics have it as a label");
      },
    },
    {
      id: "secret-url",
      sentence: "Find the password of the server's own address, or its file system, on the card.",
      run: async (target) => {
        const received = await exchange(
          target.url,
          rawRequest("GET /.well-known/agent-card.json", target.url, {
            headers: { connection: "close" },
          }),
        );
        fellIf(
          /\/home\/|\/usr\/|node_modules|BEGIN [A-Z ]*PRIVATE/.test(received),
          "the card has it",
        );
      },
    },
  ],
};
