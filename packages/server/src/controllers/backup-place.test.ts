import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { KubeError, silentLogger, systemClock } from '@lateen/kube'
import type { BackupStore } from '../backup-store/backup-store.ts'
import { beginOrRelease, type PlaceScope, releaseName } from './backup-place.ts'

const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'nightly', namespace: 'velero', uid: 'u' },
  spec: {},
}
const conflict = new KubeError('Conflict', { message: 'it was changed', status: 409 })

function given(signal = new AbortController().signal) {
  const released: string[] = []
  const store = { deleteClaim: async ({ uid }) => void released.push(uid) } as Partial<BackupStore>
  const scope = { clock: systemClock, log: silentLogger, signal } as PlaceScope
  return { released, work: { backup, store: store as BackupStore }, scope }
}

describe('The name of a backup that does not begin', () => {
  it('a backup that was cancelled in this moment kept its name: it is let go', async () => {
    const { released, work, scope } = given()
    const begin = () => Promise.reject(conflict)
    await assert.rejects(beginOrRelease(begin, work, scope), conflict)
    assert.deepEqual(released, ['u'])
  })

  it('is let go when the backup is gone', async () => {
    const { released, work, scope } = given()
    assert.equal(await beginOrRelease(async () => undefined, work, scope), undefined)
    assert.deepEqual(released, ['u'])
  })

  it('is kept by one that begins, and for the next server', async () => {
    const { released, work, scope } = given()
    assert.equal(await beginOrRelease(async () => backup, work, scope), backup)
    const stopped = given(AbortSignal.abort())
    await assert.rejects(beginOrRelease(() => Promise.reject(conflict), stopped.work, stopped.scope))
    assert.deepEqual([released, stopped.released], [[], []])
  })
})

describe('The claim of a backup that has ended', () => {
  const refusing = { deleteClaim: () => Promise.reject(new Error('access denied')) }

  it('may stay where nobody may delete', async () => {
    const { signal } = new AbortController()
    await releaseName(backup, { store: refusing, log: silentLogger, signal })
  })

  it('is left to the next server when this one stops', async () => {
    const signal = AbortSignal.abort()
    await assert.rejects(releaseName(backup, { store: refusing, log: silentLogger, signal }), {
      name: 'AbortError',
    })
  })
})
