import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { systemClock } from '@lateen/kube'
import { isPluginError } from '@lateen/plugin'
import { createCredentialFiles } from '../../packages/server/src/backup-store/credential-files.ts'
import { newOperation } from '../../packages/server/src/operations/backup-operation.ts'
import { backupOperationPorts } from '../../packages/server/src/operations/plugin-answers.ts'
import type { PluginSession } from '../../packages/server/src/plugin-host/plugin-session.ts'
import { type Snapshotters, snapshotterOpener } from '../../packages/server/src/volumes/snapshotters.ts'
import { memoryLocation } from '../../packages/server/src/volumes/testing/memory-snapshotter.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { veleroMissing } from './backup-pair.ts'
import { collectLog } from './collected-log.ts'
import { openPluginHost, type PluginHost } from './plugin-host-scene.ts'

const skip = await veleroMissing()
const { signal } = new AbortController()
const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }

describe('the snapshotter of velero-plugin-for-aws, without any cloud', { skip, concurrency: false }, () => {
  let folder = ''
  let host: PluginHost
  let session: PluginSession
  let snapshotters: Snapshotters
  const log = collectLog()
  const location = memoryLocation('cloud', {
    provider: 'aws',
    config: { region: 'eu-west-1' },
    credential: { name: 'cloud', key: 'cloud' },
  })
  const scene = new AsyncDisposableStack()

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-aws-snapshots-'))
    scene.defer(() => rm(folder, { recursive: true, force: true }))
    const program = await tool('velero-plugin-for-aws')
    await writeFile(path.join(folder, 'aws'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 })
    host = scene.use(await openPluginHost({ folder }))
    session = scene.use(host.registry.open({ log }))
    const opener = snapshotterOpener({
      client: undefined as never,
      namespace: 'velero',
      readSecretKey: async () =>
        Buffer.from('[default]\naws_access_key_id = nobody\naws_secret_access_key = nothing\n'),
      credentialFiles: scene.use(createCredentialFiles(path.join(folder, 'credentials'), () => 'x')),
    })
    snapshotters = opener(session)
  })

  after(() => scene.disposeAsync())

  it('takes the settings and the credentials of a location', async () => {
    assert.ok(await snapshotters.of(location, signal))
    assert.match(await readFile(path.join(folder, 'credentials/cloud_cloud'), 'utf8'), /nobody/)
  })

  it('knows the volumes of its provider, and no others', async () => {
    const snapshotter = await snapshotters.of(location, signal)
    const volume = (spec: object) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'pv' },
      spec,
    })
    const ebs = volume({ awsElasticBlockStore: { volumeID: 'aws://eu-west-1a/vol-0123456789abcdef0' } })
    assert.equal(await snapshotter.getVolumeId({ persistentVolume: ebs, signal }), 'vol-0123456789abcdef0')
    const folderVolume = volume({ hostPath: { path: '/data' } })
    assert.equal(await snapshotter.getVolumeId({ persistentVolume: folderVolume, signal }), undefined)
    const moved = await snapshotter.setVolumeId({ persistentVolume: ebs, volumeId: 'vol-new', signal })
    assert.match(JSON.stringify(moved.spec), /vol-new/)
  })

  it('cannot be asked how far a snapshot is, so it is complete', async () => {
    const snapshotter = await snapshotters.of(location, signal)
    await assert.rejects(
      async () => snapshotter.progress?.({ snapshotId: 'snap-1', signal }),
      error => isPluginError(error, 'UNIMPLEMENTED'),
    )
    const ports = backupOperationPorts(backup, {
      plugins: session,
      clock: systemClock,
      log,
      openSnapshotter: () => snapshotters.of(location, signal),
    })
    const operation = newOperation({
      backup,
      action: 'aws',
      item: { group: '', resource: 'persistentvolumes', namespace: '', name: 'pv' },
      operationId: 'snap-1',
      volumeSnapshotLocation: 'cloud',
      now: 0,
    })
    const answer = await ports.ask(operation, signal)
    assert.equal(answer.type === 'progress' && answer.progress.completed, true, JSON.stringify(answer))
    await ports.cancel(operation, signal)
  })
})
