import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Memory held by this process in bytes: objects and buffers, without garbage. */
export async function bytesHeld(): Promise<number> {
  // Twice, with a turn in between: late finalizers have run by then.
  collectGarbage();
  await new Promise((resolve) => setTimeout(resolve, 20));
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
