import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Backup, BackupKind } from '@lateen/api'
import { type Informer, isConflict } from '@lateen/kube'
import { startObjectServer } from '../../../../tools/test/object-server.ts'
import { LatestObjects } from './latest-objects.ts'
import { beginObject } from './patch-in-phase.ts'

const { signal } = new AbortController()
const startTimestamp = '2026-01-02T03:04:05Z'
const path = 'backups/velero/b'
const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'b', namespace: 'velero', uid: 'u', resourceVersion: '7' },
  spec: {},
  status: { phase: 'ReadyToStart' },
}
const started = { phase: 'InProgress', startTimestamp } as const

/** Begins a backup that is something else by the time it is written. */
async function beginLate(
  meanwhile: Backup['status'],
): Promise<{ begun?: Backup | undefined; error?: unknown }> {
  await using server = await startObjectServer({
    kinds: [BackupKind],
    before: (request, objects) => {
      if (request !== `PATCH ${path}`) return
      const metadata = { ...backup.metadata, resourceVersion: '8' }
      objects.set(path, { ...backup, metadata, status: meanwhile } as Backup)
    },
  })
  server.objects.set(path, backup)
  const latest = new LatestObjects<Backup>({ get: () => undefined } as unknown as Informer<Backup>)
  const body = { spec: backup.spec, status: { ...backup.status, ...started } }
  try {
    const { client } = server
    return { begun: await beginObject(backup, { kind: BackupKind, body }, { client, latest, signal }) }
  } catch (error) {
    return { error }
  }
}

describe('an object that begins', () => {
  it('has begun although the answer to that was lost, and the second try was late', async () => {
    const { begun, error } = await beginLate(started)
    assert.equal(error, undefined)
    assert.deepEqual(begun?.status, started)
  })

  it('does not begin when somebody has changed it', async () => {
    for (const status of [
      { phase: 'Deleting' },
      { ...started, startTimestamp: '2026-01-02T03:04:09Z' },
    ] as const) {
      const { error } = await beginLate(status)
      assert.ok(isConflict(error), String(error))
    }
  })
})
