import { messageCodecs } from "../binary/message.ts";
import { encodeBase64 } from "../binary/scalars.ts";
import type { ProtoTables, ServiceTables } from "../binary/wire-format.ts";
import { TABLES as V03 } from "../v0_3/tables.gen.ts";
import { TABLES as V1 } from "../v1/tables.gen.ts";
import { type ProtoFile, describeFile } from "./descriptors.ts";

/** grpc/health/v1/health.proto. */
const HEALTH = {
  service: "grpc.health.v1.Health",
  rpcs: {
    Check: ["HealthCheckRequest", "HealthCheckResponse"],
    Watch: ["HealthCheckRequest", "HealthCheckResponse", "stream"],
  },
  messages: {
    HealthCheckRequest: { service: [1, "string"] },
    HealthCheckResponse: { status: [1, "ServingStatus"] },
  },
  enums: { ServingStatus: ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] },
} as const satisfies ServiceTables;

const health = messageCodecs(HEALTH);

/** The standard service that says whether a server works. */
export const HEALTH_SERVICE = {
  name: HEALTH.service,
  /** The service that the client asks about; empty for the whole server. */
  decodeRequest: (bytes: Uint8Array): string => {
    const { service } = health("HealthCheckRequest").decode(bytes) as { readonly service?: string };
    return service ?? "";
  },
  encodeResponse: (status: (typeof HEALTH.enums.ServingStatus)[number]): Uint8Array =>
    health("HealthCheckResponse").encode({ status }),
} as const;

/** grpc/reflection/v1/reflection.proto; v1alpha differs only in its name. */
const REFLECTION = {
  rpcs: { ServerReflectionInfo: ["ServerReflectionRequest", "ServerReflectionResponse", "stream"] },
  messages: {
    ServerReflectionRequest: {
      host: [1, "string"],
      fileByFilename: [3, "string", "oneof message_request"],
      fileContainingSymbol: [4, "string", "oneof message_request"],
      fileContainingExtension: [5, "ExtensionRequest", "oneof message_request"],
      allExtensionNumbersOfType: [6, "string", "oneof message_request"],
      listServices: [7, "string", "oneof message_request"],
    },
    ExtensionRequest: { containingType: [1, "string"], extensionNumber: [2, "int32"] },
    ServerReflectionResponse: {
      validHost: [1, "string"],
      originalRequest: [2, "ServerReflectionRequest"],
      fileDescriptorResponse: [4, "FileDescriptorResponse", "oneof message_response"],
      allExtensionNumbersResponse: [5, "ExtensionNumberResponse", "oneof message_response"],
      listServicesResponse: [6, "ListServiceResponse", "oneof message_response"],
      errorResponse: [7, "ErrorResponse", "oneof message_response"],
    },
    FileDescriptorResponse: { fileDescriptorProto: [1, "bytes", "repeated"] },
    ExtensionNumberResponse: {
      baseTypeName: [1, "string"],
      extensionNumber: [2, "int32", "repeated"],
    },
    ListServiceResponse: { service: [1, "ServiceResponse", "repeated"] },
    ServiceResponse: { name: [1, "string"] },
    ErrorResponse: { errorCode: [1, "int32"], errorMessage: [2, "string"] },
  },
  enums: {},
} as const satisfies ProtoTables & Pick<ServiceTables, "rpcs">;

const PACKAGES = ["grpc.reflection.v1", "grpc.reflection.v1alpha"] as const;

/** The paths of reflection, in both of its versions. */
export const REFLECTION_PATHS: ReadonlySet<string> = new Set(
  PACKAGES.map((name) => `/${name}.ServerReflection/ServerReflectionInfo`),
);

const reflection = messageCodecs(REFLECTION);

interface ReflectionRequest {
  readonly host?: string;
  readonly fileByFilename?: string;
  readonly fileContainingSymbol?: string;
  readonly listServices?: string;
}

/** Answers one request of a reflection stream. */
export function reflect(bytes: Uint8Array): Uint8Array {
  const request = reflection("ServerReflectionRequest").decode(bytes) as ReflectionRequest;
  return reflection("ServerReflectionResponse").encode({
    validHost: request.host ?? "",
    originalRequest: request,
    ...answerTo(request),
  });
}

function answerTo(request: ReflectionRequest): object {
  const { fileByFilename, fileContainingSymbol, listServices } = request;
  files ??= describeAll();
  if (listServices !== undefined) {
    const service = SERVICES.map((name) => ({ name }));
    return { listServicesResponse: { service } };
  }
  const found =
    fileByFilename === undefined
      ? files.find(({ symbols }) => symbols.has(fileContainingSymbol ?? ""))
      : files.find(({ name }) => name === fileByFilename);
  if (found !== undefined) {
    const needed = withDependencies(found, files);
    const fileDescriptorProto = needed.map(({ bytes }) => encodeBase64(bytes));
    return { fileDescriptorResponse: { fileDescriptorProto } };
  }
  const isUnknown = fileByFilename !== undefined || fileContainingSymbol !== undefined;
  const [errorCode, errorMessage] = isUnknown
    ? [NOT_FOUND, "there is no such file or symbol"]
    : [UNIMPLEMENTED, "proto3 has no extensions"];
  return { errorResponse: { errorCode, errorMessage } };
}

const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;

function withDependencies(file: ProtoFile, all: readonly ProtoFile[]): readonly ProtoFile[] {
  return [file, ...all.filter(({ name }) => file.dependencies.includes(name))];
}

/** Created when a client first asks. */
let files: readonly ProtoFile[] | undefined;

/** The services of a server. */
export const SERVICES: readonly string[] = [
  V03.service,
  V1.service,
  HEALTH.service,
  ...PACKAGES.map((name) => `${name}.ServerReflection`),
];

function describeAll(): readonly ProtoFile[] {
  return [
    describeFile({
      name: "a2a.v1.proto",
      package: "a2a.v1",
      tables: V03,
      // The tables have the JSON names, which the proto file sets with `json_name`.
      protoNames: {
        "SendMessageRequest.message": "request",
        "SendMessageResponse.message": "msg",
        "StreamResponse.message": "msg",
        "TaskStatus.message": "update",
      },
    }),
    describeFile({ name: "lf.a2a.v1.proto", package: "lf.a2a.v1", tables: V1 }),
    describeFile({
      name: "grpc/health/v1/health.proto",
      package: "grpc.health.v1",
      tables: HEALTH,
    }),
    ...PACKAGES.map((name) =>
      describeFile({
        name: `${name.replaceAll(".", "/")}/reflection.proto`,
        package: name,
        tables: { ...REFLECTION, service: `${name}.ServerReflection` },
        clientStreams: ["ServerReflectionInfo"],
      }),
    ),
    ...Object.entries(GOOGLE_FILES).map(([name, tables]) =>
      describeFile({
        name: `google/protobuf/${name}.proto`,
        package: "google.protobuf",
        tables,
      }),
    ),
  ];
}

/** The files of Google that ours import. */
const GOOGLE_FILES: Readonly<Record<string, ProtoTables>> = {
  empty: { messages: { Empty: {} }, enums: {} },
  timestamp: { messages: { Timestamp: { seconds: [1, "int64"], nanos: [2, "int32"] } }, enums: {} },
  struct: {
    messages: {
      Struct: { fields: [1, "Value", "map"] },
      Value: {
        nullValue: [1, "NullValue", "oneof kind"],
        numberValue: [2, "double", "oneof kind"],
        stringValue: [3, "string", "oneof kind"],
        boolValue: [4, "bool", "oneof kind"],
        structValue: [5, "Struct", "oneof kind"],
        listValue: [6, "ListValue", "oneof kind"],
      },
      ListValue: { values: [1, "Value", "repeated"] },
    },
    enums: { NullValue: ["NULL_VALUE"] },
  },
};
