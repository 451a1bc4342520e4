import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { refusalOf } from "./refusal.ts";
import { aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";
import { speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent({ inputModes: ["text/plain"] }), { push: false });

interface Spelling {
  readonly reason: string;
  /** The reason as 1.0 writes it. */
  readonly spelled: string;
  readonly code: number;
  readonly http: number;
  readonly grpc: number;
  /** Overrides for 0.3, which has no table. */
  readonly grpc03?: number;
  readonly status: string;
  readonly provoke: (speaker: Speaker) => Promise<unknown>;
}

/** How each error is represented (0.3 §8, 1.0 §5.4), and a request that causes it. */
const SPELLINGS: readonly Spelling[] = [
  {
    reason: "TaskNotFound",
    spelled: "TASK_NOT_FOUND",
    code: -32001,
    http: 404,
    grpc: 5,
    status: "NOT_FOUND",
    provoke: (speaker) => speaker.get({ taskId: randomUUID() }),
  },
  {
    reason: "TaskNotCancelable",
    spelled: "TASK_NOT_CANCELABLE",
    code: -32002,
    http: 400,
    grpc: 9,
    status: "FAILED_PRECONDITION",
    provoke: async (speaker) => speaker.cancel({ taskId: await anEndedTask(speaker) }),
  },
  {
    reason: "PushNotificationNotSupported",
    spelled: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    code: -32003,
    http: 400,
    grpc: 9,
    grpc03: 12,
    status: "FAILED_PRECONDITION",
    provoke: async (speaker) => speaker.listPush({ taskId: await anEndedTask(speaker) }),
  },
  {
    reason: "UnsupportedOperation",
    spelled: "UNSUPPORTED_OPERATION",
    code: -32004,
    http: 400,
    grpc: 9,
    grpc03: 12,
    status: "FAILED_PRECONDITION",
    provoke: async (speaker) => {
      const { message } = aRequest("more");
      return speaker.send(aRequest({ ...message, taskId: await anEndedTask(speaker) }));
    },
  },
  {
    reason: "ContentTypeNotSupported",
    spelled: "CONTENT_TYPE_NOT_SUPPORTED",
    code: -32005,
    http: 400,
    grpc: 3,
    status: "INVALID_ARGUMENT",
    provoke: (speaker) => {
      const file = { mimeType: "image/png", bytes: "aGk=" };
      const { message } = aRequest("");
      return speaker.send(aRequest({ ...message, parts: [{ kind: "file", file }] }));
    },
  },
  {
    reason: "InvalidParams",
    spelled: "INVALID_PARAMS",
    code: -32602,
    http: 400,
    grpc: 3,
    status: "INVALID_ARGUMENT",
    provoke: (speaker) => speaker.call("sendMessage", {}),
  },
];

describe.each(speakersTo(server))("an error over $binding $version", (speaker) => {
  for (const { provoke, ...spelling } of SPELLINGS) {
    verifies(
      ["v1-S10", "v1-S49", "v1-S50", "v1-S51", "v1-S53", "v03-S8", "v03-S9", "v03-S11"],
      `is represented as its binding defines ${spelling.reason}`,
      async () => {
        const refusal = await refusalOf(provoke(speaker));

        expect(refusal.message).not.toBe("");
        expect(refusal).toMatchObject(expected(speaker, spelling));
      },
    );
  }
});

/** The expected fields of an error on a binding. */
function expected({ binding, version }: Speaker, spelling: Omit<Spelling, "provoke">): object {
  const { reason, spelled, code, http, grpc, grpc03 = grpc, status } = spelling;
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: spelled,
    domain: "a2a-protocol.org",
  };
  const details = version === "1.0" ? { details: { 0: info } } : {};
  switch (binding) {
    case "jsonrpc":
      return { reason, ...details, code, http: 200 };
    case "rest":
      return { reason, ...details, http, ...(version === "1.0" ? { status } : { code }) };
    case "grpc":
      return { reason, ...details, grpc: version === "1.0" ? grpc : grpc03 };
    default:
      return binding satisfies never;
  }
}

async function anEndedTask(speaker: Speaker): Promise<string> {
  return (await speaker.sendTask(aRequest("hello"))).id;
}
