import type { AgentInfo, AgentSkill } from "@convoke/protocol";
import { expect, test } from "vitest";
import { skillTools } from "./skill-tools.ts";

function agent(skills: readonly Partial<AgentSkill>[]): AgentInfo {
  return {
    name: "Büro Müller",
    description: "Does the work of an office.",
    version: "1.0.0",
    skills: skills.map((skill) => ({ id: "a", name: "A", description: "", tags: [], ...skill })),
    inputModes: [],
    outputModes: [],
    replies: false,
    keepStreamOnInterrupt: false,
    takesMessages: false,
    restart: false,
  };
}

const named = (...ids: string[]): readonly string[] =>
  skillTools(agent(ids.map((id) => ({ id })))).map(({ name }) => name);

test("an agent without skills is one tool, named after it", () => {
  expect(skillTools(agent([]))).toEqual([
    {
      name: "B_ro_M_ller",
      title: "Büro Müller",
      description: "Does the work of an office.\n\nAnswered by the A2A agent Büro Müller.",
    },
  ]);
});

test("tools from the agent's own MCP servers are not offered again", () => {
  const theirs = { id: "files__read_file", tags: ["mcp", "files"] };

  expect(skillTools(agent([theirs, { id: "write" }])).map(({ name }) => name)).toEqual(["write"]);
  expect(skillTools(agent([theirs])).map(({ name }) => name)).toEqual(["B_ro_M_ller"]);
});

test("a name consists of letters, digits, _ and -, and is short", () => {
  const names = named("search web", "föö/bar", "…", "x".repeat(200), "fine-name_2");

  expect(names).toEqual([
    "search_web",
    "f_bar",
    "skill",
    expect.stringMatching(/^x{31}-[0-9a-f]{8}$/),
    "fine-name_2",
  ]);
});

test("skills with colliding names get different ones, and the skill that already has the name keeps it", () => {
  const names = named("a b", "a/b", "a_b");

  expect(names).toEqual([
    expect.stringMatching(/^a_b-[0-9a-f]{8}$/),
    expect.stringMatching(/^a_b-[0-9a-f]{8}$/),
    "a_b",
  ]);
  expect(new Set(names).size).toBe(3);
});

test("a skill that is on the card twice is one tool", () => {
  const tools = skillTools(agent([{ description: "first" }, { description: "second" }]));

  expect(tools).toHaveLength(1);
  expect(tools[0]?.description).toMatch(/^first\n/);
});

test("texts from a card are bounded, and without control characters", () => {
  const [tool] = skillTools(
    agent([{ name: "\u001B[2Jloud", description: `\u0007${"word ".repeat(10_000)}` }]),
  );

  expect(tool?.title).toBe("[2Jloud");
  expect(tool?.description).toHaveLength(2000);
  expect(
    skillTools(agent(Array.from({ length: 500 }, (_, id) => ({ id: `s${id}` })))),
  ).toHaveLength(128);
});
