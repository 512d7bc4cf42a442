import { allKinds } from '@lateen/api'
import { quoted } from './finding.ts'
import type { PhasedObject } from './stuck-rules.ts'

/** The command that changes a velero.io object by a merge patch. */
export function patchCommand({ kind, metadata }: PhasedObject, patch: object): string {
  const { name = '', namespace = '' } = metadata
  const plural = allKinds.find(each => each.kind === kind)?.plural ?? kind
  const body = quoted(JSON.stringify(patch))
  return `kubectl patch ${plural}.velero.io ${quoted(name)} --namespace ${quoted(namespace)} --type merge --patch ${body}`
}
