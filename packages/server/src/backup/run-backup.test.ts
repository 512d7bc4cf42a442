import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type KubeClient, KubeError, silentLogger } from '@lateen/kube'
import { waitingClock } from '../../../../tools/test/waiting-clock.ts'
import type { BackupPorts } from './backup-request.ts'
import { runBackup } from './run-backup.ts'

const { signal } = new AbortController()

const backup = {
  ...{ apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'nightly', namespace: 'velero' } },
  spec: {},
}

/** An API server that is away until a moment; what comes after the beginning is not reached. */
function portsFor(backAtMs: number): BackupPorts {
  const clock = waitingClock()
  const answer = async () => {
    if (clock.now() < backAtMs) throw new KubeError('Unreachable', { message: 'away', retryable: true })
    return []
  }
  const client = {
    discovery: { refresh: answer, preferred: answer },
    resource: () => ({
      async *list() {
        yield* await answer()
      },
    }),
  } as unknown as KubeClient
  const collect = () => Promise.reject(new Error('begun'))
  return { client, clock, log: silentLogger, collect } as Partial<BackupPorts> as BackupPorts
}

describe('The beginning of a backup', () => {
  it('outlasts an API server that is away for more than a minute', () =>
    assert.rejects(runBackup({ backup }, portsFor(100_000), signal), /begun/))

  it('ends with the reason when it stays away', () =>
    assert.rejects(runBackup({ backup }, portsFor(Number.POSITIVE_INFINITY), signal), {
      code: 'Unreachable',
    }))
})
