import { appendFileSync } from "node:fs";
import { AgentLoop, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { calls } from "./scripts.ts";

/** The loop of both processes: its tool writes a mark to disk each time it runs. */
export function aLoopOnDisk(folder: string, model: ReturnType<typeof scriptedModel>): AgentLoop {
  const mark = tool({
    name: "mark",
    description: "Leaves a mark.",
    run: () => {
      appendFileSync(`${folder}/marks`, "x");
      return "marked";
    },
  });
  return new AgentLoop({ model, tools: [mark], data: `${folder}/tasks` });
}

// Run as a separate program: works until it is killed, and reports when it has reached its second
// answer.
if (process.argv[2] === "--until-killed") {
  const model = scriptedModel([
    [{ kind: "text", text: "First. " }, calls("mark")],
    [{ kind: "text", text: "half an " }, { kind: "silence" }],
  ]);
  aLoopOnDisk(process.argv[3]!, model)
    .execute("go", { taskId: "t1", contextId: "c1" })
    .subscribe((event) => {
      if (JSON.stringify(event).includes("half an ")) process.stdout.write("halfway\n");
    });
}
