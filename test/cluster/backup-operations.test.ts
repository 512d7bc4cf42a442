import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Backup, BackupPhase } from '@lateen/api'
import type { ServerOptions } from '@lateen/server'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { type CopiedItem, createCopied, OperationsFolder } from './operations-folder.ts'
import { actionName, wishes } from './operations-records.ts'
import type { RunningServer } from './storage-location-harness.ts'

interface StoredOperation {
  spec: { operationID: string; backupItemAction: string; resourceIdentifier: { Name: string } }
  status: { phase: string; error?: string; nCompleted?: number }
}

const run = promisify(execFile)
const given = await givenCluster({ s3: true })

describe('a backup with operations of a plugin', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let folder: OperationsFolder
  let server: RunningServer
  const places: string[] = []

  before(async () => {
    folder = await OperationsFolder.create()
    scene = await openServerScene(given.cluster, 'backup-operations')
    server = await start()
  })
  after(async () => {
    await scene?.[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
    if (places.length > 0) await given.cluster.kubectl(['delete', 'namespace', ...places, '--wait=false'])
  })

  const start = (options: Partial<ServerOptions> = {}) =>
    scene.start({
      ...{ pluginFolder: folder.plugins, itemOperationSyncFrequency: 300, concurrentBackups: 2 },
      ...options,
    })

  /** Begins a backup of some ConfigMaps in a namespace of their own. */
  async function begin(name: string, items: readonly CopiedItem[], spec: object = {}): Promise<string> {
    const namespace = await createCopied(scene, name, items)
    places.push(namespace)
    await scene.backups.create(name, { includedNamespaces: [namespace], ...spec })
    return namespace
  }

  const until = (name: string, ...phases: BackupPhase[]) =>
    scene.backups.until(name, ({ status }) => phases.includes(status?.phase ?? 'New'))
  const waiting = (name: string) => until(name, 'WaitingForPluginOperations')
  const files = async (name: string) => (await scene.bucket.files()).get(name) ?? []
  const stored = async (name: string) =>
    (await scene.bucket.readJson(name, '-itemoperations.json.gz')) as StoredOperation[]

  async function velero(...args: string[]): Promise<string> {
    const access = ['--kubeconfig', given.cluster.kubeconfigPath, '--namespace', scene.namespace]
    return (await run(await tool('velero'), [...args, ...access])).stdout
  }

  function counts({ status }: Backup): (number | undefined)[] {
    return [
      status?.backupItemOperationsAttempted,
      status?.backupItemOperationsCompleted,
      status?.backupItemOperationsFailed,
      status?.errors,
    ]
  }

  it('waits for them through the end of the server, while another one completes, and is visible only then', async () => {
    const namespace = await begin('slow', [{ name: 'slow', additional: 'with-slow' }])
    await waiting('slow')
    const during = await files('slow')
    assert.ok(during.includes('slow-itemoperations.json.gz'), `${during}`)
    assert.ok(!during.includes('velero-backup.json'), `${during}`)
    const [operation] = await stored('slow')
    assert.equal(operation?.spec.backupItemAction, actionName)
    assert.equal(operation?.spec.operationID, (await folder.of('slow', 'slow')).id)
    assert.ok(!during.some(file => /^\d+\.json$/.test(file)), `the journal is still there: ${during}`)

    await begin('quick', [{ name: 'quick', behaviour: 'complete' }])
    const quick = await scene.backups.ended('quick')
    assert.deepEqual([quick.status?.phase, ...counts(quick)], ['Completed', 1, 1, undefined, undefined])

    await server.kill()
    await scene.cluster.kubectl([
      ...['-n', namespace, 'patch', 'configmap', 'slow', '--type=merge'],
      ...['-p', '{"data":{"content":"after"}}'],
    ])
    await scene.cluster.kubectl(['-n', namespace, 'create', 'secret', 'generic', 'with-slow'])
    server = await start()
    await waiting('slow')
    assert.ok(!(await files('slow')).includes('velero-backup.json'))
    await folder.set(await folder.of('slow', 'slow'), { completed: true })
    const ended = await scene.backups.ended('slow')
    assert.deepEqual([ended.status?.phase, ...counts(ended)], ['Completed', 1, 1, undefined, undefined])
    assert.equal((await scene.bucket.metadata('slow')).status?.phase, 'Completed')
    assert.deepEqual(await folder.cancelled('slow'), [])

    const archive = await scene.bucket.unpack('slow')
    const again = archive.get(`resources/configmaps/namespaces/${namespace}/slow.json`)
    assert.equal((again as { data?: { content?: string } }).data?.content, 'after')
    assert.equal(again?.metadata.annotations?.[wishes.finalized], 'Finalizing')
    assert.ok(archive.has(`resources/configmaps/v1-preferredversion/namespaces/${namespace}/slow.json`))
    assert.ok(archive.has(`resources/secrets/namespaces/${namespace}/with-slow.json`), 'the additional item')
    assert.ok(archive.has(`resources/namespaces/cluster/${namespace}.json`), 'what was not stored again')
    const paths = await scene.bucket.paths('slow')
    assert.equal(paths[0], 'metadata/version')
    assert.equal(new Set(paths).size, paths.length)
    const list = (await scene.bucket.readJson('slow', '-resource-list.json.gz')) as {
      'v1/Secret'?: string[]
    }
    assert.ok(list['v1/Secret']?.includes(`${namespace}/with-slow`))
  })

  it('ends, and is restored, while another one holds every worker', async () => {
    await server.stop()
    server = await start({ itemBlockWorkerCount: 1 })
    const namespace = await begin('ready', [{ name: 'ready' }])
    await waiting('ready')
    await begin('holding', [{ name: 'held', behaviour: 'hold' }])
    await folder.held('holding', 'held')
    await folder.completeAll('ready')
    assert.equal((await scene.backups.ended('ready')).status?.phase, 'Completed')
    const restored = `${namespace}-again`
    places.push(restored)
    const { status } = await scene.restores.run('ready', {
      backupName: 'ready',
      namespaceMapping: { [namespace]: restored },
    })
    assert.equal(status?.phase, 'Completed')
    assert.equal((await scene.backups.get('holding')).status?.phase, 'InProgress')
    await folder.letGo('holding')
    assert.equal((await scene.backups.ended('holding')).status?.phase, 'Completed')
    await server.stop()
    server = await start()
  })

  it('has partly failed with the first one that fails, and goes on waiting for the others', async () => {
    await begin('failing', [{ name: 'good' }, { name: 'bad' }])
    await waiting('failing')
    await folder.set(await folder.of('failing', 'bad'), { completed: true, error: 'the disk is full' })
    const partly = await until('failing', 'WaitingForPluginOperationsPartiallyFailed')
    assert.deepEqual(counts(partly), [2, undefined, 1, 1])
    await folder.set(await folder.of('failing', 'good'), { nCompleted: 7 })
    const progress = async () => (await stored('failing')).find(({ status }) => status.nCompleted === 7)
    await waitUntil(progress, { timeoutMs: 60_000, everyMs: 100, failure: () => new Error('no progress') })
    const described = await velero('backup', 'describe', 'failing', '--details', '--colorized=false')
    assert.match(described, /Phase:\s+WaitingForPluginOperationsPartiallyFailed/)
    assert.match(described, /Backup Item Operations:\n/)
    assert.match(
      described,
      /Operation for configmaps .*\/good:\s+Backup Item Action Plugin:\s+operations\.test\/copy/,
    )
    assert.match(described, /Progress:\s+7 of 10 complete \(pages\)/)
    assert.match(described, /Operation Error:\s+the disk is full/)
    await folder.set(await folder.of('failing', 'good'), { completed: true })
    const ended = await scene.backups.ended('failing')
    assert.deepEqual([ended.status?.phase, ...counts(ended)], ['PartiallyFailed', 2, 1, 1, 1])
    const { errors } = (await scene.bucket.readJson('failing', '-results.gz')) as { errors: object }
    assert.match(
      JSON.stringify(errors),
      /configmaps name: \/bad .*the disk is full, plugin: operations\.test\/copy/,
    )
  })

  it('counts those that fail at once, cannot be asked or are not known any more', async () => {
    await begin('errors', [
      { name: 'fails', behaviour: 'fail' },
      { name: 'unclear', behaviour: 'progress-error' },
      { name: 'forgotten' },
    ])
    const partly = await until('errors', 'WaitingForPluginOperationsPartiallyFailed')
    assert.deepEqual(counts(partly), [3, undefined, 2, 2])
    await server.kill()
    await folder.forget(await folder.of('errors', 'forgotten'))
    server = await start()
    const ended = await scene.backups.ended('errors')
    assert.deepEqual([ended.status?.phase, ...counts(ended)], ['PartiallyFailed', 3, undefined, 3, 3])
    const texts = (await stored('errors')).map(({ spec, status }) => [
      spec.resourceIdentifier.Name,
      status.error,
    ])
    assert.deepEqual(
      texts.map(([name]) => name).sort((a, b) => ((a ?? '') < (b ?? '') ? -1 : 1)),
      ['fails', 'forgotten', 'unclear'],
    )
    const errorOf = Object.fromEntries(texts)
    assert.match(errorOf.fails ?? '', /disk of fails is full/)
    assert.match(errorOf.unclear ?? '', /nobody knows how unclear stands/)
    assert.match(errorOf.forgotten ?? '', /operation ID .* is invalid/)
    const { errors } = (await scene.bucket.readJson('errors', '-results.gz')) as {
      errors: { namespaces: Record<string, string[]> }
    }
    assert.equal(Object.values(errors.namespaces).flat().length, 3, JSON.stringify(errors))
  })

  it('waits on when the plugin dies while it is asked', async () => {
    await begin('crashing', [{ name: 'x', behaviour: 'crash' }])
    await waiting('crashing')
    const again = async () => (await folder.crashed('crashing')).length > 2 || undefined
    await waitUntil(again, { timeoutMs: 120_000, everyMs: 100, failure: () => new Error('not asked again') })
    const during = await scene.backups.get('crashing')
    assert.deepEqual(
      [during.status?.phase, ...counts(during)],
      ['WaitingForPluginOperations', 1, undefined, undefined, undefined],
    )
    await folder.completeAll('crashing')
    assert.equal((await scene.backups.ended('crashing')).status?.phase, 'Completed')
  })

  it('stops what takes longer than it may', async () => {
    await begin('late', [{ name: 'late' }], { itemOperationTimeout: '2s' })
    const ended = await scene.backups.ended('late')
    assert.deepEqual([ended.status?.phase, ...counts(ended)], ['PartiallyFailed', 1, undefined, 1, 1])
    assert.deepEqual(await folder.cancelled('late'), [(await folder.of('late', 'late')).id])
    assert.match((await stored('late'))[0]?.status.error ?? '', /timed out/)
  })

  it('waits while its file of operations is damaged, says so, and goes on when it is back', async () => {
    await begin('damaged', [{ name: 'x' }])
    await waiting('damaged')
    await server.kill()
    const key = 'backups/damaged/damaged-itemoperations.json.gz'
    const good = await scene.bucket.read(key)
    await scene.bucket.write(key, Buffer.from('garbage'))
    await folder.completeAll('damaged')
    server = await start()
    const events = () =>
      scene.cluster.kubectl(['-n', scene.namespace, 'get', 'events', '-o', 'jsonpath={.items[*].reason}'])
    const isSaid = async () => (await events()).includes('BackupOperationsUnknown') || undefined
    await waitUntil(isSaid, { timeoutMs: 60_000, everyMs: 200, failure: () => new Error('nobody says so') })
    assert.equal((await scene.backups.get('damaged')).status?.phase, 'WaitingForPluginOperations')
    await scene.bucket.write(key, good)
    assert.equal((await scene.backups.ended('damaged')).status?.phase, 'Completed')
  })

  it('has partly failed when an action begins an operation in the end, which is stopped', async () => {
    await begin('too-late', [{ name: 'x', behaviour: 'begin-too-late' }])
    await waiting('too-late')
    await folder.completeAll('too-late')
    const ended = await scene.backups.ended('too-late')
    assert.deepEqual([ended.status?.phase, ...counts(ended)], ['PartiallyFailed', 1, 1, undefined, 1])
    assert.deepEqual(await folder.cancelled('too-late'), ['too-late.x.late'])
    const { errors } = (await scene.bucket.readJson('too-late', '-results.gz')) as { errors: object }
    assert.match(JSON.stringify(errors), /no operation may begin any more/)
  })

  it('stops its operations when it is deleted while it waits, and leaves nothing in the bucket', async () => {
    await begin('deleted', [{ name: 'deleted' }])
    await waiting('deleted')
    await scene.backups.delete('deleted')
    const { id } = await folder.of('deleted', 'deleted')
    const stopped = async () => (await folder.cancelled('deleted')).includes(id) || undefined
    await waitUntil(stopped, { timeoutMs: 60_000, everyMs: 100, failure: () => new Error('not stopped') })
    const isGone = async () => (await files('deleted')).length === 0 || undefined
    await waitUntil(isGone, { timeoutMs: 60_000, everyMs: 100, failure: () => new Error('files are left') })
  })
})
