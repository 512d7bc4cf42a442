import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Backup, BackupSpec } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import type { Unpacked } from '../cluster/backup-bucket.ts'
import { type BackupPair, type Side, startPair, veleroMissing } from './backup-pair.ts'
import { sceneNamespaces, setScene } from './backup-scene.ts'
import { comparablePaths, meantForVelero, unexplained } from './compared-paths.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true, own: true })
const skip = missing || given.skip

/** Written again every few seconds by the API server itself. */
const restless = 'resources/leases.coordination.k8s.io/'

interface Taken {
  objects: Unpacked
  paths: string[]
  backup: Backup
}

async function taken({ backups, bucket }: Side, name: string, spec: BackupSpec): Promise<Taken> {
  const backup = await backups.take(name, spec)
  const paths = await bucket.paths(name)
  return { backup, paths, objects: await bucket.unpack(name) }
}

function compareObjects(ours: Taken, theirs: Taken): void {
  for (const path of comparablePaths(theirs.paths).filter(name => !name.startsWith(restless))) {
    assert.deepEqual(ours.objects.get(path), theirs.objects.get(path), path)
  }
}

const specs: Record<string, BackupSpec> = {
  'the whole cluster': {},
  'some namespaces': { includedNamespaces: ['app-red', 'data-*'] },
  'one namespace with everything that is not in a namespace': {
    includedNamespaces: ['app-green'],
    includeClusterResources: true,
  },
  'objects with a label': { labelSelector: { matchLabels: { tier: 'db' } } },
  'service accounts, and what they bring along': { includedResources: ['serviceaccounts'] },
  'claims in an order': {
    includedNamespaces: ['app-red', 'app-green', 'data-blue'],
    orderedResources: {
      persistentvolumeclaims: 'data-blue/data,app-red/data',
      configmaps: 'app-green/plain-3',
    },
  },
}

describe('backups of ours and of Velero, of one cluster', { skip, concurrency: false }, () => {
  let pair: BackupPair | undefined

  before(() => setScene(given.cluster))
  after(() => pair?.[Symbol.asyncDispose]())

  async function both(name: string, spec: BackupSpec): Promise<{ ours: Taken; theirs: Taken }> {
    pair ??= await startPair(given.cluster)
    const ours = await taken(pair.ours, name, spec)
    return { ours, theirs: await taken(pair.theirs, name, meantForVelero(spec)) }
  }

  Object.entries(specs).forEach(([title, spec], index) => {
    it(`have the same entries with the same objects in their archives: ${title}`, async () => {
      const { ours, theirs } = await both(`same-${index}`, spec)
      assert.deepEqual(unexplained(ours.paths, theirs.paths, spec), { onlyOurs: [], onlyTheirs: [] })
      assert.ok(theirs.paths.length > 20, `only ${theirs.paths.length} entries`)
      compareObjects(ours, theirs)
      assert.equal(ours.backup.status?.phase, theirs.backup.status?.phase)
    })
  })

  it('have the same files beside the archive, which say the same', async () => {
    const name = 'files'
    const { ours, theirs } = await both(name, { includedNamespaces: [...sceneNamespaces] })
    const [our, their] = [pair?.ours.bucket, pair?.theirs.bucket]
    assert.deepEqual((await our?.files())?.get(name), (await their?.files())?.get(name))
    for (const file of ['-resource-list', '-podvolumebackups', '-volumesnapshots', '-itemoperations']) {
      // Velero writes null for a list without entries, and reads both.
      const theirFile = (await their?.readJson(name, `${file}.json.gz`)) ?? []
      assert.deepEqual(await our?.readJson(name, `${file}.json.gz`), theirFile, file)
    }
    assert.deepEqual(
      withoutReasons(await our?.readJson(name, '-volumeinfo.json.gz')),
      withoutReasons(await their?.readJson(name, '-volumeinfo.json.gz')),
    )
    assert.deepEqual(withoutTimes(ours.backup), withoutTimes(theirs.backup))
    assert.deepEqual(
      withoutTimes((await our?.metadata(name)) ?? ours.backup),
      withoutTimes((await their?.metadata(name)) ?? theirs.backup),
    )
  })

  it('have the same copies of every version where those are asked for', async () => {
    await pair?.[Symbol.asyncDispose]()
    pair = await startPair(given.cluster, ['EnableAPIGroupVersions'])
    // Of the two groups that have events, Velero then takes now this one and now that.
    const events = ['events', 'events.events.k8s.io']
    const spec = { includedNamespaces: ['app-red'], excludedNamespaceScopedResources: events }
    const { ours, theirs } = await both('versions', spec)
    assert.ok(
      theirs.paths.includes('resources/sails.scene.lateen.dev/v1beta1/namespaces/app-red/plain-0.json'),
    )
    assert.deepEqual(unexplained(ours.paths, theirs.paths, spec), { onlyOurs: [], onlyTheirs: [] })
    compareObjects(ours, theirs)
  })
})

/** In some order, and why a volume's data are not in the backup each says in its own words. */
function withoutReasons(volumes: unknown): unknown {
  return (volumes as { pvName: string }[])
    .map(volume => ({ ...volume, skippedReason: '' }))
    .toSorted((a, b) => (a.pvName < b.pvName ? -1 : 1))
}

/** Spec and status of a backup, without what depends on when it was taken, and without zeros and empty objects, which say nothing. */
function withoutTimes({ spec, status, metadata }: Backup): object {
  const { startTimestamp: _, completionTimestamp: __, expiration: ___, ...rest } = status ?? {}
  const { labels, annotations } = metadata
  const isEmpty = (value: unknown) =>
    value === 0 || (typeof value === 'object' && Object.keys(value ?? {}).length === 0)
  const text = JSON.stringify({ spec, status: rest, labels, annotations })
  return JSON.parse(text, (_key, value) => (isEmpty(value) ? undefined : value))
}
