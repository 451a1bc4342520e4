import { must } from "../probes/probe.ts";
import { rejects, shows } from "../probe-server/answer.ts";
import { PUSH_CONFIG, taskIdIn } from "../probe-server/honest-agent.ts";
import { ANSWER_TEXT, DONE, TASK_ID, aTask } from "../probe-server/scripted-agent.ts";
import type { SeenRequest } from "../probe-server/seen-request.ts";
import { at, textAt } from "../wire/json.ts";
import { type ClientProbe, V03, V1 } from "./client-probe.ts";
import { require, requireCall, requireEnd, requireError, requireText } from "./judging.ts";

/** How a client calls the operations on tasks. */
export const TASK_OPERATIONS: readonly ClientProbe[] = [
  {
    name: "get",
    says: "Gets a task by its id, and reads its artifacts.",
    claims: [must(V1, "§3.1.3"), must(V03, "§7.3")],
    action: "get",
    judge: (visit) => {
      const call = requireCall(visit, "getTask");
      require(taskIdIn(call) === TASK_ID, `the id ${TASK_ID}`, visit, call);
      requireText(visit, ANSWER_TEXT);
    },
  },
  {
    name: "get-unknown",
    says: "Reports TaskNotFound as an error.",
    claims: [must(V1, "§3.3.2"), must(V03, "§8.2")],
    action: "get",
    replies: { getTask: () => rejects("TaskNotFound", `there is no task ${TASK_ID}`) },
    judge: requireError,
  },
  {
    name: "id-in-path",
    says: "Encodes an id for the path of a URL.",
    claims: [must(V1, "§11.5"), must(V03, "§3.5.6")],
    bindings: ["rest"],
    action: "get-odd",
    replies: { getTask: () => shows({ ...DONE, id: ODD_ID }) },
    judge: (visit) => {
      const call = requireCall(visit, "getTask", "unknown");
      require(taskIdIn(call) === ODD_ID, "the path /tasks/a%2Fb%20c", visit, call);
    },
  },
  {
    name: "cancel",
    says: "Cancels a task by its id.",
    claims: [must(V1, "§3.1.5"), must(V03, "§7.4")],
    action: "cancel",
    replies: { cancelTask: () => shows(aTask("canceled")) },
    judge: (visit) => {
      const call = requireCall(visit, "cancelTask");
      require(taskIdIn(call) === TASK_ID, `the id ${TASK_ID}`, visit, call);
      requireEnd(visit);
    },
  },
  {
    name: "subscribe",
    says: "Subscribes to a task, and joins what it had with what follows.",
    claims: [must(V1, "§3.1.6"), must(V03, "§7.9")],
    action: "subscribe",
    judge: (visit) => {
      const call = requireCall(visit, "subscribeToTask");
      require(taskIdIn(call) === TASK_ID, `the id ${TASK_ID}`, visit, call);
      requireText(visit, ANSWER_TEXT);
    },
  },
  {
    name: "pages",
    says: "Reads all pages of a list, with the token of each previous page.",
    claims: [must(V1, "§3.1.4")],
    action: "list",
    replies: {
      listTasks: ({ count }) => ({
        kind: "json",
        encode: (codec) =>
          codec.encodeTaskPage(
            {
              tasks: [{ ...DONE, id: `listed-${count}` }],
              nextPageToken: PAGE_TOKENS[count] ?? "",
              pageSize: 1,
              totalSize: PAGE_TOKENS.length,
            },
            false,
          ),
      }),
    },
    judge: (visit) => {
      requireCall(visit, "listTasks");
      const tokens = visit.calls("listTasks").map(({ params }) => textAt(params, "pageToken"));
      const isRight = JSON.stringify(tokens) === JSON.stringify(PAGE_TOKENS);
      require(isRight, `pageToken: ${PAGE_TOKENS.map((token) => `"${token}"`).join(", ")}`, visit);
    },
  },
  {
    name: "push-configs",
    says: "Registers a webhook, reads it, lists all, and deletes it.",
    claims: [must(V1, "§3.1.7–§3.1.10"), must(V03, "§7.5–§7.8")],
    action: "push",
    judge: (visit) => {
      const created = requireCall(visit, "createPushConfig");
      for (const value of [PUSH_CONFIG.url, PUSH_CONFIG.token]) {
        require(JSON.stringify(created.params).includes(value), value, visit, created);
      }
      requireCall(visit, "listPushConfigs");
      for (const step of ["getPushConfig", "deletePushConfig"] as const) {
        const call = requireCall(visit, step);
        require(configIdIn(call) === PUSH_CONFIG.id, `the id ${PUSH_CONFIG.id}`, visit, call);
      }
    },
  },
];

const ODD_ID = "a/b c";

/** What each request for a page has to name; a token is opaque, and may hold anything. */
const PAGE_TOKENS = ["", "page two&=+/", "page 3 ü"];

/** The id of the config that a request names, in any dialect. */
function configIdIn({ params }: SeenRequest): unknown {
  const name = textAt(params, "name");
  if (name !== "") return name.slice(name.lastIndexOf("/") + 1);
  return at(params, "pushNotificationConfigId") ?? at(params, "configId") ?? at(params, "id");
}
