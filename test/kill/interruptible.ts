import { writeFileSync } from "node:fs";
import { join } from "node:path";

const DEMO = new URL("../../apps/convoke/src/host/load-agent.ts", import.meta.url).href;

/** The arguments that serve the demo agent as one that cannot restart a task: a crash fails it. */
export function interruptible(cwd: string): readonly string[] {
  const file = join(cwd, "interruptible.mts");
  writeFileSync(
    file,
    `import { demoAgent } from ${JSON.stringify(DEMO)};
     export default { ...demoAgent, info: { ...demoAgent.info, restart: false } };`,
  );
  return ["serve", file];
}
