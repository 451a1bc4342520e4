import type { Agent } from "@convoke/protocol";
import { type MountOptions, type Mounted, mount as mountOn } from "@convoke/server";
import { type DataOptions, defaultLogger, openData, retentionFor } from "./agent-data.ts";

/** How an agent lives in an app. Everything has a default that is good on a laptop. */
export interface MountAgentOptions
  extends Partial<Omit<MountOptions, "openBackend">>, DataOptions {}

/** Gives an agent, with its tasks in SQLite, to an app that has the port. */
export function mount(agent: Agent, options: MountAgentOptions = {}): Promise<Mounted> {
  const { data, onFatal, logger = defaultLogger(), ...rest } = options;
  return mountOn(agent, {
    ...rest,
    logger,
    retention: retentionFor(data, rest.retention),
    openBackend: () => openData(agent, { data, onFatal, logger }),
  });
}
