import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { apiKeys, oidc } from "convoke";
import { createApiKey } from "@convoke/server";
import { expect, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { Typist } from "../cli/typist.ts";
import { needs } from "../needs.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { aGuardedAgent } from "./a-guarded-agent.ts";
import { Person } from "./a-person.ts";
import { PERSON, ROBOT, useProvider } from "./a-provider.ts";

const script = needs("script");
const provider = useProvider();

const anAgent = () =>
  aGuardedAgent((origin) => ({ auth: [oidc({ issuer: provider.url, audience: origin })] }));

/** A person's home folder, and the credentials file in it. */
function aHome() {
  const home = temporaryFolder();
  const file = join(home, ".config", "convoke", "credentials.json");
  return { home, env: { HOME: home }, file, read: () => readFileSync(file, "utf8") };
}

test("a person signs in with a browser, and later commands use and renew the token", async () => {
  const url = await anAgent();
  const { home, env, file, read } = aHome();
  provider.lifetime = 1;
  const flags = ["--browser", "--issuer", provider.url, "--client-id", PERSON.clientId];
  const login = new Typist(["login", url, ...flags, "--json"], { cwd: home });
  const [, page] = await login.sees(/"url":"([^"]+)"/, "stderr");
  await new Person().open(page!);
  const { code, stdout, stderr } = await login.ended;
  const first = read();

  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toContain(`Stored the sign-in for ${url}`);
  expect((statSync(file).mode & 0o777).toString(8)).toBe("600");

  provider.lifetime = 3600;
  await setTimeout(1000);
  const before = provider.tokenRequests.length;
  const [sent, asked] = await Promise.all([
    runCli(["send", url, "who?"], { env }),
    runCli(["approvals", "list", url, "--json"], { env }),
  ]);

  expect(sent.stdout).toContain(`${provider.url}#ann`);
  expect(asked.code).toBe(0);
  // Commands at the same time do not use the refresh token twice.
  expect(provider.tokenRequests).toHaveLength(before + 1);
  expect(refreshTokenIn(read())).not.toBe(refreshTokenIn(first));
  for (const { stdout: out, stderr: err } of [{ stdout, stderr }, sent, asked]) {
    expect(out + err).not.toContain(refreshTokenIn(read()));
  }
});

function refreshTokenIn(text: string): string {
  return /"refreshToken": "([^"]+)"/.exec(text)![1]!;
}

test("without a terminal a person signs in with a code, and logs out again", async () => {
  provider.lifetime = 3600;
  const url = await anAgent();
  const { home, env } = aHome();
  const login = new Typist(["login", url, "--device", "--issuer", provider.url], { cwd: home });
  const [, page, code] = await login.sees(
    /Open (\S+) on any device and enter the code (\S+)/,
    "stderr",
  );
  await new Person().enterCode(page!, code!);

  expect((await login.ended).code).toBe(0);
  expect((await runCli(["credentials"], { env })).stdout).toBe(
    `${url} signed in at ${provider.url}\n`,
  );
  expect((await runCli(["send", url, "who?"], { env })).stdout).toContain("#ann");
  expect((await runCli(["logout", url], { env })).code).toBe(0);
  const after = await runCli(["send", url, "who?"], { env });
  expect(after.code).toBe(3);
  expect(after.stderr).toContain(`sign in or store a token with convoke login ${url}`);
});

test("at a terminal the key that the agent wants is asked for without an echo", async () => {
  const { key, record } = createApiKey({ name: "ci" });
  const url = await aGuardedAgent(() => ({ auth: [apiKeys({ keys: [record] })] }));
  const { home, env } = aHome();
  const login = new Typist(["login", url], { terminal: script(), cwd: home });

  await login.sees(/The agent wants an API key, sent as the header X-API-Key\./);
  await login.sees(/API key: /);
  login.type(`${key}\n`);
  const { code, stdout } = await login.ended;

  expect(code).toBe(0);
  expect(stdout).not.toContain(key);
  expect((await runCli(["send", url, "who?"], { env })).stdout).toContain('"owner":"ci"');
});

test("a program uses the client of its environment, which must name the issuer", async () => {
  const url = await anAgent();
  const { env } = aHome();
  const client = {
    ...env,
    CONVOKE_CLIENT_ID: ROBOT.clientId,
    CONVOKE_CLIENT_SECRET: ROBOT.clientSecret,
  };

  const sent = await runCli(["send", url, "who?"], {
    env: { ...client, CONVOKE_ISSUER: provider.url },
  });
  const unnamed = await runCli(["send", url, "who?"], { env: client });

  expect(sent.stdout).toContain(`${provider.url}#robot`);
  expect(unnamed.code).toBe(2);
  expect(unnamed.stderr).toContain("needs CONVOKE_CLIENT_ID and CONVOKE_ISSUER");
});

test("an issuer at a private address must be named, and the error says how", async () => {
  const url = await anAgent();

  const { code, stderr } = await runCli(["login", url, "--device"], { env: aHome().env });

  expect(code).toBe(3);
  expect(stderr).toContain("--allow <host> permits a private address");
});
