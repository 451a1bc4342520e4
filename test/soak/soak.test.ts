import { connect } from "convoke";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";

// The short form; `npm run test:soak` runs the full size.
const TASKS = Number(process.env["CONVOKE_SOAK_TASKS"] ?? 4000);
const AT_ONCE = 32;
const SAMPLES = 8;
const MB = 1024 * 1024;

test(
  `memory and disk stay flat over ${TASKS} tasks`,
  async () => {
    const data = join(temporaryFolder(), "data");
    const child = fork(new URL("./soak-server.ts", import.meta.url), [data], {
      execArgv: ["--conditions=@convoke/source", "--expose-gc"],
    });
    onTestFinished(() => child.disconnect());
    const { url } = await word<{ url: string }>(child);
    const agent = await connect(url);
    const samples: { readonly rss: number; readonly disk: number }[] = [];
    for (let sample = 0; sample < SAMPLES; sample++) {
      const each = Math.ceil(TASKS / SAMPLES / AT_ONCE);
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          for (let count = 0; count < each; count++) await agent.send("go");
        }),
      );
      const asked = word<{ rssBytes: number }>(child);
      child.send("memory?");
      samples.push({ rss: (await asked).rssBytes / MB, disk: sizeOf(data) / MB });
    }

    const line = samples.map(({ rss, disk }) => `${rss.toFixed(0)}/${disk.toFixed(1)}`).join(" ");
    process.stdout.write(`Soak, ${TASKS} tasks: RSS/disk in MB after each eighth: ${line}\n`);
    const early = samples.slice(2, 4);
    const late = samples.slice(-2);
    const most = (of: "rss" | "disk", some: typeof samples): number =>
      Math.max(...some.map((sample) => sample[of]));
    expect(most("rss", late)).toBeLessThan(1.3 * most("rss", early) + 20);
    expect(most("disk", late)).toBeLessThan(1.5 * most("disk", early) + 5);
  },
  60_000 + 10 * TASKS,
);

/** The next message of the process. */
async function word<T>(child: ChildProcess): Promise<T> {
  return ((await once(child, "message")) as [T])[0];
}

function sizeOf(folder: string): number {
  // A file may be gone by the time it is looked at.
  const sizes = readdirSync(folder).map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
