import { expect, test } from "vitest";
import { asStarted, detectInvocation } from "./invocation.ts";

const npm = (event: string, line: string) => ({
  npm_lifecycle_event: event,
  npm_lifecycle_script: line,
});
const BIN = "/home/ann/app/node_modules/.bin/convoke";

test.each([
  ["npx", BIN, npm("npx", "convoke serve"), { program: "npx convoke" }],
  ["npx with quotes", BIN, npm("npx", `"convoke" "serve"`), { program: "npx convoke" }],
  [
    "npm start",
    BIN,
    npm("start", "convoke serve"),
    { program: "npx convoke", script: "npm start" },
  ],
  [
    "another npm script",
    BIN,
    npm("dev", "NODE_ENV=dev convoke serve agent.ts"),
    { program: "npx convoke", script: "npm run dev" },
  ],
  ["node_modules/.bin", BIN, {}, { program: "npx convoke" }],
  ["a global installation", "/usr/local/bin/convoke", {}, { program: "convoke" }],
  [
    "a global installation below a script of another program",
    "/usr/local/bin/convoke",
    npm("test", "vitest run convoke.test.ts"),
    { program: "convoke" },
  ],
  [
    "node and a path below this folder",
    "/home/ann/app/tools/convoke.js",
    {},
    { program: "node tools/convoke.js" },
  ],
  [
    "node and a path elsewhere",
    "/opt/a b/convoke.js",
    {},
    { program: "node '/opt/a b/convoke.js'" },
  ],
])("started by %s", (_, path, env, expected) => {
  expect(detectInvocation(path, env, "/home/ann/app")).toEqual(expected);
});

test("only the program in front of a command is replaced", () => {
  const started = { program: "npx convoke" };

  expect(asStarted("git diff | convoke send <url>", started)).toBe(
    "git diff | npx convoke send <url>",
  );
  expect(asStarted("~/.config/convoke/credentials.json", started)).not.toContain("npx");
  expect(asStarted("npm i convoke", started)).toBe("npm i convoke");
});
