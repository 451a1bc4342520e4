import type { RequirementGroup } from "./requirement.ts";

/** What A2A 1.0 requires of a server. */
export const CONFORMANCE_V1: RequirementGroup = {
  title: "A2A 1.0, servers",
  requirements: [
    {
      id: "v1-S1",
      text: "Every agent has a card at /.well-known/agent-card.json with all required fields.",
      source: "A2A 1.0 §8.1, §14.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S2",
      text:
        "The card declares every binding and version that is served, each with a URL that " +
        "works.",
      source: "A2A 1.0 §5.2, §8.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S3",
      text:
        "The interfaces on the card are in the agent's order of preference, and none is " +
        "missing.",
      source: "A2A 1.0 §8.3.1",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S4",
      text:
        "A card can be cached: it has a Cache-Control with max-age and an ETag. It " +
        "contains no secrets.",
      source: "A2A 1.0 §8.6.1, §14.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S5",
      text: "All bindings offer the same operations, results, errors and access rules.",
      source: "A2A 1.0 §5.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S6",
      text:
        "A request is served in the Major.Minor version that it requests; an unsupported " +
        "version is rejected with VersionNotSupported.",
      source: "A2A 1.0 §3.6.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S7",
      text: "A missing or empty version means 0.3, and the patch number of a version is ignored.",
      source: "A2A 1.0 §3.6",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S8",
      text: "Sending a message returns a task or a message.",
      source: "A2A 1.0 §3.1.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S9",
      text: "A message to an ended task is rejected with UnsupportedOperation.",
      source: "A2A 1.0 §3.1.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S10",
      text:
        "A part with a media type that the agent does not accept is rejected with " +
        "ContentTypeNotSupported.",
      source: "A2A 1.0 §3.1.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S11",
      text:
        "By default a send waits until its task has ended or needs the caller, and " +
        "returns the current state and artifacts.",
      source: "A2A 1.0 §3.2.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S12",
      text: "A send with returnImmediately returns as soon as the task exists.",
      source: "A2A 1.0 §3.2.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S13",
      text: "Output uses the media types that the caller accepts, as far as possible.",
      source: "A2A 1.0 §4.1.5",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S14",
      text:
        "A stream is either a single message, or the task followed by its updates; it " +
        "ends when the task does, and events are sent immediately.",
      source: "A2A 1.0 §3.1.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S15",
      text: "Events arrive in the order in which they occurred.",
      source: "A2A 1.0 §3.5.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S16",
      text:
        "All streams of a task deliver the same events in the same order, and closing one " +
        "of them does not affect the others.",
      source: "A2A 1.0 §3.5.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S17",
      text: "A subscription starts with the task and lasts until the task ends.",
      source: "A2A 1.0 §3.1.6",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S18",
      text:
        "Subscribing to an ended task is rejected with UnsupportedOperation, and to an " +
        "unknown one with TaskNotFound.",
      source: "A2A 1.0 §3.1.6",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S19",
      text: "Getting a task returns its current state; an unknown task is TaskNotFound.",
      source: "A2A 1.0 §3.1.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S20",
      text: "Sending, getting and listing never return more history messages than requested.",
      source: "A2A 1.0 §3.2.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S21",
      text:
        "A historyLength of 0 omits the history; otherwise the history is ordered oldest " +
        "first and its messages are complete.",
      source: "A2A 1.0 §3.2.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S22",
      text:
        "A list contains only tasks that the caller may see, newest status first, in " +
        "pages connected by page tokens.",
      source: "A2A 1.0 §3.1.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S23",
      text:
        "Each page of tasks has a nextPageToken, empty on the last page, and includes " +
        "artifacts only if requested.",
      source: "A2A 1.0 §3.1.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S24",
      text:
        "A page has 1 to 100 tasks, 50 by default; an invalid filter or page size is " +
        "rejected.",
      source: "A2A 1.0 §3.1.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S25",
      text:
        "Canceling returns the canceled task, also the second time. A task that ended in " +
        "another state is TaskNotCancelable, an unknown one TaskNotFound.",
      source: "A2A 1.0 §3.1.5, §3.3.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S26",
      text:
        "If the card does not declare push notifications, all four push operations are " +
        "rejected with PushNotificationNotSupported.",
      source: "A2A 1.0 §3.3.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S27",
      text:
        "If the card does not declare streaming, streams and subscriptions are rejected " +
        "with UnsupportedOperation.",
      source: "A2A 1.0 §3.3.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S28",
      text:
        "Requesting an extended card that the card does not declare is " +
        "UnsupportedOperation; one that is declared but missing is " +
        "ExtendedAgentCardNotConfigured.",
      source: "A2A 1.0 §3.3.4",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S29",
      text:
        "A caller that does not declare an extension which the agent requires is rejected " +
        "with ExtensionSupportRequired.",
      source: "A2A 1.0 §3.3.4, §4.6.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S30",
      text:
        "An extension is used in the requested version or not at all; a breaking change " +
        "gets a URI of its own.",
      source: "A2A 1.0 §4.6.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S31",
      text:
        "Optional extensions that the agent does not support are ignored, and the active " +
        "ones are listed in the A2A-Extensions header of the response.",
      source: "A2A 1.0 §4.6.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S32",
      text:
        "Data and methods of extensions are validated and authorized as strictly as all " +
        "other input.",
      source: "A2A 1.0 §4.6.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S33",
      text: "A contextId generated by the server is included in the returned task or message.",
      source: "A2A 1.0 §3.4.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S34",
      text:
        "A contextId from the caller that cannot be used is rejected and never replaced " +
        "by another.",
      source: "A2A 1.0 §3.4.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S35",
      text:
        "Task ids are generated by the server and unique; a message that names an unknown " +
        "task is TaskNotFound and creates no task.",
      source: "A2A 1.0 §3.4.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S36",
      text:
        "A message with a taskId belongs to the context of that task; a different " +
        "contextId is rejected.",
      source: "A2A 1.0 §3.4.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S37",
      text:
        "Agents receive the earlier conversation of a context and the ids of referenced " +
        "tasks, and the lifetime of a context is documented.",
      source: "A2A 1.0 §3.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S38",
      text: "Results of an agent are in artifacts; messages are for communication.",
      source: "A2A 1.0 §3.7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S39",
      text:
        "A push config takes effect when it is created and is kept until it is deleted or " +
        "its task is removed.",
      source: "A2A 1.0 §3.1.7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S40",
      text:
        "A push config is returned as it was given. One that is missing or belongs to " +
        "another caller is rejected, and a list contains all configs of a task.",
      source: "A2A 1.0 §3.1.8, §3.1.9",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S41",
      text:
        "A deleted push config is permanently removed, receives no further notifications, " +
        "and deleting it again succeeds.",
      source: "A2A 1.0 §3.1.10",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S42",
      text:
        "Each notification is attempted at least once and carries the configured " +
        "Authorization. Its body is a stream response with exactly one member.",
      source: "A2A 1.0 §4.3.3, §13.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S43",
      text:
        "Webhook requests time out after 10 to 30 seconds and are retried with increasing " +
        "delays. Addresses inside the network are rejected, HTTPS is preferred, secrets " +
        "are kept safe, and a notification has a timestamp.",
      source: "A2A 1.0 §13.2",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S44",
      text: "JSON uses camelCase names, and enum values are the names in the proto.",
      source: "A2A 1.0 §5.5",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S45",
      text: "Times are ISO 8601 in UTC with a Z and milliseconds.",
      source: "A2A 1.0 §5.6.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S46",
      text:
        "Required fields are always present and required lists are not empty; a request " +
        "that violates this is rejected.",
      source: "A2A 1.0 §5.7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S47",
      text: "Unknown fields are ignored.",
      source: "A2A 1.0 §5.7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S48",
      text:
        "Input is validated before it is used, and an error names the invalid field and " +
        "what it must be.",
      source: "A2A 1.0 §3.3.2, §13.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S49",
      text: "Each error has a code and a message, and its details are objects with an @type.",
      source: "A2A 1.0 §3.3.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S50",
      text:
        "JSON-RPC is version 2.0 with the codes of the specification, and a stream " +
        "consists of server-sent events that each contain a complete response.",
      source: "A2A 1.0 §9",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S51",
      text:
        "REST uses the paths, verbs and camelCase query parameters of the specification, " +
        "and an error is a google.rpc.Status with an ErrorInfo.",
      source: "A2A 1.0 §11",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S52",
      text: "REST uses application/a2a+json in UTF-8.",
      source: "A2A 1.0 §11.1, §14.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S53",
      text:
        "gRPC serves A2AService, over TLS if it is configured, reads from metadata what " +
        "HTTP sends as headers, and adds an ErrorInfo to the details of the status.",
      source: "A2A 1.0 §10",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S54",
      text:
        "Every request is authenticated. Missing or wrong credentials are rejected with " +
        "the error of the binding and a challenge that names the scheme.",
      source: "A2A 1.0 §7.4, §3.3.2",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S55",
      text:
        "A caller without a permission is rejected with an authorization error that names " +
        "what is missing and nothing else.",
      source: "A2A 1.0 §3.3.2",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S56",
      text:
        "Each operation is authorized before any lookup and sees only what the caller may " +
        "see. A missing resource and a forbidden one get the same response.",
      source: "A2A 1.0 §13.1, §3.3.2",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S57",
      text:
        "The extended card is served to authenticated callers with the permission, can be " +
        "cached, and contains no internal information.",
      source: "A2A 1.0 §13.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S58",
      text:
        "An agent that needs authorization sets its task to auth-required with a status " +
        "message that says what is needed; credentials are sent out of band.",
      source: "A2A 1.0 §7.6.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S59",
      text: "While a task is auth-required its streams stay open and it accepts messages.",
      source: "A2A 1.0 §7.6",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S60",
      text:
        "The state auth-required does not authorize anything, and credentials for one " +
        "message do not apply to the next.",
      source: "A2A 1.0 §7.6.4",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S61",
      text:
        "A signed card is signed over its canonical JSON without the signatures, with alg " +
        "and kid in the protected header.",
      source: "A2A 1.0 §8.4",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S62",
      text: "Production deployments use a current version of TLS.",
      source: "A2A 1.0 §7.1, §13.4",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S63",
      text:
        "Credentials are treated as secrets, logs contain neither credentials nor " +
        "personal data, and content and file URLs are not trusted.",
      source: "A2A 1.0 §13.4, §14.1",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S64",
      text:
        "Sizes, media types and rates are limited with proper errors, actions are " +
        "audited, and old data is deleted.",
      source: "A2A 1.0 §13.4",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S65",
      text:
        "Transient failures are distinguished from permanent ones, can say when to retry, " +
        "and are logged.",
      source: "A2A 1.0 §3.3.2",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S66",
      text:
        "A card names official bindings only: one of our own would need all operations with the same " +
        "data and meaning, a written mapping and a URI as its name.",
      source: "A2A 1.0 §5.8, §12",
      milestone: "bindings",
      status: "proven",
    },
  ],
};
