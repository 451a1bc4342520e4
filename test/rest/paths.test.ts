import { describe, expect, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { RestClient, faultOf, valueOf } from "./rest-client.ts";
import { KIND_03, OFFICIAL, PROTO_03, V1 } from "./rest-dialect.ts";

const server = useServer(demoAgent, { tenants: ["acme", "glo bex"] });
const v1 = new RestClient(server, V1);

describe.each(OFFICIAL)("an id in a path of $name", (dialect) => {
  const client = new RestClient(server, dialect);

  test("is decoded", async () => {
    const { id } = await client.sendTask("hello");
    const encoded = [...Buffer.from(id)]
      .map((byte) => `%${byte.toString(16).padStart(2, "0")}`)
      .join("");

    expect((await client.getTask(encoded)).id).toBe(id);
  });

  for (const written of ["%", "%zz", "a%2", "%ff", "%c3%28"]) {
    test(`is rejected when it is ${written}`, async () => {
      for (const [method, path] of [
        ["GET", `tasks/${written}`],
        ["POST", `tasks/${written}:cancel`],
        ["GET", `tasks/x/pushNotificationConfigs/${written}`],
      ] as const) {
        expect(faultOf(await client.ask(path, { method }))).toMatchObject({
          status: 400,
          field: path.includes("/x/") ? "configId" : "taskId",
        });
      }
    });
  }

  for (const written of ["a:b", "a%3Acancel", "%00", "..%2f..", "%F0%9F%98%80"]) {
    test(`is an unknown task when it is ${written}`, async () => {
      const { status, kind } = faultOf(await client.get(`tasks/${written}`));

      // A name in 0.3 contains the id, and none has a slash in it.
      const isUnnameable = dialect === PROTO_03 && written.includes("%2f");
      // No id has a control character.
      expect(status).toBe(isUnnameable || written === "%00" ? 400 : 404);
      expect(kind).not.toBe("INTERNAL");
    });
  }
});

describe.each(OFFICIAL)("a query parameter in $name", (dialect) => {
  const client = new RestClient(server, dialect);

  for (const value of ["", "x", "1.5", "1e2", "+1", "-1", "0x10", "99999999999999999999", "%20"]) {
    test(`historyLength=${value} is rejected by name`, async () => {
      const { id } = await client.sendTask("hello");

      const answer = await client.get(`tasks/${id}?historyLength=${value}`);

      expect(faultOf(answer)).toMatchObject({
        status: 400,
        field: "historyLength",
        kind: dialect === V1 ? "INVALID_PARAMS" : -32602,
      });
    });
  }

  test("may appear only once", async () => {
    const answer = await client.get("tasks/x?historyLength=1&historyLength=2");

    expect(faultOf(answer)).toMatchObject({ status: 400, field: "historyLength" });
  });

  test("that is unknown changes nothing", async () => {
    const { id } = await client.sendTask("hello");

    expect(await client.getTask(id, "?x=1&HistoryLength=x")).toEqual(await client.getTask(id));
  });
});

describe("a filter of the list", () => {
  for (const [name, value] of [
    ["pageSize", "0"],
    ["pageSize", "101"],
    ["pageSize", "ten"],
    ["includeArtifacts", "yes"],
    ["includeArtifacts", "TRUE"],
    ["status", "working"],
    ["status", "TASK_STATE_NONE"],
    ["statusTimestampAfter", "yesterday"],
    ["pageToken", "nonsense"],
    ["historyLength", "-1"],
  ] as const) {
    test(`${name}=${value} is rejected by name`, async () => {
      const answer = await v1.get(`tasks?${name}=${value}`);

      expect(faultOf(answer)).toMatchObject({ status: 400, field: name });
    });
  }
});

describe("a path that is not part of REST", () => {
  for (const path of [
    "v1",
    "v1/",
    "v1/extendedAgentCard",
    "v1/acme/tasks",
    "v1/message:nothing",
    "card",
    "tasks/",
    "tasks/x/y",
    "acme/glo/tasks",
    "message:send/",
  ]) {
    test(`/${path} is 404`, async () => {
      const answer = await fetch(`${server.url}${path}`);

      expect(answer.status).toBe(404);
      expect(answer.headers.get("content-type")).toBe("application/json");
    });
  }
});

describe("a tenant", () => {
  const acme = new RestClient(server, V1, { tenant: "acme" });
  const globex = new RestClient(server, V1, { tenant: "glo%20bex" });

  verifies("R20", "has its own tasks, under each path", async () => {
    const task = await acme.sendTask("ask");
    const path = `tasks/${task.id}`;

    expect(await acme.getTask(task.id)).toEqual(task);
    expect(valueOf(await acme.get("tasks"))).toMatchObject({ tasks: [{ id: task.id }] });
    for (const other of [v1, globex]) {
      expect((await other.get(path)).status).toBe(404);
      expect((await other.get(`${path}:subscribe`)).status).toBe(404);
      expect((await other.post(`${path}:cancel`, undefined)).status).toBe(404);
      expect(
        (await other.post(`${path}/pushNotificationConfigs`, { url: "https://a.b/" })).status,
      ).toBe(404);
      expect((await other.get(`${path}/pushNotificationConfigs`)).status).toBe(404);
      expect((await other.get("tasks")).text).not.toContain(task.id);
    }
    expect(valueOf(await acme.post(`${path}:cancel`, undefined))).toMatchObject({
      status: { state: "TASK_STATE_CANCELED" },
    });
    expect((await acme.get("extendedAgentCard")).status).toBe(400);
  });

  test("may be in the body or the query, too", async () => {
    const task = await v1.sendTask("ask", { tenant: "acme" });

    expect(await acme.getTask(task.id)).toEqual(task);
    expect(await v1.getTask(task.id, "?tenant=acme")).toEqual(task);
    expect((await acme.send("hello", { tenant: "acme" })).status).toBe(200);
    expect((await acme.send("hello", { tenant: "" })).status).toBe(200);
    expect((await v1.send("hello", { tenant: "" })).status).toBe(200);
  });

  for (const [what, ask] of [
    [
      "that is not served, in the path",
      () => new RestClient(server, V1, { tenant: "none" }).send("hi"),
    ],
    ["that is not served, in the body", () => v1.send("hi", { tenant: "none" })],
    ["that is not a string", () => v1.send("hi", { tenant: 5 })],
    ["that differs between path and body", () => acme.send("hi", { tenant: "glo bex" })],
    ["that differs between path and query", () => acme.get("tasks?tenant=glo%20bex")],
    ["that is badly encoded", () => new RestClient(server, V1, { tenant: "%zz" }).get("tasks")],
    [
      "that is the prefix of 0.3 in disguise",
      () => new RestClient(server, V1, { tenant: "%761" }).get("tasks"),
    ],
  ] as const) {
    test(`${what} is rejected`, async () => {
      expect(faultOf(await ask())).toMatchObject({ status: 400, field: "tenant" });
    });
  }

  test("does not exist in 0.3: there it is a field like any other", async () => {
    for (const dialect of [PROTO_03, KIND_03]) {
      const client = new RestClient(server, dialect);

      const task = await client.sendTask("hello", { tenant: "acme" });

      expect((await client.get(`tasks/${task.id}`)).status).toBe(200);
    }
  });
});
