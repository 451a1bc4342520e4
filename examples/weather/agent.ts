import { defineAgent, tool } from "convoke";

const weather = tool({
  name: "weather",
  description: "The weather in a city.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  run: ({ city }) => ({ city, sky: "sunny" }),
});

const model = process.env["MODEL"] ?? "demo"; // or "anthropic:claude-sonnet-4-5"
export default defineAgent({ name: "Sky", description: "The weather.", model, tools: [weather] });
