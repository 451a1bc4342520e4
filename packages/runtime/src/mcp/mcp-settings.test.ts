import { expect, test } from "vitest";
import { mcpServerSettings, mcpSettings } from "./mcp-settings.ts";

test.each([
  [{ files: {} }, "mcpServers.files needs either a command or a url"],
  [
    { files: { command: "a", url: "http://b" } },
    "mcpServers.files needs either a command or a url",
  ],
  [{ files: "npx" }, 'mcpServers.files must be { command: "…" } or { url: "…" }'],
  [{ files: { command: "" } }, 'mcpServers.files.command must be a text, not ""'],
  [{ files: { command: "a", args: "b" } }, "mcpServers.files.args must be a list of texts"],
  [{ files: { command: "a", env: { KEY: 1 } } }, "mcpServers.files.env.KEY must be a text"],
  [
    { files: { command: "a", deney: ["x"] } },
    "mcpServers.files.deney is no setting of a server with a command; remove it",
  ],
  [
    { files: { url: "http://a", args: [] } },
    "mcpServers.files.args is no setting of a server with a url; remove it",
  ],
  [{ files: { url: "ftp://a" } }, "mcpServers.files.url must be an http or https address"],
  [
    { files: { url: "http://user:word@a" } },
    "mcpServers.files.url must not hold a password; give it as headers or auth",
  ],
  [
    { files: { url: "http://a", auth: 1 } },
    "mcpServers.files.auth must be a token, a function that gives one, or { oauth }",
  ],
  [
    { files: { command: "a", confirm: "nevr" } },
    'mcpServers.files.confirm must be "never", "ask" or a function',
  ],
  [
    { files: { command: "a", confirm: { write: "maybe" } } },
    'mcpServers.files.confirm.write must be "never", "ask" or a function',
  ],
  [
    { files: { command: "a", startTimeoutMs: 0 } },
    "mcpServers.files.startTimeoutMs must be a whole number above 0, not 0",
  ],
  [[], 'mcpServers must be an object of servers: { files: { command: "…" } }'],
])("%j is rejected with the fix", (servers, message) => {
  expect(() => mcpServerSettings(servers as never, {})).toThrow(new TypeError(message));
});

test.each(["answerTimeoutMs", "maxResultSize", "maxMessageBytes", "maxTools"])(
  "%s must be a whole number",
  (field) => {
    expect(() => mcpSettings({ [field]: 1.5 })).toThrow(
      `${field} must be a whole number above 0, not 1.5`,
    );
  },
);

test("timeouts for all servers apply to those without their own", () => {
  const [files, slow] = mcpServerSettings(
    { files: { command: "a" }, slow: { command: "a", startTimeoutMs: 30_000 } },
    { startTimeoutMs: 5000 },
  );

  expect(files).toMatchObject({ startTimeoutMs: 5000, callTimeoutMs: 60_000 });
  expect(slow).toMatchObject({ startTimeoutMs: 30_000 });
});
