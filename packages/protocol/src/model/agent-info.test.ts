import { expect, test } from "vitest";
import { type GivenAgentInfo, checkAgentInfo, completeAgentInfo } from "./agent-info.ts";

const given = { name: "My Agent", description: "Works." };

test("what an agent leaves out has a default", () => {
  expect(completeAgentInfo({ ...given, version: "2.0.0", restart: true })).toMatchObject({
    ...given,
    version: "2.0.0",
    skills: [{ id: "my-agent", name: "My Agent", description: "Works.", tags: ["my-agent"] }],
    inputModes: ["text/plain", "application/json"],
    outputModes: ["text/plain", "application/json"],
    replies: false,
    restart: true,
  });
});

test("an agent that leaves out nothing keeps its object", () => {
  const whole = completeAgentInfo(given);

  expect(completeAgentInfo(whole)).toBe(whole);
});

test.each([
  ["info.description", { description: undefined }],
  ["info.version", { version: 1 }],
  ["info.skills", { skills: "chat" }],
  ["info.skills[0].name", { skills: [{ id: "a", description: "b", tags: [] }] }],
  ["info.skills[0].tags", { skills: [{ id: "a", name: "a", description: "b", tags: "c" }] }],
  ["info.inputModes[1]", { inputModes: ["text/plain", 5] }],
  ["info.outputModes", { outputModes: "text/plain" }],
])("%s of another type is an error that names it", (field, wrong) => {
  const info = { ...given, ...wrong } as unknown as GivenAgentInfo;

  expect(() => checkAgentInfo(info)).toThrow(TypeError);
  expect(() => checkAgentInfo(info)).toThrow(`${field} of an agent must be `);
});
