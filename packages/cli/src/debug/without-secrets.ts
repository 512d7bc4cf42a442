import { addressesWithoutSecrets, leftOut } from './addresses-without-secrets.ts'

/** Settings whose values nobody else may know, by the ends of their names. */
const secretName =
  /(password|passwd|passphrase|secret|token|private[-_]?key|api[-_]?key|access[-_]?key([-_]?id)?|signature|authorization)$/i

/** The same in running text, with what follows: `password=…`, `aws_secret_access_key = …`, `\"password\":\"…\"`, `Authorization: Bearer …`. */
const secretInText =
  /((?:password|passwd|passphrase|secret[-_]?access[-_]?key|access[-_]?key[-_]?id|session[-_]?token|private[-_]?key|api[-_]?key|signature|(?<=[?&])sig|x-amz-(?:credential|security-token)|authorization)\\{0,9}["']?\s*[=:]\s*\\{0,9}["']?(?:bearer\s+|basic\s+|aws4-hmac-sha256\s+credential=)?)[^\s"'&,;}]*[^\s"'&,;}\\]/gi

/** Proxies need no scheme: `HTTPS_PROXY=me:password@proxy:3128`, also as a variable of a pod in JSON. */
const proxyInText = /(\b(?:https?|all|ftp)_proxy\\{0,9}["']?\s*[=:]\s*\\{0,9}["']?)[^\s"]*@/gi

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
  const proxy = 'name' in value && typeof value.name === 'string' && /_proxy$/i.test(value.name)
  return Object.fromEntries(
    entries.map(([key, child]) => {
      const isSecret = secretName.test(key) || (variable && key === 'value')
      if (isSecret && typeof child === 'string' && child !== '') return [key, leftOut]
      return [key, withoutSecrets(proxy && key === 'value' ? withoutUser(child) : child)]
    }),
  )
}

/** The same for a line of a log. */
export function textWithoutSecrets(text: string): string {
  return addressesWithoutSecrets(text)
    .replace(proxyInText, (whole, start: string) => (whole.includes('://') ? whole : `${start}${leftOut}@`))
    .replace(secretInText, `$1${leftOut}`)
}

function withoutUser(proxy: unknown): unknown {
  if (typeof proxy !== 'string' || proxy.includes('://')) return proxy
  return proxy.replace(/^.*@/s, `${leftOut}@`)
}
