import { say } from "convoke/testing";
import { expect, test } from "vitest";
import greeter from "./agent.ts";

test("the greeter greets by name", async () => {
  const { text, task } = await say(greeter, "Ann");

  expect(text).toBe("Hello, Ann!");
  expect(task?.status.state).toBe("completed");
});
