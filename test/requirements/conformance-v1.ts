import type { RequirementGroup } from "./requirement.ts";

/** What A2A 1.0 asks of a server. */
export const CONFORMANCE_V1: RequirementGroup = {
  title: "A2A 1.0, servers",
  requirements: [
    {
      id: "v1-S1",
      text:
        "Every agent has a card at /.well-known/agent-card.json with all that a card must " +
        "have.",
      source: "A2A 1.0 §8.1, §14.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S2",
      text:
        "The card names every binding and version that is served, each with an address where " +
        "it really is.",
      source: "A2A 1.0 §5.2, §8.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S3",
      text:
        "The interfaces on the card stand in the order in which the agent prefers them, and " +
        "none is left out.",
      source: "A2A 1.0 §8.3.1",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S4",
      text:
        "A card may be cached: it has a Cache-Control with max-age and an ETag. It holds no " +
        "secret.",
      source: "A2A 1.0 §8.6.1, §14.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S5",
      text:
        "What can be done, what comes of it, which errors there are and who may ask is the " +
        "same on every binding.",
      source: "A2A 1.0 §5.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S6",
      text:
        "A request is served in the Major.Minor version it asks for; a version that is not " +
        "served is refused as VersionNotSupported.",
      source: "A2A 1.0 §3.6.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S7",
      text: "No version, or an empty one, means 0.3, and the patch of a version changes nothing.",
      source: "A2A 1.0 §3.6",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S8",
      text: "Sending a message is answered with a task or with a message.",
      source: "A2A 1.0 §3.1.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S9",
      text: "A message to a task that has ended is refused as UnsupportedOperation.",
      source: "A2A 1.0 §3.1.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S10",
      text:
        "A part of a media type that the agent does not take is refused as " +
        "ContentTypeNotSupported.",
      source: "A2A 1.0 §3.1.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S11",
      text:
        "Unless told otherwise, a send waits until its task has ended or waits for the " +
        "caller, and answers with the state and the artifacts of that moment.",
      source: "A2A 1.0 §3.2.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S12",
      text: "A send with returnImmediately answers as soon as there is a task.",
      source: "A2A 1.0 §3.2.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S13",
      text:
        "Output fits the media types that the caller says it accepts, as far as that can be " +
        "done.",
      source: "A2A 1.0 §4.1.5",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S14",
      text:
        "A stream is one message and its end, or the task and then its updates; it ends when " +
        "the task does, and begins to tell at once.",
      source: "A2A 1.0 §3.1.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S15",
      text: "Events arrive in the order in which they happened.",
      source: "A2A 1.0 §3.5.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S16",
      text:
        "All streams of a task tell the same events in the same order, and closing one of " +
        "them does nothing to the others.",
      source: "A2A 1.0 §3.5.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S17",
      text: "A subscription begins with the task and lasts until it ends.",
      source: "A2A 1.0 §3.1.6",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S18",
      text:
        "Subscribing to a task that has ended is refused as UnsupportedOperation, and to an " +
        "unknown one as TaskNotFound.",
      source: "A2A 1.0 §3.1.6",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S19",
      text: "A task that is asked for is told as it stands now; an unknown one is TaskNotFound.",
      source: "A2A 1.0 §3.1.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S20",
      text:
        "Sending, getting and listing never return more messages of the history than were " +
        "asked for.",
      source: "A2A 1.0 §3.2.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S21",
      text:
        "A historyLength of 0 leaves the history out; otherwise it is in order, oldest " +
        "first, and its messages are whole.",
      source: "A2A 1.0 §3.2.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S22",
      text:
        "A list has only tasks that the caller may see, newest status first, in pages that a " +
        "token leads through.",
      source: "A2A 1.0 §3.1.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S23",
      text:
        "Each page of tasks has a nextPageToken, empty on the last one, and artifacts only " +
        "where they were asked for.",
      source: "A2A 1.0 §3.1.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S24",
      text:
        "A page has 1 to 100 tasks, 50 unless told otherwise; what cannot be a filter or a " +
        "size is refused.",
      source: "A2A 1.0 §3.1.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S25",
      text:
        "Canceling answers with the canceled task, also a second time. A task that ended " +
        "otherwise is TaskNotCancelable, an unknown one TaskNotFound.",
      source: "A2A 1.0 §3.1.5, §3.3.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S26",
      text:
        "Without push notifications on the card, all four operations about them are refused " +
        "as PushNotificationNotSupported.",
      source: "A2A 1.0 §3.3.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S27",
      text:
        "Without streaming on the card, streams and subscriptions are refused as " +
        "UnsupportedOperation.",
      source: "A2A 1.0 §3.3.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S28",
      text:
        "An extended card that the card does not announce is UnsupportedOperation; one that " +
        "is announced and missing is ExtendedAgentCardNotConfigured.",
      source: "A2A 1.0 §3.3.4",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S29",
      text:
        "A caller that does not declare an extension which the agent requires is refused as " +
        "ExtensionSupportRequired.",
      source: "A2A 1.0 §3.3.4, §4.6.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S30",
      text:
        "An extension is used in the version that was asked for or not at all; a breaking " +
        "change of it has a URI of its own.",
      source: "A2A 1.0 §4.6.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S31",
      text:
        "Optional extensions that the agent does not know are ignored, and those that are " +
        "active are named in the A2A-Extensions header of the answer.",
      source: "A2A 1.0 §4.6.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S32",
      text:
        "Data and methods of extensions are checked, and allowed, as strictly as everything " +
        "else.",
      source: "A2A 1.0 §4.6.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S33",
      text: "A contextId that the server made is in the task or message that it answers with.",
      source: "A2A 1.0 §3.4.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S34",
      text:
        "A contextId of the caller that cannot be used is refused and never replaced by " +
        "another.",
      source: "A2A 1.0 §3.4.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S35",
      text:
        "Task ids are made by the server, each once; a message that names an unknown task is " +
        "TaskNotFound and begins none.",
      source: "A2A 1.0 §3.4.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S36",
      text:
        "A message with a taskId belongs to the context of that task; another contextId " +
        "beside it is refused.",
      source: "A2A 1.0 §3.4.3",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S37",
      text:
        "Agents are given the earlier conversation of a context and the ids of referenced " +
        "tasks, and how long a context lasts is documented.",
      source: "A2A 1.0 §3.4",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S38",
      text: "What an agent produces is in artifacts; messages are for talking.",
      source: "A2A 1.0 §3.7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S39",
      text:
        "A push config takes effect when it is created and is kept until it is deleted or " +
        "its task is gone.",
      source: "A2A 1.0 §3.1.7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S40",
      text:
        "A push config is returned as it was given, one that is missing or belongs to " +
        "somebody else is refused, and a list has all of a task.",
      source: "A2A 1.0 §3.1.8, §3.1.9",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S41",
      text:
        "A deleted push config is gone for good, nothing is delivered to it any more, and " +
        "deleting it again succeeds.",
      source: "A2A 1.0 §3.1.10",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S42",
      text:
        "A notification is tried at least once, carries the configured Authorization, and " +
        "its body is a stream response with exactly one member.",
      source: "A2A 1.0 §4.3.3, §13.2",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S43",
      text:
        "Webhooks are given 10 to 30 seconds and are tried again with growing pauses. " +
        "Addresses inside the network are refused, HTTPS is preferred, secrets are kept " +
        "safe, and a notification has a timestamp.",
      source: "A2A 1.0 §13.2",
      milestone: "guard",
      status: "planned",
    },
    {
      id: "v1-S44",
      text: "JSON has camelCase names, and enums are the names in the proto.",
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
        "What is required is always there, and a list that is required is not empty; " +
        "requests where it is not so are refused.",
      source: "A2A 1.0 §5.7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S47",
      text: "Fields that nobody knows are ignored.",
      source: "A2A 1.0 §5.7",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S48",
      text:
        "Input is checked before anything is done with it, and a refusal says which field is " +
        "wrong and what it must be.",
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
        "JSON-RPC is 2.0 with the codes of the table, and a stream is server-sent events " +
        "that each hold a whole response.",
      source: "A2A 1.0 §9",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S51",
      text:
        "REST has the paths, verbs and camelCase query of the table, and an error is a " +
        "google.rpc.Status with an ErrorInfo.",
      source: "A2A 1.0 §11",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S52",
      text: "REST speaks application/a2a+json in UTF-8.",
      source: "A2A 1.0 §11.1, §14.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S53",
      text:
        "gRPC serves A2AService, over TLS where it is configured, reads from the metadata " +
        "what HTTP has in headers, and puts an ErrorInfo into the details of the status.",
      source: "A2A 1.0 §10",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S54",
      text:
        "Each request is authenticated, and missing or wrong credentials are refused with a " +
        "challenge that names the scheme, in the code of the binding.",
      source: "A2A 1.0 §7.4, §3.3.2",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S55",
      text:
        "Who lacks a permission is refused with an authorization error that names what is " +
        "missing and nothing more.",
      source: "A2A 1.0 §3.3.2",
      milestone: "guard",
      status: "planned",
    },
    {
      id: "v1-S56",
      text:
        "Each operation is authorized before it looks anything up, sees only what the caller " +
        "may see, and answers alike for what is missing and what is forbidden.",
      source: "A2A 1.0 §13.1, §3.3.2",
      milestone: "guard",
      status: "planned",
    },
    {
      id: "v1-S57",
      text:
        "The extended card is for authenticated callers with the permission, may be cached, " +
        "and tells nothing internal.",
      source: "A2A 1.0 §13.3",
      milestone: "cards",
      status: "proven",
    },
    {
      id: "v1-S58",
      text:
        "An agent that needs an authorization has a task in auth-required whose status says " +
        "in a message what is needed; credentials come by another way.",
      source: "A2A 1.0 §7.6.1",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S59",
      text: "While a task is in auth-required its streams stay open and it takes messages.",
      source: "A2A 1.0 §7.6",
      milestone: "bindings",
      status: "proven",
    },
    {
      id: "v1-S60",
      text:
        "Being in auth-required authorizes nothing, and credentials for one message do not " +
        "cover the next.",
      source: "A2A 1.0 §7.6.4",
      milestone: "guard",
      status: "planned",
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
      text: "In production there is TLS of a current version.",
      source: "A2A 1.0 §7.1, §13.4",
      milestone: "guard",
      status: "planned",
    },
    {
      id: "v1-S63",
      text:
        "Credentials are treated as secrets, logs have neither them nor personal data, and " +
        "content and the addresses of files are not trusted.",
      source: "A2A 1.0 §13.4, §14.1",
      milestone: "guard",
      status: "planned",
    },
    {
      id: "v1-S64",
      text:
        "Sizes, media types and rates are limited with proper errors, who did what is on " +
        "record, and what is old is deleted.",
      source: "A2A 1.0 §13.4",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S65",
      text:
        "Failures that may pass are told from those that will not, may say when to try " +
        "again, and are logged.",
      source: "A2A 1.0 §3.3.2",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "v1-S66",
      text:
        "A binding of our own making would have all operations with the same data and " +
        "meaning, a written mapping and a URI as its name.",
      source: "A2A 1.0 §5.8, §12",
      milestone: "bindings",
      status: "planned",
    },
  ],
};
