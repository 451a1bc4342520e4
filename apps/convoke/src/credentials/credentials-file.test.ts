import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pagesV1, result, runCli, startFakeAgent } from "../cli/testing/run-cli.suite.ts";
import { credentialsPath } from "./credentials-file.ts";

const ORIGIN = "https://agent.example";

function aHome() {
  const home = mkdtempSync(join(tmpdir(), "convoke-home-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const folder = join(home, ".config", "convoke");
  return { env: { HOME: home }, folder, file: join(folder, "credentials.json") };
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("a token is stored for the origin of the URL, in a file that only its owner can read", async () => {
  const { env, folder, file } = aHome();

  const finished = await runCli(["login", `${ORIGIN}/agents/1`], { env, stdin: "s3cret\nrest" });

  expect(finished).toEqual({
    code: 0,
    stdout: "",
    stderr: `Stored the token for ${ORIGIN} in ${file}. It is sent only to that origin.\n`,
  });
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    origins: { [ORIGIN]: { token: "s3cret" } },
  });
  expect([modeOf(folder), modeOf(file)]).toEqual(["700", "600"]);
  expect(readdirSync(folder)).toEqual(["credentials.json"]);
});

test("the list shows origins and no secrets", async () => {
  const { env, file } = aHome();
  await runCli(["login", "https://b.example", "--token", "s3cret"], { env });
  await runCli(["login", "https://a.example", "--token", "s3cret"], { env });

  const shown = await runCli(["credentials"], { env });
  const forPrograms = await runCli(["credentials", "--json"], { env });

  expect(shown).toEqual({
    code: 0,
    stdout: "https://a.example\nhttps://b.example\n",
    stderr: `In ${file}\n`,
  });
  expect(JSON.parse(forPrograms.stdout)).toEqual({
    file,
    origins: ["https://a.example", "https://b.example"],
    signIns: {},
  });
});

test("logging out removes one origin, and not the others", async () => {
  const { env } = aHome();
  await runCli(["login", "https://a.example", "--token", "one"], { env });
  await runCli(["login", "https://b.example", "--token", "two"], { env });

  const { stderr } = await runCli(["logout", "https://a.example/x"], { env });

  expect(stderr).toBe("Deleted the credentials for https://a.example.\n");
  expect((await runCli(["credentials"], { env })).stdout).toBe("https://b.example\n");
  expect((await runCli(["logout", "https://a.example"], { env })).stderr).toBe(
    "There were no credentials for https://a.example.\n",
  );
});

test.each([0o644, 0o640, 0o602])(
  "a file of mode %o is not used by any command, and the error has the chmod",
  async (mode) => {
    const { env, file } = aHome();
    await runCli(["login", ORIGIN, "--token", "s3cret"], { env });
    chmodSync(file, mode);

    for (const args of [
      ["send", ORIGIN, "hi"],
      ["push", "list", ORIGIN],
      ["login", ORIGIN, "--token", "new"],
      ["logout", ORIGIN],
      ["credentials"],
    ]) {
      const { code, stdout, stderr } = await runCli(args, { env });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`Make it private with "chmod 600 ${file}" and try again.`);
    }
    expect(readFileSync(file, "utf8")).toContain("s3cret");
  },
);

test("a file that is not JSON is not overwritten", async () => {
  const { env, file } = aHome();
  await runCli(["login", ORIGIN, "--token", "s3cret"], { env });
  writeFileSync(file, "{");

  const { code, stderr } = await runCli(["login", ORIGIN, "--token", "new"], { env });

  expect(code).toBe(2);
  expect(stderr).toContain(`${file} is not JSON; repair it, or remove it and log in again`);
  expect(readFileSync(file, "utf8")).toBe("{");
});

test("an origin without TLS gets a warning, unless it is this machine", async () => {
  const { env } = aHome();

  const far = await runCli(["login", "http://agent.example", "--token", "s3cret"], { env });
  const near = await runCli(["login", "http://localhost:3000", "--token", "s3cret"], { env });

  expect(far.stderr).toContain("http://agent.example does not use TLS: others on the network");
  expect(near.stderr).not.toContain("TLS");
});

test("a text with a blank is not a token", async () => {
  const { env, file } = aHome();

  const { code, stderr } = await runCli(["login", ORIGIN], { env, stdin: "two words\n" });

  expect(code).toBe(2);
  expect(stderr).toBe(
    "The token of https://agent.example contains invalid characters. See: convoke login --help\n",
  );
  expect(existsSync(file)).toBe(false);
});

test("without a terminal and without input there is no token, and the error says what to do", async () => {
  const { env, file } = aHome();
  const agent = await startFakeAgent({ pages: pagesV1(), answer: (call) => result(call, {}) });

  const { code, stderr } = await runCli(["login", agent.url], { env });

  expect(code).toBe(2);
  expect(stderr).toContain("The token is missing: type it when asked, or pipe it in as one line.");
  expect(existsSync(file)).toBe(false);
});

test("there must be a place for it", async () => {
  const { code, stderr } = await runCli(["login", ORIGIN, "--token", "s3cret"], { env: {} });

  expect(code).toBe(2);
  expect(stderr).toContain("set HOME or XDG_CONFIG_HOME");
});

test.each([
  [{ XDG_CONFIG_HOME: "/etc/me", HOME: "/home/me" }, "/etc/me/convoke/credentials.json"],
  [{ XDG_CONFIG_HOME: "me", HOME: "/home/me" }, "/home/me/.config/convoke/credentials.json"],
  [{ USERPROFILE: "/home/me" }, "/home/me/.config/convoke/credentials.json"],
  [{}, undefined],
])("the environment %j has it at %s", (env, path) => {
  expect(credentialsPath(env)).toBe(path);
});
