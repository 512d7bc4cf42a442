import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm, truncate } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { PodVolumeBackupSpec } from '@lateen/api'
import { filesOf } from '../../tools/cluster/cluster-layout.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { blockPod, claimOn, waitingPodManifest } from './fs-fault-pods.ts'
import { agentFlags, faultScene, type PodRef } from './fs-fault-scene.ts'
import { createFilesPod, filesPod, fsScene } from './fs-scene.ts'

const given = await givenCluster({ node: true, s3: true })
const installation = 'fs-faults'
const odd = 'fs-faults-odd'
const bad = 'fs-faults-bad'
const mapped = 'fs-faults-mapped'
const targets = 'fs-faults-targets'
const half = 'fs-faults-half'

const manyFiles = 100_000
const sparseSize = 10 * 1024 ** 3

/** Never stops changing files: one grows, one shrinks, one is replaced, one comes and goes. */
const change = `
  head -c 16000000 /dev/urandom > /changing/shrinking; echo whole > /changing/stable
  (while :; do
    echo line >> /changing/growing; truncate -s -4096 /changing/shrinking
    echo new > /changing/.tmp; mv /changing/.tmp /changing/replaced; mkdir -p /changing/d; touch /changing/d/gone; rm -r /changing/d; sleep 0.05
  done) > /dev/null 2>&1 &`

describe('file system backups of what is out of the ordinary', {
  skip: given.skip,
  concurrency: 2,
}, async () => {
  const kubectl = (...args: string[]) => given.cluster.kubectl(args)
  const faults = faultScene(given, installation)
  before(() => faults.configureAgents({ loadConcurrency: { globalConfig: 6 } }))
  const scene = await fsScene(given, { namespace: installation, flags: agentFlags })

  after(async () => {
    await kubectl(
      'delete',
      'namespace',
      odd,
      bad,
      mapped,
      targets,
      half,
      '--wait=false',
      '--ignore-not-found',
    )
    const volumes = ['host', 'block'].map(name => `${bad}-${name}`)
    await kubectl('delete', 'persistentvolume', ...volumes, '--wait=false', '--ignore-not-found')
  })

  describe('volumes', { concurrency: false }, () => {
    const names = ['many', 'sparse', 'changing', 'special', 'empty']

    before(async () => {
      const volumes = Object.fromEntries(names.map(name => [name, { emptyDir: {} }]))
      const pod = await createFilesPod(given.cluster, { namespace: odd, volumes })
      const ref = await faults.pod(odd, pod.name)
      await pod.run(
        'echo 1 > /sparse/start; mkfifo /special/fifo; mknod /special/device c 1 3; echo 1 > /special/file',
      )
      await truncate(path.join(faults.folder(ref, 'sparse'), 'start'), sparseSize)
      fillWithMany(faults.folder(ref, 'many'))
      await pod.run(change)
    })

    it('are backed up whether they hold nothing, holes, 100,000 files, files that change or no files at all', async () => {
      await scene.succeed(
        'backup',
        'create',
        'odd',
        `--include-namespaces=${odd}`,
        '--default-volumes-to-fs-backup',
        '--wait',
      )
      const moves = await scene.podVolumeBackups('odd')
      const said = Object.fromEntries(
        moves.map(({ spec, status }) => [spec.volume, `${status?.phase} ${status?.message ?? ''}`.trim()]),
      )
      const expected = Object.fromEntries(names.map(name => [name, 'Completed']))
      assert.deepEqual(said, { ...expected, empty: 'Completed volume was empty so no snapshot was taken' })
    })

    it('are the same again', async () => {
      await scene.succeed(
        ...['restore', 'create', 'odd', '--from-backup=odd', `--namespace-mappings=${odd}:${mapped}`],
        ...['--write-sparse-files', '--wait'],
      )
      const volumes = (await scene.podVolumeRestores('odd')).map(
        ({ spec, status }) => `${spec.volume} ${status?.phase}`,
      )
      assert.deepEqual(
        new Set(volumes),
        new Set(['changing', 'many', 'sparse', 'special'].map(name => `${name} Completed`)),
      )
      const pod = filesPod(given.cluster, { namespace: mapped })
      await pod.ready()
      assert.equal(await pod.run('find /many -type f | wc -l'), `${manyFiles}\n`)
      assert.equal(await pod.run('cat /many/42/4217'), 'file 4217\n')
      const [size = '', blocks = ''] = (await pod.run("stat -c '%s %b' /sparse/start")).trim().split(' ')
      assert.equal(Number(size), sparseSize)
      assert.ok(Number(blocks) * 512 < 64 * 1024 ** 2, `${blocks} blocks`)
      assert.equal(
        await pod.run('head -c 1 /sparse/start; cat /changing/stable; ls -A /special /empty'),
        '1whole\n/empty:\n\n/special:\nfile\n',
      )
      assert.match(await pod.run('cat /changing/growing'), /^(line\n)+$/)
    })
  })

  describe('objects that nobody but a test would make', { concurrency: false }, () => {
    describe('a PodVolumeBackup that cannot be done', () => {
      let pod: PodRef

      before(async () => {
        const volumes = {
          data: { emptyDir: {} },
          gone: { emptyDir: {} },
          unreadable: { emptyDir: {} },
          host: { hostPath: { path: '/etc', type: 'Directory' } },
        }
        await faults.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: bad } })
        await faults.create(
          ...claimOn(bad, { name: 'host', volumeMode: 'Filesystem', source: { hostPath: { path: '/etc' } } }),
          ...claimOn(bad, { name: 'block', volumeMode: 'Block', source: { local: { path: '/dev/null' } } }),
        )
        const annotations = {
          'post.hook.backup.velero.io/command': '["/bin/sh", "-c", "echo ran > /data/hook"]',
        }
        const files = await createFilesPod(given.cluster, { namespace: bad, volumes, annotations })
        pod = await faults.pod(bad, files.name)
        await files.run(
          'echo data > /data/file; ln -s / /data/root; echo 1 > /gone/file; touch /unreadable/write-only',
        )
        const claimed = { claimed: { persistentVolumeClaim: { claimName: 'host' } } }
        await createFilesPod(given.cluster, { namespace: bad, name: 'claimed', volumes: claimed })
        await faults.create(blockPod(bad))
        await rm(faults.folder(pod, 'gone'), { recursive: true })
        inNode(
          'mount',
          '--bind',
          '/proc/sys/vm/compact_memory',
          path.join(faults.folderOnNode(pod, 'unreadable'), 'write-only'),
        )
      })
      after(() => inNode('umount', path.join(faults.folderOnNode(pod, 'unreadable'), 'write-only')))

      const cases: Record<
        string,
        { volume?: string; spec?: () => Partial<PodVolumeBackupSpec>; says: RegExp }
      > = {
        'folder-gone': {
          volume: 'gone',
          says: /volume gone of the pod \S+ has no folder on this node\..*kubelet/,
        },
        'host-path': {
          volume: 'host',
          says: /the volume host .* is a hostPath volume.*another kind of volume/,
        },
        'claimed-host-path': {
          volume: 'claimed',
          spec: () => ({ pod: { kind: 'Pod', namespace: bad, name: 'claimed' } }),
          says: /the volume claimed .* is a hostPath volume/,
        },
        unreadable: { volume: 'unreadable', says: /write-only.*(EACCES|permission denied)/ },
        block: {
          volume: 'device',
          spec: () => ({ pod: { kind: 'Pod', namespace: bad, name: 'block' } }),
          says: /is a block volume\. .*snapshots/,
        },
        'no-volume': { volume: 'other', says: /the volume other of the pod \S+ does not exist\. / },
        'trick-volume': { volume: '../../../../../etc', says: /the volume \.\.\/.* does not exist\. / },
        'trick-pod': {
          spec: () => ({ pod: { kind: 'Pod', namespace: bad, name: '..', uid: pod.uid } }),
          says: /no pod can be called ".*\/\.\."\. /,
        },
        'trick-namespace': {
          spec: () => ({ pod: { kind: 'Pod', namespace: `../${bad}`, name: pod.name, uid: pod.uid } }),
          says: /no pod can be called "\.\.\//,
        },
        'trick-uid': {
          spec: () => ({ pod: { kind: 'Pod', namespace: bad, name: pod.name, uid: '../../..' } }),
          says: /the pod \S+ is gone\. .*another backup/,
        },
        'replaced-pod': {
          spec: () => ({
            pod: { kind: 'Pod', namespace: bad, name: pod.name, uid: '00000000-0000-4000-8000-000000000000' },
          }),
          says: /the pod \S+ is gone\. .*another backup/,
        },
        'other-provider': {
          spec: () => ({ backupStorageLocation: 'elsewhere' }),
          says: /of the provider "azure"\. Use .*-elsewhere-kopia/,
        },
        'no-location': { spec: () => ({ backupStorageLocation: 'nowhere' }), says: /nowhere/ },
      }

      it('says what is wrong, and nothing of it stays', async t => {
        await faults.create({
          apiVersion: 'velero.io/v1',
          kind: 'BackupStorageLocation',
          metadata: { name: 'elsewhere', namespace: installation },
          spec: { provider: 'azure', objectStorage: { bucket: 'b' } },
        })
        for (const [name, { volume = 'data', spec }] of Object.entries(cases)) {
          await faults.backUp({ name, pod, volume, ...(spec && { spec: spec() }) })
        }
        for (const [name, { says }] of Object.entries(cases)) {
          const { status } = await faults.backedUp(name)
          t.diagnostic(`${name}: ${status?.message}`)
          assert.equal(status?.phase, 'Failed', name)
          assert.match(status?.message ?? '', says, name)
          assert.doesNotMatch(status?.message ?? '', /\n|\.ts:|\.js:|\bat \w+ \(/, name)
          assert.ok(status?.completionTimestamp, name)
        }
        await faults.moversGone(Object.keys(cases))
      })

      it('does not keep two others for one volume from being done', async () => {
        await Promise.all(['one', 'two'].map(name => faults.backUp({ name, pod, volume: 'data' })))
        const [one, two] = await Promise.all(['one', 'two'].map(name => faults.backedUp(name)))
        assert.equal(one?.status?.phase, 'Completed', one?.status?.message)
        assert.equal(two?.status?.phase, 'Completed', two?.status?.message)
        assert.notEqual(one?.status?.snapshotID, two?.status?.snapshotID)
      })

      it('makes its backup PartiallyFailed, after the hooks that come behind it', async () => {
        await scene.lateen(
          ...[
            'backup',
            'create',
            'partly',
            `--include-namespaces=${bad}`,
            '--default-volumes-to-fs-backup',
            '--wait',
          ],
        )
        const described = await scene.succeed('backup', 'describe', 'partly', '--details')
        assert.match(described, /Phase:\s+PartiallyFailed/, described)
        const moves = await scene.podVolumeBackups('partly')
        const phases = Object.fromEntries(moves.map(({ spec, status }) => [spec.volume, status?.phase]))
        assert.deepEqual(phases, { data: 'Completed', gone: 'Failed', unreadable: 'Failed' })
        assert.equal(await filesPod(given.cluster, { namespace: bad }).run('cat /data/hook'), 'ran\n')
        await faults.moversGone(moves.map(({ metadata }) => metadata.name ?? ''))
      })
    })

    describe('a PodVolumeRestore that cannot be done', { concurrency: false }, () => {
      const waiting = (name: string) => faults.pod(targets, name)
      let snapshotID: string

      before(async () => {
        const emptyDir = {}
        const small = { medium: 'Memory', sizeLimit: '1Mi' }
        await ensureNamespace(given.cluster, targets)
        await faults.create(
          waitingPodManifest(targets, 'small', { data: { emptyDir: small } }),
          waitingPodManifest(targets, 'planted', { data: { emptyDir } }),
          waitingPodManifest(targets, 'plain', { data: { emptyDir } }),
        )
        const source = filesPod(given.cluster, { namespace: bad })
        await source.run(
          'mkdir /data/deep; echo deep > /data/deep/file; head -c 4000000 /dev/urandom > /data/bulk',
        )
        await faults.backUp({ name: 'source', pod: await faults.pod(bad, 'writer'), volume: 'data' })
        const { status } = await faults.backedUp('source')
        assert.equal(status?.phase, 'Completed', status?.message)
        snapshotID = status?.snapshotID ?? ''
      })

      it('says what is wrong', async t => {
        const unknown = 'f'.repeat(32)
        const cases: Record<
          string,
          { to: string; id?: string; spec?: { sourceNamespace: string }; says: RegExp }
        > = {
          'full-target': { to: 'small', says: /ENOSPC|no space left/ },
          'no-snapshot': { to: 'plain', id: unknown, says: new RegExp(`no snapshot "${unknown}"`) },
          'trick-snapshot': {
            to: 'plain',
            id: '../../default/kopia.repository',
            says: /\.\.\/\.\.\/default/,
          },
          'trick-namespace': { to: 'plain', spec: { sourceNamespace: '../other' }, says: /\.\.\/other/ },
        }
        for (const [name, { to, id = snapshotID, spec = { sourceNamespace: bad } }] of Object.entries(
          cases,
        )) {
          await faults.restore({ name, pod: await waiting(to), volume: 'data', snapshotID: id, spec })
        }
        for (const [name, { says }] of Object.entries(cases)) {
          const { status } = await faults.restored(name)
          t.diagnostic(`${name}: ${status?.message}`)
          assert.equal(status?.phase, 'Failed', name)
          assert.match(status?.message ?? '', says, name)
          assert.doesNotMatch(status?.message ?? '', /\n|\.[jt]s:\d|\bat \w+ \(/, name)
        }
      })

      it('is not one that finds a link to the host in its way, which it replaces', async () => {
        const pod = await waiting('planted')
        symlinkSync('/', path.join(faults.folder(pod, 'data'), 'deep'))
        await faults.restore({
          name: 'planted',
          pod,
          volume: 'data',
          snapshotID,
          spec: { sourceNamespace: bad },
        })
        const { status } = await faults.restored('planted')
        assert.equal(status?.phase, 'Completed', status?.message)
        assert.ok(lstatSync(path.join(faults.folder(pod, 'data'), 'deep')).isDirectory())
        assert.equal(readFileSync(path.join(faults.folder(pod, 'data'), 'deep/file'), 'utf8'), 'deep\n')
      })

      it('leaves its pod waiting, and its restore PartiallyFailed', async t => {
        const repository = await scene.kopia(t, bad)
        const data = (await scene.podVolumeBackups('partly')).find(({ spec }) => spec.volume === 'data')
        await repository.kopia(['snapshot', 'delete', data?.status?.snapshotID ?? '', '--delete'])
        await scene.lateen(
          'restore',
          'create',
          'partly',
          '--from-backup=partly',
          `--namespace-mappings=${bad}:${half}`,
          '--wait',
        )
        assert.match(await scene.succeed('restore', 'describe', 'partly'), /Phase:\s+PartiallyFailed/)
        const [move] = await scene.podVolumeRestores('partly')
        assert.equal(move?.status?.phase, 'Failed')
        const pod = JSON.parse(await kubectl('-n', half, 'get', 'pod', 'writer', '-o', 'json'))
        assert.equal(pod.status.phase, 'Pending')
        assert.ok(pod.status.initContainerStatuses[0].state.running)
        assert.deepEqual(readdirSync(faults.folder(await faults.pod(half, 'writer'), 'data')), [])
        await faults.moversGone([move?.metadata.name ?? ''])
      })

      it('does not keep the next one from being done', async () => {
        const pod = await waiting('plain')
        await faults.restore({
          name: 'next',
          pod,
          volume: 'data',
          snapshotID,
          spec: { sourceNamespace: bad },
        })
        const { status } = await faults.restored('next')
        assert.equal(status?.phase, 'Completed', status?.message)
        assert.equal(readFileSync(path.join(faults.folder(pod, 'data'), 'file'), 'utf8'), 'data\n')
      })
    })
  })
})

/** Short files, a thousand to a folder. */
function fillWithMany(folder: string): void {
  for (let file = 0; file < manyFiles; file++) {
    const parent = path.join(folder, `${Math.floor(file / 100) % 100}`)
    if (file % 100 === 0) mkdirSync(parent, { recursive: true })
    writeFileSync(path.join(parent, `${file}`), `file ${file}\n`)
  }
}

/** Runs a program among the node's mounts. */
function inNode(...command: string[]): void {
  const pid = readFileSync(filesOf(given.cluster.plan).nodePid, 'utf8').trim()
  execFileSync('nsenter', ['--target', pid, '--mount', '--pid', ...command])
}
