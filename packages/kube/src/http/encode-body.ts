const escaped = /[<>&\u2028\u2029]/g

/**
 * The JSON of a request's body, with the escapes that Go's encoder writes. They mean the same, but the API server keeps some fields as
 * the bytes that it was sent (`data` of a ControllerRevision) and compares them with what Go writes: with plain characters the next
 * patch of such an object is refused, since "data" is immutable, and its StatefulSet or DaemonSet never gets on.
 */
export function encodeBody(value: unknown): string {
  return JSON.stringify(value).replace(
    escaped,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
