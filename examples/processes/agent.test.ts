import { type Agent, connect, processAgent, serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { needs } from "../../test/needs.ts";
import poet from "./agent.ts";

async function serving(agent: Agent) {
  const server = await serve(agent, { port: 0, data: "memory" });
  onTestFinished(() => server.close());
  return connect(server.url, { cache: false });
}

describe("the poet", () => {
  needs("python");

  test("asks for a color, streams its poem and adds a file", async () => {
    const remote = await serving(poet);
    const conversation = remote.conversation();

    const asked = await conversation.say("A poem, please").result;
    expect(asked.question).toMatchObject({ options: ["red", "white"] });
    const answer = await conversation.say("white").result;

    expect(answer.task?.artifacts).toMatchObject([
      { parts: [{ text: "Roses are white,\nviolets are blue." }] },
      { artifactId: "poem.json", parts: [{ data: { color: "white", lines: 2 } }] },
    ]);
  });
});

test("the shell script answers each message of a conversation in one process", async () => {
  const echo = processAgent({
    name: "echo",
    description: "Repeats what it reads",
    command: "./echo.sh",
    protocol: "json-lines",
    workspace: import.meta.dirname,
  });
  const conversation = (await serving(echo)).conversation();

  expect((await conversation.say('Say "hello"').result).text).toBe('You said: Say "hello"');
  expect((await conversation.say("again").result).text).toBe("You said: again");
});
