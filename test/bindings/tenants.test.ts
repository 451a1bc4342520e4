import { defineAgent, mount } from "convoke";
import { expect, onTestFinished, test } from "vitest";
import { useServer } from "../wire/wire-server.ts";

const agent = defineAgent({ name: "Plain", description: "Answers.", run: async () => "done" });
const server = useServer(agent, { tenants: ["acme", "beta"] });
const without = useServer(agent);

test("tasks of one tenant are not visible in another, nor without a tenant", async () => {
  const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };
  const sent = await call(server.url, "SendMessage", { tenant: "acme", message });
  const id = (sent.result as { task: { id: string } }).task.id;

  const own = await call(server.url, "GetTask", { tenant: "acme", id });
  const other = await call(server.url, "GetTask", { tenant: "beta", id });
  const outside = await call(server.url, "GetTask", { id });
  const listed = await call(server.url, "ListTasks", { tenant: "beta" });
  // The same message id is another message in another tenant.
  const again = await call(server.url, "SendMessage", { tenant: "beta", message });

  expect(own.result).toMatchObject({ id });
  expect(other.error?.code).toBe(-32001);
  expect(outside.error?.code).toBe(-32001);
  expect(listed.result).toMatchObject({ totalSize: 0 });
  expect((again.result as { task: { id: string } }).task.id).not.toBe(id);
});

test("an owner with the same name as one in a tenant does not see that one's tasks", async () => {
  const mounted = await mount(agent, {
    data: "memory",
    tenants: ["acme"],
    authenticate: async ({ headers }) => ({ owner: String(headers["x-user"]) }),
  });
  onTestFinished(() => mounted.close());
  const as = async (owner: string, method: string, params: object) => {
    const request = new Request("http://localhost/", {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", "x-user": owner },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return (await (await mounted.fetch(request)).json()) as Answer;
  };
  const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };
  const sent = await as("ann", "SendMessage", { tenant: "acme", message });
  const { id } = (sent.result as { task: { id: string } }).task;
  const odd = '["acme","ann"]';
  const own = await as(odd, "SendMessage", { message });

  expect((await as("ann", "GetTask", { tenant: "acme", id })).result).toMatchObject({ id });
  expect((await as(odd, "GetTask", { id })).error?.code).toBe(-32001);
  expect((await as(odd, "ListTasks", {})).result).toMatchObject({
    tasks: [{ id: (own.result as { task: { id: string } }).task.id }],
    totalSize: 1,
  });
});

test("an unknown tenant is rejected by name", async () => {
  for (const { url } of [server, without]) {
    const { error } = await call(url, "GetTask", { tenant: "nobody", id: "x" });

    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain('tenant "nobody" is not served here');
  }
});

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

async function call(url: string, method: string, params: object) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return (await response.json()) as Answer;
}
