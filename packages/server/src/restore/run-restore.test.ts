import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type Discovery, KubeError, silentLogger } from '@lateen/kube'
import { waitingClock } from '../../../../tools/test/waiting-clock.ts'
import { createBlockWorkers } from '../workers/block-workers.ts'
import { openBackupArchive } from './archive/open-backup-archive.ts'
import { tarEnd, versionEntry } from './archive/testing/raw-tar.ts'
import { defaultPriorities } from './order/priorities.ts'
import type { RestorePorts, RestoreRequest } from './restore-request.ts'
import { runRestore } from './run-restore.ts'
import type { RestoreSink } from './sink/sink.ts'
import { noBackedUpVolumes, noVolumeRestore } from './volumes/volume-restore.ts'

const { signal } = new AbortController()

const request: RestoreRequest = {
  restore: {
    ...{ apiVersion: 'velero.io/v1', kind: 'Restore', metadata: { name: 'again', namespace: 'velero' } },
    spec: { backupName: 'empty' },
  },
  backup: {
    ...{ apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'empty', namespace: 'velero' } },
    spec: {},
  },
  volumes: noBackedUpVolumes,
  priorities: defaultPriorities,
}

/** An API server that is away until a moment, and a clock that goes when somebody waits. */
function serverBackAt(backAtMs: number) {
  const clock = waitingClock()
  const answer = async () => {
    if (clock.now() < backAtMs) throw new KubeError('Unreachable', { message: 'away', retryable: true })
    return []
  }
  const discovery = { refresh: answer, all: answer, preferred: answer } as unknown as Discovery
  return { clock, discovery }
}

async function portsFor(t: TestContext, server: ReturnType<typeof serverBackAt>): Promise<RestorePorts> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-run-restore-'))
  t.after(() => rm(scratch, { recursive: true }))
  const stream = Readable.from([gzipSync(Buffer.concat([versionEntry, tarEnd]))])
  const archive = await openBackupArchive({ stream, scratch, signal })
  t.after(() => archive[Symbol.asyncDispose]())
  return {
    ...server,
    archive,
    sink: { writes: true } as RestoreSink,
    newUid: () => 'u',
    log: silentLogger,
    actions: [],
    volumes: noVolumeRestore,
    workers: createBlockWorkers({ count: 1 }),
    timeouts: { resource: 1_000, terminating: 1_000 },
  }
}

describe('The beginning of a restore', () => {
  it('outlasts an API server that is away for more than a minute', async t => {
    const outcome = await runRestore(request, await portsFor(t, serverBackAt(100_000)), signal)
    assert.equal(outcome.errors, 0)
  })

  it('ends with the reason when it stays away', async t => {
    const ports = await portsFor(t, serverBackAt(Number.POSITIVE_INFINITY))
    await assert.rejects(runRestore(request, ports, signal), { code: 'Unreachable' })
  })
})
