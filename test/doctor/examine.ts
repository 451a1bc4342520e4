import type { Findings } from "../../apps/convoke/src/doctor/diagnoses.ts";
import {
  DEFAULT_EXAMINATION,
  type ExamineOptions,
  examineAgent,
} from "../../apps/convoke/src/doctor/examine-agent.ts";

/** The result of an examination, as far as tests look at it. */
export interface Examined {
  readonly verdict: string;
  readonly ids: readonly string[];
  readonly findings: Findings;
}

/** Examines a server as `convoke doctor <url>` does, with time limits for a machine under load. */
export async function examine(
  url: string,
  options: Partial<ExamineOptions> = {},
): Promise<Examined> {
  const { verdict, findings } = await examineAgent({
    ...DEFAULT_EXAMINATION,
    url,
    credentials: {},
    text: "hello",
    timeoutMs: 20_000,
    slowCardMs: 20_000,
    signal: new AbortController().signal,
    ...options,
  });
  return { verdict, ids: findings.diagnoses.map(({ id }) => id), findings };
}
