import assert from 'node:assert/strict'
import { constants, copyFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backup, BackupStatus } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { Backups, createLocation } from '../cluster/backups.ts'
import { ended, type Lateen, lateenFor } from '../cluster/cli-runner.ts'
import { Locations, prepareCluster } from '../cluster/storage-location-harness.ts'
import { veleroMissing } from './backup-pair.ts'
import { type LateenServer, startLateenServer } from './lateen-server.ts'
import { makePluginFolder, type PluginFolder } from './plugin-folder.ts'
import { processesWith } from './plugin-host-scene.ts'
import { processesBelow } from './processes-below.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true })
const skip = missing || given.skip
const namespace = `host-aws-${process.pid}`
const shop = `${namespace}-shop`

describe('velero-plugin-for-aws under a Lateen server', { skip, concurrency: false }, () => {
  let client: KubeClient
  let folder: PluginFolder
  let lateen: Lateen
  let bucket: BackupBucket
  let plugin = ''
  const scene = new AsyncDisposableStack()

  before(async () => {
    const { cluster } = given
    plugin = await tool('velero-plugin-for-aws')
    folder = scene.use(await makePluginFolder())
    lateen = await lateenFor(cluster.kubeconfigPath)
    await prepareCluster(cluster, namespace)
    await cluster.kubectl(['create', 'namespace', shop])
    scene.defer(async () => {
      const namespaces = [namespace, shop, `${shop}-again`, `${shop}-built-in`]
      await cluster.kubectl(['delete', 'namespace', '--ignore-not-found', '--wait=false', ...namespaces])
    })
    const config = await loadKubeConfig({ path: cluster.kubeconfigPath })
    client = scene.use(await createKubeClient({ config }))
    bucket = scene.use(new BackupBucket(cluster, namespace))
    // Without a Secret: only what has credentials in its environment can use it.
    await createLocation({ cluster, client, namespace }, { prefix: namespace, secret: false })
    const items = Array.from({ length: 30 }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `thing-${index}`, namespace: shop },
      data: { text: `text ${index}` },
    }))
    await cluster.kubectl(['create', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    })
  })
  after(() => scene.disposeAsync())

  let server: LateenServer
  const told = () => server.log.map(entry => JSON.stringify(entry)).join('\n')

  const start = (flags: readonly string[], env: Record<string, string> = {}): Promise<LateenServer> =>
    startLateenServer({
      ...{ kubeconfig: given.cluster.kubeconfigPath, namespace, home: folder.notes, env },
      flags: ['--plugin-dir', folder.path, '--store-validation-frequency=5s', ...flags],
    })

  async function run(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await lateen(['--namespace', namespace, ...args])
    assert.equal(status, 0, `lateen ${args.join(' ')}: ${stderr}${stdout}\n${told()}`)
    return stdout
  }

  const keys = () => ({
    AWS_ACCESS_KEY_ID: given.cluster.s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: given.cluster.s3.secretAccessKey,
  })

  async function thingsIn(where: string): Promise<Record<string, string>> {
    const text = await given.cluster.kubectl(['get', 'configmaps', '-n', where, '-o', 'json'])
    const { items } = JSON.parse(text) as { items: { metadata: { name: string }; data: { text?: string } }[] }
    const things = items.filter(({ metadata }) => metadata.name.startsWith('thing-'))
    return Object.fromEntries(things.map(({ metadata, data }) => [metadata.name, data.text ?? '']))
  }

  describe('that prefers it', () => {
    before(async () => {
      // The program alone has the credentials, so that nothing else can have done what it does.
      await folder.launcher('velero-plugin-for-aws', { command: [plugin], env: keys() })
      server = await start(['--prefer-external-plugins'])
    })
    after(() => server[Symbol.asyncDispose]())

    it('is registered as provider aws in the place of the built-in store', async () => {
      const registered = server.log.filter(({ msg }) => msg === 'registering plugin')
      const told = registered.map(({ kind, name, command }) => [kind, name, path.basename(String(command))])
      assert.deepEqual(
        new Set(told.map(each => each.join(' '))),
        new Set([
          'VolumeSnapshotter velero.io/aws velero-plugin-for-aws',
          'ObjectStore velero.io/aws velero-plugin-for-aws',
        ]),
      )
      assert.deepEqual(
        server.log.filter(({ level }) => level === 'warn' || level === 'error'),
        [],
      )
      await new Locations(client, namespace).available('default')
      const get = ['--namespace', namespace, 'plugin', 'get', '--timeout=60s']
      const env = { PATH: '', HOME: folder.notes, KUBECONFIG: given.cluster.kubeconfigPath }
      const { stdout } = await ended(await tool('velero'), get, { stdin: '', env })
      const lines = stdout.split('\n').map(line => line.trim().split(/\s+/).join(' '))
      assert.ok(lines.includes('velero.io/aws VolumeSnapshotter'), lines.join('\n'))
      assert.equal(lines.filter(line => line === 'velero.io/aws ObjectStore').length, 1)
    })

    it('stores a backup, and gives back its log and its description', async () => {
      await run('backup', 'create', 'first', '--include-namespaces', shop, '--wait')
      const files = (await bucket.files()).get('first') ?? []
      for (const file of [
        'velero-backup.json',
        'first.tar.gz',
        'first-logs.gz',
        'first-resource-list.json.gz',
      ]) {
        assert.ok(files.includes(file), `${file} is not in ${files.join(', ')}`)
      }
      assert.equal((await bucket.metadata('first')).status?.phase, 'Completed')
      const log = await run('backup', 'logs', 'first')
      assert.match(log, /All items are in the archive/)
      assert.doesNotMatch(log, /"level":"(error|warning)"/)
      const description = await run('backup', 'describe', 'first', '--details')
      assert.match(description, /Phase:\s+Completed/)
      assert.match(description, new RegExp(`- ${shop}/thing-29`))
      assert.doesNotMatch(description, /error getting/)
    })

    it('restores from it what was backed up, and gives back the log of that', async () => {
      const mapping = ['--namespace-mappings', `${shop}:${shop}-again`]
      await run('restore', 'create', 'first', '--from-backup', 'first', ...mapping, '--wait')
      const before = await thingsIn(shop)
      assert.equal(Object.keys(before).length, 30)
      assert.deepEqual(await thingsIn(`${shop}-again`), before)
      const log = await run('restore', 'logs', 'first')
      assert.match(log, /"level":"info"/)
      assert.doesNotMatch(log, /"level":"(error|warning)"/)
      assert.match(await run('restore', 'describe', 'first', '--details'), /Phase:\s+Completed/)
      const files = (await bucket.keys()).filter(key => key.startsWith('restores/first/'))
      assert.ok(files.length >= 3, files.join(', '))
    })

    for (const seed of rotatingSeeds({ name: 'killed-store-plugin', count: 1, soakCount: 20 })) {
      it(`may be killed again and again: no backup is Completed that is not whole, and the server goes on (seed ${seed})`, async t => {
        announceSeed(t, seed)
        const backups = new Backups(client, namespace)
        const names: string[] = []
        const over = new AbortController()
        const shooting = shootAtProgram(seededRandom(seed), over.signal)
        // Programs run only while they are needed: a short backup may pass between two shots.
        while (names.length < 3 || (shooting.count === 0 && names.length < 30)) {
          const name = `shot-at-${seed}-${names.length}`
          names.push(name)
          await backups.take(name, { includedNamespaces: [shop] })
        }
        over.abort()
        await shooting.ended
        const peace = Date.now()
        assert.ok(shooting.count > 0, 'nothing was killed')
        for (const name of names) await isWholeOrFailed(await backups.get(name))
        // A look at the location that was under way at the last shot may still make it Unavailable. Times are cut to whole seconds.
        await new Locations(client, namespace).until(
          'default',
          ({ phase, lastValidationTime }) =>
            phase === 'Available' && Date.parse(lastValidationTime ?? '') > peace,
        )
        const after = await backups.take(`at-peace-${seed}`, { includedNamespaces: [shop] })
        assert.equal(after.status?.phase, 'Completed')
      })
    }

    async function isWholeOrFailed({ metadata: { name = '' }, status }: Backup): Promise<void> {
      if (status?.phase !== 'Completed') {
        assert.ok(refusedOrFailed(status), JSON.stringify(status))
        return
      }
      const files = (await bucket.files()).get(name) ?? []
      assert.ok((await bucket.unpack(name)).size >= 30, `${name} is not whole: ${files.join()}`)
    }

    /** A location whose program was shot while it was looked at is Unavailable, and a backup into it is refused for that reason alone. */
    function refusedOrFailed(status: BackupStatus | undefined): boolean {
      if (status?.phase !== 'FailedValidation') return /^(Partially)?Failed$/.test(`${status?.phase}`)
      const reasons = status.validationErrors ?? []
      return reasons.length === 1 && /location default is in Unavailable/i.test(`${reasons[0]}`)
    }

    /** Kills the program wherever it runs, again and again, until the signal aborts. */
    function shootAtProgram(
      random: SeededRandom,
      signal: AbortSignal,
    ): { count: number; ended: Promise<void> } {
      const shooting = { count: 0, ended: Promise.resolve() }
      const shoot = async () => {
        while (!signal.aborted) {
          for (const pid of await processesWith(`FAULTY_NOTES=${folder.notes}`)) {
            try {
              process.kill(pid, 'SIGKILL')
              shooting.count += 1
            } catch {
              // It has ended by itself.
            }
          }
          await sleep(random.integer(100, 600))
        }
      }
      shooting.ended = shoot()
      return shooting
    }

    it('runs only while it is needed, and not when the server has ended', async () => {
      assert.equal(await server.stop(), 0)
      assert.deepEqual(await processesBelow(server.pid), [])
    })
  })

  describe('that does not', () => {
    before(async () => {
      await copyFile(plugin, path.join(folder.path, 'velero-plugin-for-aws'), constants.COPYFILE_FICLONE)
      server = await start([], keys())
    })
    after(() => server[Symbol.asyncDispose]())

    it('is named in a warning, but for what the server does not have itself', async () => {
      const warnings = server.log.filter(({ level }) => level === 'warn')
      assert.deepEqual(
        warnings.map(({ kind, name, file }) => [kind, name, path.basename(String(file))]),
        [['ObjectStore', 'velero.io/aws', 'velero-plugin-for-aws']],
      )
      assert.match(String(warnings[0]?.hint), /--prefer-external-plugins/)
    })

    it('does nothing: the built-in store does the same work', async () => {
      await new Locations(client, namespace).available('default')
      await run('backup', 'create', 'second', '--include-namespaces', shop, '--wait')
      const mapping = ['--namespace-mappings', `${shop}:${shop}-built-in`]
      await run('restore', 'create', 'second', '--from-backup', 'second', ...mapping, '--wait')
      assert.deepEqual(await thingsIn(`${shop}-built-in`), await thingsIn(shop))
      assert.deepEqual(await processesBelow(server.pid), [])
    })
  })
})
