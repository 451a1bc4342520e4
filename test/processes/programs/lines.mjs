import { createInterface } from "node:readline";

// A program that speaks JSON lines; what it does is in the text of the message.
const say = (line) =>
  process.stdout.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);

createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, text, ...rest } = JSON.parse(line);
  if (type === "answer") say({ type: "text", text: `answer ${rest.id}: ${text}` });
  if (type !== "message") return say({ type: "done" });
  switch (text) {
    case "bad":
      for (const bad of ["hello", "[]", '{"type":"tex"}', '{"type":"text"}']) say(bad);
      say({ type: "ask", text: "Which?", options: "all" });
      say({ type: "text", text: "still here" });
      return say({ type: "done" });
    case "ask":
      say({ type: "text", text: "I ask. " });
      return say({ type: "ask", id: 7, text: "Which?", options: ["a", "b"] });
    case "fail":
      return say({ type: "error", text: "I cannot do that." });
    case "reject":
      return say({ type: "error", text: "I do not do that.", rejected: true });
    case "leave":
      say({ type: "text", text: "bye" });
      return process.exit(0);
    case "die":
      return process.exit(9);
    case "flood":
      return setInterval(() => say({ type: "text", text: "x".repeat(10_000) }), 0);
    case "grow":
      globalThis.kept = Buffer.alloc(200_000_000, 1);
      return undefined;
    case "sleep":
      return undefined;
    default:
      say({
        type: "text",
        text: JSON.stringify({
          pid: process.pid,
          cwd: process.cwd(),
          env: process.env,
          text,
          ...rest,
        }),
      });
      return say({ type: "done" });
  }
});
