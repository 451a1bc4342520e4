import { fileURLToPath } from "node:url";
import { type Agent, type Task, defineAgent } from "convoke";
import { type ScriptedTurn, say, scriptedModel } from "convoke/testing";
import { describe, expect, test } from "vitest";
import { blocksOf } from "../../test/docs/docs-pages.ts";
import { aFolder } from "../../test/embedding/example.ts";
import { succeed } from "../../test/harness/program.ts";
import { verifies } from "../../test/verifies.ts";
import { planner } from "./agent.ts";
import { market, papers, press } from "./researchers.ts";
import { plannerStandIn } from "./stand-in.ts";

const README = "examples/research-team/README.md";
const QUESTION = "Are heat pumps worth it?";

verifies(
  "R64",
  "the team asks three agents, writes the report of the README, and everything is in one trace",
  async () => {
    const file = fileURLToPath(new URL("start.ts", import.meta.url));
    const args = ["--conditions=@convoke/source", file];

    const output = await succeed(process.execPath, args, { cwd: await aFolder() });

    const [report] = blocksOf(README, "md");
    const [, trace] = blocksOf(README, "text");
    expect(output).toContain(report);
    // Which of the three is first is a matter of chance.
    const [, drawn = ""] = output.split(/(?=^ask the team$)/m);
    expect(drawn.trim().split("\n").toSorted()).toEqual(trace!.trim().split("\n").toSorted());
    for (const name of ["papers", "market", "press"]) {
      expect(output).toContain(`Invoking ${name}…`);
      expect(output).toContain(`Received the result of ${name}.`);
    }
  },
);

describe("the planner", () => {
  test("has its three agents work at the same time", async () => {
    const names: string[] = [];
    const all = Promise.withResolvers<void>();
    // Each of them answers when all three have been asked: one after the other would never end.
    const meeting = (name: string): Agent =>
      defineAgent({
        id: name,
        name,
        description: "Waits for the others.",
        run: async () => {
          if (names.push(name) === 3) all.resolve();
          await all.promise;
          return `- ${name} was here. <https://${name}.example/>\n`;
        },
      });
    const team = { papers: meeting("one"), market: meeting("two"), press: meeting("three") };

    const { task } = await say(planner(plannerStandIn, team), QUESTION);

    expect(reportOf(task)).toContain(
      "one was here. [1]\n\ntwo was here. [2]\n\nthree was here. [3]",
    );
  });

  test("stops at its budget if the model never stops asking", async () => {
    const ask = { kind: "tool-call", toolName: "press", input: { message: QUESTION } } as const;
    const forever = Array.from({ length: 10 }, () => ask);

    const { text, task } = await say(planner(scriptedModel(forever), TEAM), QUESTION);

    expect(task?.status.state).toBe("failed");
    expect(text).toContain("iterations is limited to 6");
  });

  test("does not write a finding without a source", async () => {
    const write = (finding: object): ScriptedTurn => ({
      kind: "tool-call",
      toolName: "write_report",
      input: { title: "Heat", findings: [finding] },
    });
    const source = "https://papers.example/heat-pump-noise";
    const model = scriptedModel([
      write({ text: "Everybody knows it." }),
      write({ text: "A paper says so.", source }),
      "The report is ready.",
    ]);

    const { task } = await say(planner(model, TEAM), QUESTION);

    expect(reportOf(task)).toBe(`# Heat\n\nA paper says so. [1]\n\n## Sources\n\n1. <${source}>\n`);
  });
});

const TEAM = { papers, market, press };

function reportOf(task: Task | undefined): string | undefined {
  const [part] = task?.artifacts?.find(({ name }) => name === "report.md")?.parts ?? [];
  return part?.kind === "text" ? part.text : undefined;
}
