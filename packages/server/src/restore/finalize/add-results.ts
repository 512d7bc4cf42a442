import type { Restore } from '@lateen/api'
import type { BackupStore } from '../../backup-store/backup-store.ts'
import type { ResultList, Results } from '../../report/report.ts'
import { mergeResults } from '../hooks/merge-results.ts'

/** Adds to the results of a restore what they do not say yet. Throws ObjectStoreError and the signal's reason. */
export async function addResults(
  { metadata }: Restore,
  added: Results,
  { store, signal }: { store: BackupStore; signal: AbortSignal },
): Promise<void> {
  const file = { of: 'restore', name: metadata.name ?? '', file: 'results' } as const
  const stored = ((await store.getJson(file, signal)) ?? {}) as Partial<Results>
  const known = { errors: stored.errors ?? {}, warnings: stored.warnings ?? {} }
  await store.putJson(file, mergeResults(known, withoutKnown(added, known)), signal)
}

/** One who died after this file was stored begins again, and would tell everything twice. */
function withoutKnown(added: Results, known: Results): Results {
  return {
    errors: listWithoutKnown(added.errors, known.errors),
    warnings: listWithoutKnown(added.warnings, known.warnings),
  }
}

function listWithoutKnown(added: ResultList, known: ResultList): ResultList {
  const fresh = (texts: string[] = [], old: string[] = []) => texts.filter(text => !old.includes(text))
  const namespaces = Object.entries(added.namespaces ?? {}).map(
    ([name, texts]) => [name, fresh(texts, known.namespaces?.[name])] as const,
  )
  return {
    velero: fresh(added.velero, known.velero),
    cluster: fresh(added.cluster, known.cluster),
    namespaces: Object.fromEntries(namespaces.filter(([, texts]) => texts.length > 0)),
  }
}
