import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupStatus } from '@lateen/api'
import { ObjectStoreError } from '@lateen/plugin'
import { anotherOfTheName, isAnother } from './another-backup.ts'

function backup(startTimestamp?: string | null): Backup {
  const status = { phase: 'Completed', ...(startTimestamp !== undefined && { startTimestamp }) }
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name: 'pre-upgrade', uid: 'here' },
    spec: {},
    status: status as BackupStatus,
  }
}

const first = '2026-03-01T12:00:00Z'
const later = '2026-03-02T12:00:00Z'

describe('what is stored under the name of a backup', () => {
  it('is another one when it began at another time', () => {
    assert.ok(isAnother(backup(first), backup(later)))
    assert.ok(isAnother(backup(later), backup(first)))
  })

  it('is the same one however the time is written', () => {
    for (const same of [
      first,
      '2026-03-01T12:00:00+00:00',
      '2026-03-01T13:00:00+01:00',
      '2026-03-01T12:00:00.75Z',
    ])
      assert.equal(isAnother(backup(first), backup(same)), false, same)
  })

  it('counts as the same where either does not say when it began', () => {
    for (const unknown of [undefined, null, '', 'yesterday']) {
      assert.equal(isAnother(backup(unknown), backup(later)), false)
      assert.equal(isAnother(backup(first), backup(unknown)), false)
    }
  })
})

describe('the name of a backup that is deleted', () => {
  /** One name in a bucket, with the metadata and the claims that it has there. */
  const ask = (stored: Backup | Error | undefined, claims: readonly string[] = []) =>
    anotherOfTheName(
      backup(first),
      {
        async getMetadata() {
          if (stored instanceof Error) throw stored
          return stored
        },
        async hasBeside({ uid }) {
          return claims.some(claim => claim !== uid)
        },
      },
      new AbortController().signal,
    )

  it('was taken again by a backup that the deletion of a stale object would have lost', async () => {
    assert.equal(await ask(backup(later)), `a backup of the same name that began at ${later}`)
  })

  it('was taken again by one that has not ended yet, after a killed attempt had deleted the files', async () => {
    assert.match((await ask(undefined, ['there'])) ?? '', /that another server is taking/)
  })

  it('is its own while its metadata is there, or nothing, or nobody can read it', async () => {
    assert.equal(await ask(backup(first)), undefined)
    assert.equal(await ask(undefined), undefined)
    assert.equal(await ask(undefined, ['here']), undefined)
    const damaged = new ObjectStoreError('STORE_FAULT', { reason: 'is not JSON', retryable: false })
    assert.equal(await ask(damaged, ['there']), undefined)
  })

  it('is not known while the bucket does not answer', async () => {
    const away = new ObjectStoreError('STORE_FAULT', { reason: 'away', retryable: true })
    await assert.rejects(ask(away), /away/)
  })
})
