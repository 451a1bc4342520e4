import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { refusalOf } from "./refusal.ts";
import { aRequest } from "./requests.ts";
import { speakersOf } from "./speakers.ts";

const server = useServer(conformanceAgent(), { tenants: ["acme", "beta"] });

describe.each(speakersOf(server, "1.0"))(
  "tasks of another caller over $binding $version",
  (speaker) => {
    verifies(["v1-S22", "v1-S56"], "are neither listed nor found", async () => {
      const sent = await speaker.sendTask(aRequest("hello", { tenant: "acme" }));
      const ids = async (tenant: string): Promise<readonly string[]> => {
        const page = await speaker.call("listTasks", { tenant });
        return speaker.codec.decodeTaskPage(page).tasks.map(({ id }) => id);
      };

      const refusal = await refusalOf(speaker.call("getTask", { tenant: "beta", id: sent.id }));

      expect(await ids("acme")).toContain(sent.id);
      expect(await ids("beta")).not.toContain(sent.id);
      expect(refusal.reason).toBe("TaskNotFound");
    });
  },
);
