/** What stands in the place of a value that is left out. */
export const leftOut = '<left out>'

/** Settings whose values nobody else may know, by the ends of their names. */
const secretName =
  /(password|passwd|passphrase|secret|token|private[-_]?key|api[-_]?key|access[-_]?key([-_]?id)?|signature|authorization)$/i

/** The same in running text, with what follows: `password=…`, `aws_secret_access_key = …`, `Authorization: Bearer …`. */
const secretInText =
  /((?:password|passwd|passphrase|secret[-_]?access[-_]?key|access[-_]?key[-_]?id|session[-_]?token|private[-_]?key|api[-_]?key|x-amz-(?:signature|credential|security-token)|authorization)["']?\s*[=:]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s"'&,;}]+/gi

/** The part of a link that lets anybody who has it fetch the file. */
const linkQuery = /(https?:\/\/[^\s"'?]+\?)[^\s"']+/g

/**
 * The user and password of an address. A password may hold a `#` or a `/` that should have been escaped, so that it ends at the last `@` there
 * is: what follows the first colon may be cut away with it. The lengths are bounded because a log may hold whatever others have said.
 */
const addressUser = /:\/\/(?:[^\s"/?#:@]{0,200}:[^\s"]{0,1000}|[^\s"/?#@]{1,1000})@/g

/** Fields that repeat what is elsewhere in the object. */
const repetitions = new Set(['managedFields', 'kubectl.kubernetes.io/last-applied-configuration'])

/**
 * A copy of an object for other eyes: without values of settings whose names tell that they are secret, without the queries of
 * links and the users of addresses, and without the fields that repeat others.
 */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return textWithoutSecrets(value)
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key]) => !repetitions.has(key))
  // The name of an environment variable stands beside its value.
  const variable = 'name' in value && typeof value.name === 'string' && secretName.test(value.name)
  return Object.fromEntries(
    entries.map(([key, child]) => {
      const isSecret = secretName.test(key) || (variable && key === 'value')
      return [key, isSecret && typeof child === 'string' && child !== '' ? leftOut : withoutSecrets(child)]
    }),
  )
}

/** The same for a line of a log. */
export function textWithoutSecrets(text: string): string {
  return text
    .replace(addressUser, `://${leftOut}@`)
    .replace(linkQuery, `$1${leftOut}`)
    .replace(secretInText, `$1${leftOut}`)
}
