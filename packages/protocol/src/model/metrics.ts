interface MetricDefinition {
  readonly kind: "counter" | "gauge" | "histogram";
  /** As Prometheus shows it, with its unit. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

/** From a request that is answered from memory to one that waits for a model. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Everything that is measured. Labels have few values: names of agents and models, but never ids of tasks, addresses or text of a caller. */
export const METRICS = {
  requests: {
    kind: "counter",
    name: "convoke_requests_total",
    help: "Requests that were answered. The code is ok, the reason of the error, or an HTTP status.",
    labels: ["binding", "operation", "code"],
  },
  requestSeconds: {
    kind: "histogram",
    name: "convoke_request_duration_seconds",
    help: "Time until a request was answered; of a stream, until it was opened.",
    labels: ["binding", "operation"],
    buckets: SECONDS,
  },
  limited: {
    kind: "counter",
    name: "convoke_limits_reached_total",
    help: "Requests and connections that were rejected because of a limit.",
    labels: ["limit"],
  },
  openStreams: {
    kind: "gauge",
    name: "convoke_open_streams",
    help: "Streams of events that are open.",
  },
  tasksStarted: {
    kind: "counter",
    name: "convoke_tasks_started_total",
    help: "Tasks that were created.",
  },
  tasksEnded: {
    kind: "counter",
    name: "convoke_tasks_ended_total",
    help: "Tasks that have ended, by their final state.",
    labels: ["state"],
  },
  tasksClaimed: {
    kind: "counter",
    name: "convoke_tasks_claimed_total",
    help: "Tasks that this process took over because nobody worked on them, by the reason.",
    labels: ["reason"],
  },
  tasksUnfinished: {
    kind: "gauge",
    name: "convoke_tasks_unfinished",
    help: "Tasks that have not ended, whether the agent works on them or they wait.",
  },
  tasksRunning: {
    kind: "gauge",
    name: "convoke_tasks_running",
    help: "Tasks that the agent is working on.",
  },
  tasksWaitingForHost: {
    kind: "gauge",
    name: "convoke_tasks_waiting_for_host",
    help: "Tasks of local agents that wait because no process is on their host, by host.",
    labels: ["host"],
  },
  recoveredTasks: {
    kind: "gauge",
    name: "convoke_recovered_tasks",
    help: "What happened at the start to unfinished tasks of the process before.",
    labels: ["outcome"],
  },
  recoverySeconds: {
    kind: "gauge",
    name: "convoke_recovery_seconds",
    help: "How long the recovery at the start took.",
  },
  commitSeconds: {
    kind: "histogram",
    name: "convoke_commit_duration_seconds",
    help: "Time from handing a batch of writes to the storage until it was durable.",
    buckets: [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
  commitSteps: {
    kind: "histogram",
    name: "convoke_commit_steps",
    help: "Writes that shared one transaction.",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  },
  hintsDown: {
    kind: "gauge",
    name: "convoke_hints_down",
    help: "Connections for hints from other servers that do not work, so that this server looks by itself.",
    labels: ["bus"],
  },
  storageFailures: {
    kind: "counter",
    name: "convoke_storage_failures_total",
    help: "Calls of the storage that failed.",
  },
  staleCommits: {
    kind: "counter",
    name: "convoke_stale_commits_total",
    help: "Writes that a shared database refused because another process has the task.",
  },
  leaseAge: {
    kind: "gauge",
    name: "convoke_lease_age_seconds",
    help: "How long ago this process renewed its lease in a shared database; others may take its tasks over at 3.",
    labels: ["schema"],
  },
  mailboxEntries: {
    kind: "gauge",
    name: "convoke_mailbox_entries",
    help: "Messages and cancels of other processes that wait for this one, at its last look a second ago.",
  },
  followedTasks: {
    kind: "gauge",
    name: "convoke_followed_tasks",
    help: "Tasks of other processes that are followed here.",
  },
  hintsMissed: {
    kind: "counter",
    name: "convoke_hints_missed_total",
    help: "Commits to followed tasks that were found by looking, because no notification came before.",
  },
  pushPending: {
    kind: "gauge",
    name: "convoke_push_pending",
    help: "Push configs with notifications that are not delivered yet.",
  },
  pushOldestSeconds: {
    kind: "gauge",
    name: "convoke_push_oldest_pending_seconds",
    help: "How long the oldest of these notifications has been waiting.",
  },
  pushDeliveries: {
    kind: "counter",
    name: "convoke_push_deliveries_total",
    help: "Attempts to deliver a notification: delivered, failed, or gone if the receiver has unsubscribed.",
    labels: ["outcome"],
  },
  modelCalls: {
    kind: "counter",
    name: "convoke_model_calls_total",
    help: "Calls of language models. The outcome is ok or the kind of the error.",
    labels: ["agent", "model", "outcome"],
  },
  modelTokens: {
    kind: "counter",
    name: "convoke_model_tokens_total",
    help: "Tokens of language models, input and output.",
    labels: ["agent", "model", "direction"],
  },
  modelCost: {
    kind: "counter",
    name: "convoke_model_cost_usd_total",
    help: "Cost of language models whose price is known, in US dollars.",
    labels: ["agent", "model"],
  },
  egressRefused: {
    kind: "counter",
    name: "convoke_egress_refused_total",
    help: "Outbound requests of the process that the egress policy refused.",
    labels: ["reason"],
  },
  residentBytes: {
    kind: "gauge",
    name: "process_resident_memory_bytes",
    help: "Resident memory of the process.",
  },
  cpuSeconds: {
    kind: "gauge",
    name: "process_cpu_seconds_total",
    help: "CPU time of the process, all threads together.",
  },
  loopLag: {
    kind: "gauge",
    name: "nodejs_eventloop_lag_seconds",
    help: "Delay of the event loop since the last time that the metrics were read.",
    labels: ["quantile"],
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;

/** The metrics of one kind. */
type Named<Kind extends MetricDefinition["kind"]> = {
  [Name in MetricName]: (typeof METRICS)[Name]["kind"] extends Kind ? Name : never;
}[MetricName];

type AddGauge = (name: Named<"gauge">, value: number, labels?: readonly string[]) => void;

/** Receives measurements. Label values are in the order of the definition. */
export interface Metrics {
  count(name: Named<"counter">, labels?: readonly string[], amount?: number): void;
  observe(name: Named<"histogram">, value: number, labels?: readonly string[]): void;
  /**
   * Calls back whenever the metrics are read, so that a gauge costs nothing in between. Values that
   * several callbacks add to a gauge are summed. Returns a function that ends it.
   */
  collect(callback: (add: AddGauge) => void): () => void;
}

/** Measures nothing. */
export const NO_METRICS: Metrics = {
  count: () => undefined,
  observe: () => undefined,
  collect: () => () => undefined,
};
