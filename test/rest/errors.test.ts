import { afterEach, describe, expect, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { verifies } from "../verifies.ts";
import { expectHealthy } from "../wire/healthy.ts";
import { useServer } from "../wire/wire-server.ts";
import { RestClient, faultOf } from "./rest-client.ts";
import { OFFICIAL, PROTO_03, REST_DIALECTS, V1 } from "./rest-dialect.ts";

const server = useServer(demoAgent, { limits: { bodyBytes: 20_000 } });
const strict = useServer(demoAgent, { strict: true });
const [v03, v1] = OFFICIAL.map((dialect) => new RestClient(server, dialect)) as [
  RestClient,
  RestClient,
];

afterEach(() => expectHealthy(server));

describe("an error", () => {
  verifies("R29", "has the code of JSON-RPC and the status of HTTP in 0.3", async () => {
    const answer = await v03.get("tasks/nobody");

    const error = {
      code: -32001,
      message: expect.stringMatching(/^Task not found: /) as string,
      data: expect.objectContaining({ reason: expect.any(String) as string }) as object,
    };
    expect(answer.status).toBe(404);
    expect(answer.headers.get("content-type")).toBe("application/json");
    // Some clients read the bare error, others the same in an envelope.
    expect(JSON.parse(answer.text)).toEqual({ ...error, error });
  });

  test("is only the bare one on a strict 0.3 server", async () => {
    const answer = await new RestClient(strict, PROTO_03).get("tasks/nobody");

    expect(Object.keys(JSON.parse(answer.text) as object)).toEqual(["code", "message", "data"]);
  });

  verifies("R29", "is a google.rpc.Status in 1.0, with an ErrorInfo", async () => {
    const answer = await v1.get("tasks/nobody");

    expect(answer.status).toBe(404);
    expect(answer.headers.get("content-type")).toBe("application/a2a+json");
    expect(JSON.parse(answer.text)).toEqual({
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: expect.stringMatching(/^Task not found: /),
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "TASK_NOT_FOUND",
            domain: "a2a-protocol.org",
            metadata: expect.any(Object),
          },
        ],
      },
    });
  });

  verifies("R29", "names the invalid field in 1.0 with a BadRequest", async () => {
    const answer = await v1.post("message:send", { message: { role: "ROLE_USER", parts: [] } });

    expect(JSON.parse(answer.text)).toMatchObject({
      error: {
        code: 400,
        status: "INVALID_ARGUMENT",
        details: [
          { reason: "INVALID_PARAMS" },
          {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            fieldViolations: [{ field: "message.messageId", description: expect.any(String) }],
          },
        ],
      },
    });
  });

  for (const client of [v03, v1]) {
    const isV1 = client.dialect === V1;

    verifies("R29", `has the status of its kind (${client.dialect.name})`, async () => {
      const done = await client.sendTask("hello");

      const cancel = await client.post(`tasks/${done.id}:cancel`, undefined);
      const again = await client.send("more", { message: { taskId: done.id } });
      const unknown = await client.send("more", { message: { taskId: "nobody" } });

      expect(faultOf(cancel)).toMatchObject({
        status: 400,
        kind: isV1 ? "TASK_NOT_CANCELABLE" : -32002,
      });
      expect(faultOf(again)).toMatchObject({
        status: 400,
        kind: isV1 ? "UNSUPPORTED_OPERATION" : -32004,
      });
      expect(faultOf(unknown)).toMatchObject({
        status: 404,
        kind: isV1 ? "TASK_NOT_FOUND" : -32001,
      });
    });
  }
});

describe.each(OFFICIAL)("a body in $name", (dialect) => {
  const client = new RestClient(server, dialect);
  const isV1 = dialect === V1;

  for (const [what, body, kind] of [
    ["that is not JSON", "{", isV1 ? "JSON_PARSE" : -32700],
    ["that is a list", [], isV1 ? "INVALID_REQUEST" : -32600],
    ["that is null", "null", isV1 ? "INVALID_REQUEST" : -32600],
    ["that is a text", '"hello"', isV1 ? "INVALID_REQUEST" : -32600],
    ["without a message", {}, isV1 ? "INVALID_PARAMS" : -32602],
  ] as const) {
    test(`${what} is rejected with 400`, async () => {
      for (const path of ["message:send", "message:stream"]) {
        expect(faultOf(await client.post(path, body))).toMatchObject({ status: 400, kind });
      }
    });
  }

  test("that is absent is equivalent to an empty one", async () => {
    const answer = await client.ask("message:send", { method: "POST" });

    expect(faultOf(answer)).toMatchObject({ status: 400, field: "message" });
  });

  test("that is too large is 413", async () => {
    const answer = await client.send("x".repeat(30_000));

    expect(faultOf(answer)).toMatchObject({
      status: 413,
      kind: isV1 ? "PAYLOAD_TOO_LARGE" : -32600,
    });
    expect(answer.text).toContain("bodyBytes");
  });

  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]) {
    test(`of the type ${JSON.stringify(type)} is 415`, async () => {
      const answer = await client.post("message:send", client.sending("hello"), {
        "content-type": type,
      });

      expect(faultOf(answer)).toMatchObject({
        status: 415,
        kind: isV1 ? "UNSUPPORTED_MEDIA_TYPE" : -32005,
        field: "Content-Type",
      });
    });
  }

  for (const type of [
    "application/json",
    "application/a2a+json",
    "Application/JSON; charset=utf-8",
  ]) {
    test(`of the type ${type} is accepted`, async () => {
      const answer = await client.post("message:send", client.sending("hello"), {
        "content-type": type,
      });

      expect(answer.status).toBe(200);
    });
  }

  test("that names another task than the path is rejected", async () => {
    const { id } = await client.sendTask("ask");
    const named = isV1 ? { id: "other" } : { name: "tasks/other" };

    const answer = await client.post(`tasks/${id}:cancel`, named);

    expect(faultOf(answer)).toMatchObject({ status: 400, field: isV1 ? "id" : "name" });
    expect((await client.getTask(id)).status.state).toBe("input-required");
  });
});

describe("a known path", () => {
  for (const { prefix } of OFFICIAL) {
    for (const [method, path, allow] of [
      ["GET", "message:send", "POST"],
      ["PUT", "message:stream", "POST"],
      ["DELETE", "tasks/x", "GET"],
      ["GET", "tasks/x:cancel", "POST"],
      ["DELETE", "tasks/x:subscribe", "GET, POST"],
      ["POST", "tasks", "GET"],
      ["PUT", "tasks/x/pushNotificationConfigs", "POST, GET"],
      ["POST", "tasks/x/pushNotificationConfigs/y", "GET, DELETE"],
      ["POST", prefix === "" ? "extendedAgentCard" : "card", "GET"],
    ] as const) {
      test(`/${prefix}${path} accepts ${allow} and not ${method}`, async () => {
        const client = new RestClient(server, prefix === "" ? V1 : PROTO_03);

        const answer = await client.ask(path, { method });

        expect(answer.headers.get("allow")).toBe(allow);
        expect(faultOf(answer)).toMatchObject({
          status: 405,
          kind: prefix === "" ? "METHOD_NOT_FOUND" : -32601,
          message: expect.stringContaining(`takes ${allow}`),
        });
        expect(JSON.parse(answer.text)).toMatchObject(
          prefix === "" ? { error: { code: 405, status: "UNIMPLEMENTED" } } : { code: -32601 },
        );
      });
    }
  }
});

describe("a version that the path does not support", () => {
  for (const { prefix, name } of OFFICIAL) {
    for (const asked of [prefix === "" ? "0.3" : "1.0", "99.0", "one"]) {
      test(`is rejected in the format of ${name} when it is ${asked}`, async () => {
        const client = new RestClient(server, prefix === "" ? V1 : PROTO_03);

        const answers = [
          await client.get("tasks/x", { "a2a-version": asked }),
          await client.get(`tasks/x?A2A-Version=${asked}`),
          await client.post("message:send", client.sending("hi"), { "a2a-version": asked }),
        ];

        for (const answer of answers) {
          expect(faultOf(answer)).toMatchObject({
            status: 400,
            kind: prefix === "" ? "VERSION_NOT_SUPPORTED" : -32009,
          });
        }
      });
    }

    for (const asked of prefix === "" ? ["1.0", "1.0.1", ""] : ["0.3", "0.3.0", ""]) {
      test(`is not ${JSON.stringify(asked)} in ${name}`, async () => {
        const client = new RestClient(server, prefix === "" ? V1 : PROTO_03);

        const answer = await client.get("tasks/x", { "a2a-version": asked });

        expect(faultOf(answer)).toMatchObject({ status: 404 });
      });
    }
  }
});

describe("a caller without the token", () => {
  const guarded = useServer(demoAgent, { token: "s3cret-canary" });

  for (const dialect of REST_DIALECTS) {
    verifies("R114", `is rejected in the format of ${dialect.name}`, async () => {
      const client = new RestClient(guarded, dialect);

      const answers = [
        await client.send("hello"),
        await client.get("tasks/x"),
        await client.get("tasks/x:subscribe"),
        await client.ask("tasks/x", { method: "DELETE" }),
      ];

      for (const answer of answers) {
        expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="convoke"');
        expect(faultOf(answer)).toMatchObject({
          status: 401,
          kind: dialect === V1 ? "UNAUTHENTICATED" : -32603,
        });
        expect(answer.text).not.toContain("canary");
      }
    });
  }

  test("is accepted with it", async () => {
    const client = new RestClient(guarded, V1, {
      headers: { authorization: "Bearer s3cret-canary" },
    });

    expect((await client.sendTask("hello")).status.state).toBe("completed");
  });
});
