import { expect, test } from "vitest";
import { connect } from "../agent/connect.ts";
import { pagesV1, result, startFakeAgent } from "../../../../test/client/fake-agent.ts";
import { aTask } from "../run/a-stream.suite.ts";

const trace = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };

test("a request has its trace, and its extensions in addition to those of the connection, each once", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, aTask("COMPLETED")),
  });
  const remote = await connect(agent.url, { extensions: ["urn:one"] });

  await remote.send("hi", {
    trace: { ...trace, state: "a=1" },
    extensions: ["urn:two", "urn:one"],
  });
  await remote.send("hi");

  const [first, second] = agent.seen.filter(({ call }) => call !== undefined);
  expect(first?.headers).toMatchObject({
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    tracestate: "a=1",
    "a2a-extensions": "urn:one, urn:two",
  });
  expect(second?.headers["a2a-extensions"]).toBe("urn:one");
  expect(second?.headers["traceparent"]).toBeUndefined();
});
