import { artifact, defineAgent, status, tool } from "convoke";

/** What the writing tool was called with. */
export const written: Readonly<Record<string, unknown>>[] = [];

const writeFile = tool({
  name: "write_file",
  description: "Writes a file.",
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" }, text: { type: "string" } },
    required: ["path", "text"],
  },
  confirm: ({ input: { path, text } }) => ({
    title: `Write ${String(path)}`,
    prompt: "The file exists and is replaced.",
    risk: "warning",
    preview: [
      {
        kind: "data",
        data: {
          kind: "diff",
          path,
          before: "alpha\nthe old line\nomega\n",
          after: `alpha\n${String(text)}\nomega\n`,
        },
      },
    ],
  }),
  run: (input) => {
    written.push(input);
    return `wrote ${String(input["path"])}`;
  },
});

/** Calls the tool that a message names, and asks before it writes. */
export const writer = defineAgent({
  name: "Writer",
  description: "Writes files, after you have approved them.",
  model: "demo",
  tools: [writeFile],
  approvals: { expiresInMs: 60 * 60_000 },
});

const ORDER = {
  type: "object",
  required: ["count", "size"],
  properties: {
    count: { type: "integer", minimum: 1, maximum: 9, title: "How many" },
    size: { enum: ["small", "large"] },
    gift: { type: "boolean", description: "Wrap it as a gift." },
  },
} as const;

/** The password that was told to the clerk. */
export const passwords: string[] = [];

/** Asks every kind of question. */
export const clerk = defineAgent({
  name: "Clerk",
  description: "Asks questions of every kind, and makes files.",
  skills: [
    {
      id: "order",
      name: "Order",
      description: "Takes an order.",
      tags: ["shop"],
      examples: ["order", "colour"],
    },
  ],
  async *run({ text, ask, authRequired }) {
    if (text === "colour") return `You like ${await ask("Which colour?", ["red", "green"])}.`;
    if (text === "order") return JSON.stringify(await ask("What is it?", { schema: ORDER }));
    if (text === "secret") {
      passwords.push(await ask("The password?", { sensitive: true }));
      return "Thank you for the password.";
    }
    if (text === "sign in") {
      await authRequired("Sign in at https://shop.example/login, then send any message.");
      return "You are signed in.";
    }
    if (text === "files") {
      yield status("Writing the files");
      yield artifact("sales.csv", new TextEncoder().encode("city,sold\nRome,3\nOslo,12\n"), {
        mediaType: "text/csv",
      });
      yield artifact("facts.json", { agent: "clerk", answer: 42, cities: ["Rome", "Oslo"] });
      yield artifact("notes.md", new TextEncoder().encode("# Notes\n\nA **bold** word.\n"), {
        mediaType: "text/markdown",
      });
      return "Three files.";
    }
    return `# ${text}\n\nYou said **${text}**, and this is \`code\`.\n\n\`\`\`ts\nconst answer: number = 42; // of course\n\`\`\`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n\nSee [the docs](https://docs.example/page).`;
  },
});

const RLO = "\u202E";

/** Draws nothing, and would load or run something if its text became HTML. */
const HTML = `<img src="https://evil.example/x.png" onerror="globalThis.wasRun = true"><script>globalThis.wasRun = true</script>`;

const ATTACKS: Readonly<Record<string, string>> = {
  html: `Hello ${HTML}\n\n<div onclick="globalThis.wasRun = true">${HTML}</div>`,
  links:
    "[run](javascript:globalThis.wasRun=true) [data](data:text/html,<b>) [fair](https://evil.example/)",
  image: "![pixel](https://evil.example/pixel.png)",
  bidi: `invoice${RLO}fdp.exe and \u001B[31mred\u001B[0m and a\u200Bb`,
  quotes: ">".repeat(5000),
  huge: "0123456789".repeat(1_000_000),
};

/** Does what it can to harm the one who reads its answers. */
export const villain = defineAgent({
  name: `Villain ${RLO}${HTML}`,
  description: `Harmless ${RLO}${HTML}`,
  skills: [
    { id: "x", name: HTML, description: HTML, tags: [HTML], examples: [`html`, `${HTML}${RLO}`] },
  ],
  async *run({ text, ask }) {
    if (text === "ask") return ask(`Which ${HTML}${RLO}?`, [`a ${HTML}`, "b"]);
    if (text === "files") {
      yield artifact(`${HTML}${RLO}.html`, new TextEncoder().encode(HTML), {
        mediaType: "text/html",
      });
      yield artifact("a.svg", new TextEncoder().encode(`<svg onload="globalThis.wasRun = true">`), {
        mediaType: "image/svg+xml",
      });
    }
    yield ATTACKS[text] ?? "?";
  },
});
