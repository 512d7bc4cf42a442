import { createHmac } from 'node:crypto'
import type { ActionItem } from '@lateen/plugin'
import { isJsonObject } from '../restore/items/same-json.ts'

/** Hides the values of Secrets; other objects come back as they are. */
export type SecretMask = (object: ActionItem) => ActionItem

/** Annotations of Secrets may hold their values, too: kubectl apply keeps the whole object in one. */
const hiddenMaps = ['data', 'stringData'] as const
const marks = 8

/**
 * Hides the values of Secrets behind marks that are the same for the same value, and tell nothing else: they depend on a key, which
 * must be random and used for one output only, so that nobody can find out a value by trying.
 */
export function createSecretMask(key: Uint8Array): SecretMask {
  const hide = (value: unknown): string => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `<masked ${createHmac('sha256', key).update(text).digest('hex').slice(0, marks)}>`
  }
  const hideAll = (map: object) =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, hide(value)]))
  return object => {
    if (object.kind !== 'Secret' || object.apiVersion !== 'v1') return object
    const masked: ActionItem = { ...object, metadata: { ...object.metadata } }
    const { annotations } = object.metadata
    if (annotations) masked.metadata.annotations = hideAll(annotations)
    for (const field of hiddenMaps) {
      const map = object[field]
      if (isJsonObject(map)) masked[field] = hideAll(map)
      else if (map !== undefined && map !== null) masked[field] = hide(map)
    }
    return masked
  }
}

/** Hides nothing. */
export const showSecrets: SecretMask = object => object
