/**
 * The pattern of a path with parameters: `/tasks/{taskId}:cancel`. Each is a group of the match,
 * still percent-encoded.
 *
 * @param prefix the source of a pattern that comes first
 */
export function pathPattern(path: string, prefix = ""): RegExp {
  return new RegExp(`^${prefix}${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);
}
