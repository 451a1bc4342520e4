import { connect } from "convoke";
import { expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useDemoServer } from "./demo-server.ts";
import { Reading } from "./reading.ts";
import { SDK_V03 } from "./sdk-v03.ts";
import { SDK_V1 } from "./sdk-v1.ts";
import { asTask, outline } from "./story.ts";

const server = useDemoServer();

verifies(
  ["R42", "R59", "G7"],
  "both clients stay subscribed while a task waits, and see a third caller's answer",
  async () => {
    const v03 = await SDK_V03.discover(server.url);
    const v1 = await SDK_V1.discover(server.url);
    const third = await connect(server.url);
    const { taskId } = asTask(await v03.send("ask"));
    const readings = [new Reading(v03.subscribe(taskId)), new Reading(v1.subscribe(taskId))];
    for (const reading of readings) await reading.until((seen) => seen.length > 0);

    const answer = await third.send("Ann", { taskId });

    expect(answer.text).toBe("Hello, Ann!");
    for (const reading of readings) {
      const seen = await reading.all;
      expect(outline(seen)).toEqual([
        "task input-required",
        "status working",
        "artifact Hello, Ann!",
        "status completed",
      ]);
      expect(asTask(seen[0])).toMatchObject({ taskId, text: "What is your name?" });
    }
  },
);
