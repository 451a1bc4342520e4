import { writeFileSync } from "node:fs";
import { join } from "node:path";

const DEMO = new URL("../../apps/convoke/src/host/load-agent.ts", import.meta.url).href;
const RUNTIME = new URL("../../packages/runtime/src/index.ts", import.meta.url).href;

/**
 * The arguments that serve the demo agent as one that cannot restart a task: a crash fails it, because
 * its `slow` has no journal.
 */
export function interruptible(cwd: string): readonly string[] {
  const file = join(cwd, "interruptible.mts");
  writeFileSync(
    file,
    `import { demoAgent } from ${JSON.stringify(DEMO)};
     import { defineAgent } from ${JSON.stringify(RUNTIME)};
     const slow = defineAgent({
       name: "Slow",
       description: "Counts slowly.",
       async *run({ text }) {
         const count = Number(text.split(" ")[1]);
         for (let chunk = 1; chunk < count; chunk++) {
           yield chunk + " ";
           await new Promise((resolve) => setTimeout(resolve, 20));
         }
         return String(count);
       },
     });
     const isSlow = ({ message }) => message.parts[0]?.text?.startsWith("slow ");
     export default {
       ...demoAgent,
       info: { ...demoAgent.info, restart: false },
       run: (turn) => (isSlow(turn) ? slow : demoAgent).run(turn),
     };`,
  );
  return ["serve", file];
}
